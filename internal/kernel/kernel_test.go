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

// TestNothingIsAllocated runs the kernels that a training step consists of, but for convolutions.
func TestNothingIsAllocated(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool drops values at random under the race detector")
	}
	const positions, channels, groups = 36, 20, 4
	conv := Conv{Height: 6, Width: 6, In: 3, Out: channels, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1}
	pool := Pool2D{Height: 6, Width: 6, Channels: channels, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1}
	image, cols, filters := randoms(1, 6*6*3), make([]float32, positions*conv.Taps()), randoms(2, channels*conv.Taps())
	x, y, d, std := randoms(1, positions*channels), randoms(2, positions*channels), randoms(3, positions*channels), make([]float32, groups)
	a, b, sums, argmax := randoms(4, channels), randoms(5, channels), make([]float32, channels), make([]int32, positions*channels)
	losses, labels := make([]float32, positions), make([]int32, positions)
	big, product := make([]float32, 256*256), make([]float32, 256*256)
	p := NewPool(2)
	defer p.Close()
	onEachKernelSet(t, func(t *testing.T) {
		allocs := testing.AllocsPerRun(20, func() {
			conv.Lower(cols, image, 0)
			(*Pool)(nil).Gemm(false, true, positions, channels, conv.Taps(), 1, cols, conv.Taps(), filters, conv.Taps(), 0, y, channels)
			conv.Raise(image, cols, 0)
			AddBias(y, a)
			Tanh(y, y)
			ScaleShift(y, x, a, b)
			ScaleChannels(d, d, a)
			SumRows(sums, x, channels)
			SumRowProducts(sums, x, d, channels)
			AddScaledSumRows(sums, 0.5, x, channels)
			GroupNormForward(y, std, x, positions, channels, groups, 1e-5)
			GroupNormGrad(d, y, d, std, positions, channels, groups)
			pool.MaxPool(y, argmax, x)
			pool.MaxPoolGrad(d, y, argmax)
			pool.AvgPool(y, x)
			pool.AvgPoolGrad(d, y)
			GELU(y, x)
			Add(y, y, x)
			SoftmaxCrossEntropy(losses, y, y, labels, channels)
			y[0] = float32(SumSquares(y))
			p.Gemm(false, false, 256, 256, 256, 0, big, 256, big, 256, 0, product, 256)
		})
		if allocs != 0 {
			t.Errorf("%v allocations per step, want 0", allocs)
		}
	})
}

// TestShortArguments wants panics, not reads or writes beyond a slice, which ends where its memory
// does.
func TestShortArguments(t *testing.T) {
	long, short := make([]float32, 20), make([]float32, 19)
	short = short[:19:19]
	eight, sixteen, words, doubts := make([]float64, 8), make([]float64, 16), make([]uint64, 16), make([]uint8, 2)
	longInt, shortInt := make([]int32, 20), make([]int32, 19)
	shortInt = shortInt[:19:19]
	excess := func(above, below, otherAbove, otherBelow []float32, x, y []int32, high []float32) {
		AddExcess(Excess{above, below}, Excess{otherAbove, otherBelow}, x, y, make([]float32, 1), long, high)
	}
	gemm := func(a, b, c []float32) { (*Pool)(nil).Gemm(false, false, 4, 5, 4, 1, a, 5, b, 5, 0, c, 5) }
	for name, f := range map[string]func(){
		"Axpy":                   func() { Axpy(short, 1, long) },
		"Tanh":                   func() { Tanh(long, short) },
		"TanhGrad":               func() { TanhGrad(long, long, short) },
		"ReLUGrad":               func() { ReLUGrad(long, short, long) },
		"ScaleChannels, source":  func() { ScaleChannels(long, short, long) },
		"ScaleShift, shift":      func() { ScaleShift(long, long, long, short) },
		"SumRows, dst":           func() { SumRows(short, long, 20) },
		"SumRowProducts, y":      func() { SumRowProducts(long, long, short, 20) },
		"Add":                    func() { Add(long, long, short) },
		"Momentum, velocity":     func() { Momentum{}.Step(make([]float32, 8), make([]float32, 7), eight) },
		"Descend, sum":           func() { Descend(make([]float32, 9), eight, 1, 1, 1) },
		"Gemm, A":                func() { gemm(short[:18:18], long, long) },
		"Gemm, B":                func() { gemm(long, short, long) },
		"Gemm, C":                func() { gemm(long, long, short) },
		"AddExcess, above":       func() { excess(short, long, long, long, longInt, longInt, long) },
		"AddExcess, below":       func() { excess(long, short, long, long, longInt, longInt, long) },
		"AddExcess, other above": func() { excess(long, long, short, long, longInt, longInt, long) },
		"AddExcess, other below": func() { excess(long, long, long, short, longInt, longInt, long) },
		"AddExcess, x":           func() { excess(long, long, long, long, shortInt, longInt, long) },
		"AddExcess, y":           func() { excess(long, long, long, long, longInt, shortInt, long) },
		"AddExcess, high":        func() { excess(long, long, long, long, longInt, longInt, short) },
		"normals, no multiple of 16": func() {
			AddRoundedNormals(sixteen[:9], sixteen[:9], sixteen[:9], words[:9], doubts[:1], 1, 1)
		},
		"normals, words":  func() { AddRoundedNormals(sixteen, sixteen, sixteen, words[:8], doubts[:1], 1, 1) },
		"normals, sum":    func() { AddRoundedNormals(sixteen, eight, sixteen, words, doubts[:1], 1, 1) },
		"normals, rest":   func() { AddRoundedNormals(sixteen, sixteen, eight, words, doubts[:1], 1, 1) },
		"normals, doubts": func() { AddRoundedNormals(sixteen, sixteen, sixteen, words, doubts, 1, 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: a slice that is too short is taken", name)
				}
			}()
			f()
		}()
	}
}
