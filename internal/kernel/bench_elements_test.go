package kernel

import (
	"fmt"
	"testing"
)

// Benchmarks of everything but products and convolutions, by the element.

// benchmarkElements reports the time per element of a kernel on every kernel set, for instance with
//
//	go test ./internal/kernel -run '^$' -bench 'Rows|GroupNorm|Pool' -count 10 | benchstat -
func benchmarkElements(b *testing.B, name string, elements int, f func()) {
	for _, k := range supportedKernels() {
		b.Run(fmt.Sprintf("%s/%s", name, k.name), func(b *testing.B) {
			defer use(k)()
			for b.Loop() {
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(elements), "ns/element")
		})
	}
}

// BenchmarkRows runs the rowwise kernels and the sums over rows.
func BenchmarkRows(b *testing.B) {
	for _, s := range []struct{ rows, channels int }{{1024, 10}, {1024, 16}, {1024, 32}, {64, 128}, {1, 8}, {1, 1 << 20}} {
		n := s.rows * s.channels
		x, y, dst := randoms(1, n), make([]float32, n), make([]float32, s.channels)
		gain, shift := randoms(2, s.channels), randoms(3, s.channels)
		for _, f := range []struct {
			name string
			run  func()
		}{
			{"AddBias", func() { AddBias(y, shift) }},
			{"ScaleShift", func() { ScaleShift(y, x, gain, shift) }},
			{"SumRows", func() { SumRows(dst, x, s.channels) }},
			{"SumRowProducts", func() { SumRowProducts(dst, x, x, s.channels) }},
		} {
			benchmarkElements(b, fmt.Sprintf("%s/%dx%d", f.name, s.rows, s.channels), n, f.run)
		}
	}
}

// BenchmarkGroupNorm normalises an image in 8 groups, and in one, as LayerNorm does.
func BenchmarkGroupNorm(b *testing.B) {
	for _, s := range []struct{ positions, channels, groups int }{{1024, 16, 8}, {256, 32, 8}, {64, 64, 8}, {1, 4096, 1}} {
		n := s.positions * s.channels
		x, xhat, d, dx, inverseStd := randoms(1, n), make([]float32, n), randoms(2, n), make([]float32, n), make([]float32, s.groups)
		shape := fmt.Sprintf("%dx%d", s.positions, s.channels)
		benchmarkElements(b, "Forward/"+shape, n, func() {
			GroupNormForward(xhat, inverseStd, x, s.positions, s.channels, s.groups, 1e-5)
		})
		benchmarkElements(b, "Grad/"+shape, n, func() {
			GroupNormGrad(dx, xhat, d, inverseStd, s.positions, s.channels, s.groups)
		})
	}
}

// BenchmarkPool pools images of 32×32×32; an element is one of the image.
func BenchmarkPool(b *testing.B) {
	for _, s := range []struct{ kernel, stride int }{{2, 2}, {2, 1}, {3, 2}, {32, 32}} {
		p := Pool2D{Height: 32, Width: 32, Channels: 32, KernelH: s.kernel, KernelW: s.kernel, StrideH: s.stride, StrideW: s.stride}
		x, dx, y, argmax := randoms(1, p.inLen()), make([]float32, p.inLen()), make([]float32, p.outLen()), make([]int32, p.outLen())
		shape := fmt.Sprintf("%dx%dby%d", s.kernel, s.kernel, s.stride)
		benchmarkElements(b, "Max/"+shape, p.inLen(), func() { p.MaxPool(y, argmax, x) })
		benchmarkElements(b, "MaxGrad/"+shape, p.inLen(), func() { p.MaxPoolGrad(dx, y, argmax) })
		benchmarkElements(b, "Avg/"+shape, p.inLen(), func() { p.AvgPool(y, x) })
		benchmarkElements(b, "AvgGrad/"+shape, p.inLen(), func() { p.AvgPoolGrad(dx, y) })
	}
}

// BenchmarkSoftmaxCrossEntropy runs a batch of 256; an element is a row.
func BenchmarkSoftmaxCrossEntropy(b *testing.B) {
	const rows, classes = 256, 10
	logits, grad, losses, labels := randoms(1, rows*classes), make([]float32, rows*classes), make([]float32, rows), make([]int32, rows)
	benchmarkElements(b, "gradient", rows, func() { SoftmaxCrossEntropy(losses, grad, logits, labels, classes) })
}

// BenchmarkFromHalves reads as many halves as rows of features have.
func BenchmarkFromHalves(b *testing.B) {
	src, dst := make([]uint16, 6912), make([]float32, 6912)
	ToHalves(src, randoms(1, len(src)))
	benchmarkElements(b, "FromHalves", len(src), func() { FromHalves(dst, src) })
}

// BenchmarkAddExcess takes the responses of 9 positions to 384 filters; an element is one of a
// matrix.
func BenchmarkAddExcess(b *testing.B) {
	const rows, columns = 9, 384
	x, y, scale := randomIntegers(1, rows*columns), randomIntegers(2, rows*columns), randoms(3, rows)
	low, high := randoms(4, columns), randoms(5, columns)
	sums := Excess{make([]float32, columns), make([]float32, columns)}
	differences := Excess{make([]float32, columns), make([]float32, columns)}
	benchmarkElements(b, "AddExcess", rows*columns, func() { AddExcess(sums, differences, x, y, scale, low, high) })
}

// BenchmarkMomentum and BenchmarkAddRoundedNormals measure the arithmetic of updates and of noise,
// without the random words.
func BenchmarkMomentum(b *testing.B) {
	p, v, sum := make([]float32, 512), make([]float32, 512), make([]float64, 512)
	benchmarkElements(b, "Momentum", len(p), func() { Momentum{PerBatch: 1, Mu: 0.9, Rate: 0.1}.Step(p, v, sum) })
}

func BenchmarkAddRoundedNormals(b *testing.B) {
	words := noiseWords()[8000:][:512]
	dst, sum, rest, doubts := make([]float64, len(words)), make([]float64, len(words)), make([]float64, len(words)), make([]uint8, len(words)/NormalsBlock)
	benchmarkElements(b, "AddRoundedNormals", len(words), func() { AddRoundedNormals(dst, sum, rest, words, doubts, 0x1p20, 0x1p-20) })
}

// BenchmarkElementwise runs in the first-level cache and, 1<<20 elements, beyond.
func BenchmarkElementwise(b *testing.B) {
	for _, n := range []int{8, 2048, 1 << 20} {
		x, y, z := randoms(1, n), randoms(2, n), make([]float32, n)
		for _, f := range []struct {
			name string
			run  func()
		}{
			{"Tanh", func() { Tanh(z, x) }}, {"TanhGrad", func() { TanhGrad(z, x, y) }},
			{"ReLU", func() { ReLU(z, x) }}, {"ReLUGrad", func() { ReLUGrad(z, x, y) }},
			{"Sigmoid", func() { Sigmoid(z, x) }}, {"SiLU", func() { SiLU(z, x) }}, {"SiLUGrad", func() { SiLUGrad(z, x, y) }},
			{"GELU", func() { GELU(z, x) }}, {"GELUGrad", func() { GELUGrad(z, x, y) }},
			{"Exp", func() { active.exp(z, x) }}, {"Add", func() { Add(z, x, y) }},
			{"Axpy", func() { Axpy(z, 1e-9, x) }}, {"SumSquares", func() { SumSquares(x) }},
		} {
			benchmarkElements(b, fmt.Sprintf("%s/%d", f.name, n), n, f.run)
		}
	}
}
