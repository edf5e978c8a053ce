package kernel

import (
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"testing"
)

// What the tests share, and tests across kernels: allocations and threads.

var (
	nan32 = float32(math.NaN())
	inf32 = float32(math.Inf(1))
)

// use makes every kernel run on k until the returned function is called.
func use(k *kernelSet) func() {
	before := active
	active = k
	return func() { active = before }
}

// onEachKernelSet runs the test once for every kernel set of this machine.
func onEachKernelSet(t *testing.T, test func(t *testing.T)) {
	for _, k := range supportedKernels() {
		t.Run(k.name, func(t *testing.T) {
			defer use(k)()
			test(t)
		})
	}
}

// randoms returns n standard normals from a stream of their own.
func randoms(seed uint64, n int) []float32 {
	src := rand.New(rand.NewPCG(seed, 0))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(src.NormFloat64())
	}
	return x
}

func fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}

// checkClose compares with a float64 reference, to tolerance·(1 + |want|).
func checkClose(t *testing.T, what string, got []float32, want []float64, tolerance float64) {
	t.Helper()
	for i, w := range want {
		if diff := math.Abs(float64(got[i]) - w); !(diff <= tolerance*(1+math.Abs(w))) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], w)
		}
	}
}

// checkGradient compares got, a gradient at x, with central differences of loss,
// a reference in float64.
func checkGradient(t *testing.T, what string, got, x []float32, loss func(x []float64) float64) {
	t.Helper()
	at := toFloat64(x)
	want := make([]float64, len(x))
	const h = 1e-5 // error of the difference: h²/6 of the third derivative and 2^-53/h
	for i, v := range at {
		at[i] = v + h
		upper := loss(at)
		at[i] = v - h
		lower := loss(at)
		at[i] = v
		want[i] = (upper - lower) / (2 * h)
	}
	checkClose(t, what, got, want, 3e-6)
}

func toFloat64(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// weighted is the sum of w·y: the loss whose gradient with respect to y is w.
func weighted(w []float32, y []float64) float64 {
	var sum float64
	for i, v := range y {
		sum += float64(w[i]) * v
	}
	return sum
}

// raceEnabled tells whether the race detector is in this binary.
var raceEnabled = func() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}()

// TestNothingIsAllocated runs the kernels that a training step consists of.
func TestNothingIsAllocated(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool drops values at random under the race detector")
	}
	conv := Conv{Height: 8, Width: 8, In: 3, Out: 16, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1}
	pool := Pool2D{Height: 8, Width: 8, Channels: 16, KernelH: 2, KernelW: 2, StrideH: 2, StrideW: 2}
	x, cols := randoms(1, 8*8*3), make([]float32, conv.Positions()*conv.Taps())
	filters, z := randoms(2, 16*conv.Taps()), make([]float32, 64*16)
	y, argmax := make([]float32, 16*16), make([]int32, 16*16)
	losses, labels, std := make([]float32, 16), make([]int32, 16), make([]float32, 4)
	p := NewPool(2)
	defer p.Close()
	onEachKernelSet(t, func(t *testing.T) {
		allocs := testing.AllocsPerRun(20, func() {
			conv.Lower(cols, x, 0)
			(*Pool)(nil).Gemm(false, true, 64, 16, conv.Taps(), 1, cols, conv.Taps(), filters, conv.Taps(), 0, z, 16)
			AddBias(z, filters[:16])
			Tanh(z, z)
			GroupNormForward(z, std, z, 64, 16, 4, 1e-5)
			pool.MaxPool(y, argmax, z)
			SoftmaxCrossEntropy(losses, y, y, labels, 16)
			pool.MaxPoolGrad(z, y, argmax)
			pool.AvgPool(y, z)
			pool.AvgPoolGrad(z, y)
			conv.Raise(x, cols, 0)
			SumRows(y[:16], z, 16)
			z[0] = float32(SumSquares(z))
			p.Gemm(false, false, 256, 256, 256, 0, big, 256, big, 256, 0, product, 256)
		})
		if allocs != 0 {
			t.Errorf("%v allocations per step, want 0", allocs)
		}
	})
}

var big, product = make([]float32, 256*256), make([]float32, 256*256)

// TestThreadsShareNothing computes images on several workers at once, each with its own output; the
// race detector watches, and the results must equal those of one thread.
func TestThreadsShareNothing(t *testing.T) {
	conv := Conv{Height: 9, Width: 9, In: 4, Out: 8, KernelH: 3, KernelW: 3, StrideH: 2, StrideW: 1, PadH: 1, PadW: 1}
	const images = 24
	size, out := 9*9*4, conv.Positions()*8
	x, filters := randoms(1, images*size), randoms(2, 8*conv.Taps())
	forward := func(p *Pool) []float32 {
		z := make([]float32, images*out)
		cols := make([][]float32, p.Threads())
		for i := range cols {
			cols[i] = make([]float32, conv.Positions()*conv.Taps())
		}
		p.Run(images, 1, func(worker, lo, hi int) {
			for i := lo; i < hi; i++ {
				conv.Lower(cols[worker], x[i*size:(i+1)*size], 0)
				p.Gemm(false, true, conv.Positions(), 8, conv.Taps(), 1, cols[worker], conv.Taps(), filters, conv.Taps(), 0, z[i*out:], 8)
			}
		})
		return z
	}
	onEachKernelSet(t, func(t *testing.T) {
		want := forward(nil)
		p := NewPool(4)
		defer p.Close()
		if got := forward(p); !slices.Equal(got, want) {
			t.Error("four threads give other values than one")
		}
	})
}
