package perexample_test

import (
	"fmt"
	"testing"

	"dpsgd/clip"
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/internal/tiny"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// square is a 3×3 convolution of stride 1 whose outputs are as large as its images.
func square(size, in, out int) kernel.Conv {
	return kernel.Conv{Height: size, Width: size, In: in, Out: out, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1}
}

// halving is a convolution of stride 2 of images of that size.
func halving(size, in, out, kernelSize, pad int) kernel.Conv {
	return kernel.Conv{Height: size, Width: size, In: in, Out: out, KernelH: kernelSize, KernelW: kernelSize, StrideH: 2, StrideW: 2, PadH: pad, PadW: pad}
}

// The convolutions of the networks that are compared with other libraries.
var networkConvs = []kernel.Conv{
	halving(28, 1, 16, 8, 3), halving(13, 16, 32, 4, 0), // mnist-cnn
	square(32, 3, 32), square(32, 32, 32), square(16, 32, 64), square(16, 64, 64), square(8, 64, 128), square(8, 128, 128), // cifar-cnn, convnet
	square(8, 64, 64), square(4, 64, 128), // convnet
	square(32, 3, 16), square(32, 16, 16), halving(32, 16, 32, 3, 1), square(16, 32, 32), halving(32, 16, 32, 1, 0), // resnet8-gn
	halving(16, 32, 64, 3, 1), halving(16, 32, 64, 1, 0),
}

// BenchmarkEngines measures norms and clipped sum of one convolution of a network, on two threads,
// with each engine:
//
//	go test ./perexample -run '^$' -bench Engines -benchtime 300ms
func BenchmarkEngines(b *testing.B) {
	for _, c := range networkConvs {
		for _, batch := range []int{64, 256} {
			for _, engine := range engines {
				name := fmt.Sprintf("%dx%d/%d-%d/k%d/s%d/batch%d/%v", c.Height, c.Width, c.In, c.Out, c.KernelH, c.StrideH, batch, engine)
				b.Run(name, func(b *testing.B) { benchmarkEngine(b, perexample.ConvWeight{Conv: c}, engine, batch) })
			}
		}
	}
}

func benchmarkEngine(b *testing.B, r perexample.Rule, engine perexample.Engine, batch int) {
	pool := kernel.NewPool(2)
	defer pool.Close()
	builder := graph.NewBuilder(pool)
	x, dz := r.Values()
	source := random.Seeded(1)
	input := func(name string, values int) *gorgonia.Node {
		in := builder.Input(name, tensor.Float32, batch, values)
		copy(builder.Values(in).Float32, normals(batch*values, source))
		return in
	}
	plan := perexample.NewBinding(builder, perexample.Use{Rule: r, Input: input("x", x)}, input("dz", dz), engine)
	norms := plan.SquaredNorms(builder)
	executor := tiny.Must(builder.Compile(append(plan.Outputs(), norms)...))(b)
	sum := tiny.Must(clip.NewSum(clip.Flat{ClipNorm: 1}, r.Size(), pool))(b)
	sum.Refine(batch)
	gradients := clip.Batch{SquaredNorms: executor.Values(norms).Float64, Parts: plan.Parts(executor, pool)}
	for b.Loop() {
		executor.RunAll()
		sum.Reset()
		tiny.Check(b, sum.Add(gradients, batch))
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*batch), "µs/example")
}
