package kernel

import (
	"math"
	"slices"
	"testing"
)

// grid returns float32 values of both signs whose bits are step apart: dense in every binade from
// the subnormal numbers to beyond what any activation distinguishes.
func grid(step uint32) []float32 {
	var x []float32
	for bits := uint32(0); bits < math.Float32bits(200); bits += step {
		v := math.Float32frombits(bits)
		x = append(x, v, -v)
	}
	return x
}

// ulps is the distance of got from want in units in the last place of a float32
// of the size of want, or of 2^floor where that is larger.
func ulps(got float32, want float64, floor int) float64 {
	if float64(got) == want || got != got && want != want {
		return 0
	}
	if rounded := float32(want); math.IsInf(float64(rounded), 0) {
		want = float64(math.MaxFloat32)
		if rounded == got {
			return 0
		}
	}
	_, exponent := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(exponent-24, floor))
}

// functions are the activations with their definitions in float64, away from
// which they may be maxUlps, and their gradients.
var functions = []struct {
	name       string
	forward    func(y, x []float32)
	definition func(x float64) float64
	maxUlps    float64
	floor      int // exponent of the smallest unit
	gradient   func(dx, yOrX, dy []float32)
	fromResult bool // gradient takes y, not x
}{
	{"relu", ReLU, func(x float64) float64 { return max(x, 0) }, 0, -149, ReLUGrad, true},
	{"tanh", Tanh, math.Tanh, 5 /* 4 with fused multiply-adds */, -149, TanhGrad, true},
	{"sigmoid", Sigmoid, logistic, 4, -149, SigmoidGrad, true},
	{"silu", SiLU, func(x float64) float64 { return x * logistic(x) }, 4, -142 /* |x| < 2⁷ times a subnormal sigmoid */, SiLUGrad, false},
	{"gelu", GELU, func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 }, 6 /* 5 with fused multiply-adds */, -149, GELUGrad, false},
}

func logistic(x float64) float64 {
	if x < 0 {
		return math.Exp(x) / (1 + math.Exp(x))
	}
	return 1 / (1 + math.Exp(-x))
}

// TestActivationAccuracy compares with float64 over a dense grid. The reference of
// a subnormal result is subject to the float64 rounding of math alone.
func TestActivationAccuracy(t *testing.T) {
	x := grid(2003)
	onEachKernelSet(t, func(t *testing.T) {
		y := make([]float32, len(x))
		for _, f := range functions {
			f.forward(y, x)
			worst, at := 0.0, 0
			for i, got := range y {
				if e := ulps(got, f.definition(float64(x[i])), f.floor); !(e <= worst) {
					worst, at = e, i
				}
			}
			t.Logf("%s: at most %.2f ulp, at %g", f.name, worst, x[at])
			if !(worst <= f.maxUlps) {
				t.Errorf("%s(%g) = %g, want %g: %.2f ulp, allowed %v", f.name, x[at], y[at], f.definition(float64(x[at])), worst, f.maxUlps)
			}
		}
	})
}

func TestExpAccuracy(t *testing.T) {
	x := grid(2003)
	y := make([]float32, len(x))
	onEachKernelSet(t, func(t *testing.T) {
		active.exp(y, x)
		for i, got := range y {
			if e := ulps(got, math.Exp(float64(x[i])), -149); e > 3 {
				t.Fatalf("exp(%g) = %g, want %g: %.2f ulp", x[i], got, math.Exp(float64(x[i])), e)
			}
		}
		special := []float32{inf32, -inf32, nan32}
		active.exp(special, special)
		if special[0] != inf32 || special[1] != 0 || special[2] == special[2] {
			t.Errorf("exp of +Inf, -Inf, NaN = %v", special)
		}
	})
}

// TestActivationGradients compares with central differences in float64.
func TestActivationGradients(t *testing.T) {
	var x []float32
	for v := float32(-12); v < 12; v += 0.37 { // not 0, where ReLU has none
		x = append(x, v)
	}
	dy := randoms(1, len(x))
	onEachKernelSet(t, func(t *testing.T) {
		for _, f := range functions {
			y, dx := make([]float32, len(x)), make([]float32, len(x))
			f.forward(y, x)
			argument := x
			if f.fromResult {
				argument = y
			}
			f.gradient(dx, argument, dy)
			checkGradient(t, f.name, dx, x, func(x []float64) float64 {
				var sum float64
				for i, v := range x {
					sum += float64(dy[i]) * f.definition(v)
				}
				return sum
			})
		}
	})
}

// TestActivationSpecials holds what the documentation says of symmetry, limits and NaN.
func TestActivationSpecials(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		apply := func(f func(y, x []float32), v float32) float32 {
			y := make([]float32, 9) // both the vector and the rest
			x := make([]float32, 9)
			fill(x, v)
			f(y, x)
			if math.Float32bits(y[0]) != math.Float32bits(y[8]) {
				t.Errorf("element 0 is %v, element 8 %v", y[0], y[8])
			}
			return y[8]
		}
		for _, v := range grid(100003) {
			if y := apply(Tanh, v); y != -apply(Tanh, -v) || y > 1 || y < -1 {
				t.Fatalf("tanh(±%g) = %g, %g", v, y, apply(Tanh, -v))
			}
		}
		for _, limit := range []struct {
			name    string
			f       func(y, x []float32)
			x, want float32
		}{
			{"tanh", Tanh, inf32, 1}, {"tanh", Tanh, -inf32, -1}, {"tanh", Tanh, 1e30, 1}, {"tanh", Tanh, 0, 0},
			{"sigmoid", Sigmoid, inf32, 1}, {"sigmoid", Sigmoid, -inf32, 0}, {"sigmoid", Sigmoid, -1e30, 0}, {"sigmoid", Sigmoid, 0, 0.5},
			{"silu", SiLU, inf32, inf32}, {"silu", SiLU, 1e30, 1e30}, {"silu", SiLU, 0, 0},
			{"gelu", GELU, inf32, inf32}, {"gelu", GELU, -1e30, 0}, {"gelu", GELU, 0, 0},
			{"relu", ReLU, inf32, inf32}, {"relu", ReLU, -inf32, 0},
		} {
			if got := apply(limit.f, limit.x); got != limit.want {
				t.Errorf("%s(%v) = %v, want %v", limit.name, limit.x, got, limit.want)
			}
		}
		for _, f := range functions {
			if y := apply(f.forward, nan32); y == y {
				t.Errorf("%s(NaN) = %v", f.name, y)
			}
			dx := make([]float32, 9)
			for i := range dx { // NaN in one place only
				x, dy := randoms(1, 9), randoms(2, 9)
				x[i] = nan32
				f.gradient(dx, x, dy)
				x[i] = 0.5
				checkOnlyNaN(t, f.name+" gradient, NaN argument", dx, i)
				dy[i] = nan32
				f.gradient(dx, x, dy)
				checkOnlyNaN(t, f.name+" gradient, NaN dy", dx, i)
			}
		}
	})
}

// TestGELUGradAccuracy allows a few units in the last place of the larger of the two
// terms, which cancel where the slope crosses zero.
func TestGELUGradAccuracy(t *testing.T) {
	x := grid(2003)
	ones, slope := make([]float32, len(x)), make([]float32, len(x))
	fill(ones, 1)
	onEachKernelSet(t, func(t *testing.T) {
		GELUGrad(slope, x, ones)
		for i, v := range x {
			u := float64(v)
			cdf, slant := math.Erfc(-u/math.Sqrt2)/2, u*math.Exp(-u*u/2)/math.Sqrt(2*math.Pi)
			unit := math.Ldexp(max(cdf, math.Abs(slant)), -23) + math.SmallestNonzeroFloat32
			if diff := math.Abs(float64(slope[i]) - (cdf + slant)); !(diff <= 4*unit) {
				t.Fatalf("slope at %g is %g, want %g: %.2f units", v, slope[i], cdf+slant, diff/unit)
			}
		}
	})
}

// TestActivationEdges runs the values at which floating point changes its ways in
// every place of slices of all lengths, and wants from the vector kernels what the
// portable ones give, zeros with their signs.
func TestActivationEdges(t *testing.T) {
	tiny, big := float32(math.SmallestNonzeroFloat32), float32(math.MaxFloat32)
	negativeZero := float32(math.Copysign(0, -1))
	edges := []float32{0, negativeZero, tiny, -tiny, 1e-38, -1e-38, 1, -1, 9.5, -9.5, 14.6, -14.6, 88, -88, 104, -104, big, -big, inf32, -inf32, nan32}
	for _, k := range supportedKernels() {
		for n := range 41 {
			x, dy := make([]float32, n), randoms(uint64(n), n)
			for i := range x {
				x[i] = edges[(i+n)%len(edges)]
			}
			for _, f := range functions {
				run := func(k *kernelSet) (y, dx []float32) {
					defer use(k)()
					y, dx = make([]float32, n), make([]float32, n)
					f.forward(y, x)
					f.gradient(dx, x, dy)
					return y, dx
				}
				y, dx := run(k)
				wantY, wantDX := run(&portableKernel)
				for i := range x {
					if e := ulps(y[i], float64(wantY[i]), f.floor); !(e <= 8) || math.Signbit(float64(y[i])) != math.Signbit(float64(wantY[i])) && y[i] == y[i] {
						t.Fatalf("%s: %s(%g) = %g, portable %g", k.name, f.name, x[i], y[i], wantY[i])
					}
					if e := ulps(dx[i], float64(wantDX[i]), -149+24); !(e <= 8) {
						t.Fatalf("%s: %s gradient at %g is %g, portable %g", k.name, f.name, x[i], dx[i], wantDX[i])
					}
				}
			}
		}
	}
}

func TestAdd(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, n := range lengths {
			x, y := randoms(1, n), randoms(2, n)
			want := make([]float32, n)
			for i := range want {
				want[i] = x[i] + y[i]
			}
			z := make([]float32, n)
			Add(z, x, y)
			Add(y, x, y)
			if !slices.Equal(z, want) || !slices.Equal(y, want) {
				t.Fatalf("%d elements: %v and in place %v, want %v", n, z, y, want)
			}
		}
	})
}

func checkOnlyNaN(t *testing.T, what string, x []float32, at int) {
	t.Helper()
	for i, v := range x {
		if isNaN := v != v; isNaN != (i == at) {
			t.Errorf("%s: element %d is %v, NaN wanted in element %d", what, i, v, at)
		}
	}
}

// TestActivationsInPlace wants the same bits when the result replaces an argument.
func TestActivationsInPlace(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, f := range functions {
			x, dy := randoms(1, 29), randoms(2, 29)
			y, dx := make([]float32, 29), make([]float32, 29)
			f.forward(y, x)
			f.gradient(dx, x, dy)
			f.gradient(dy, x, dy)
			f.forward(x, x)
			for i := range x {
				if x[i] != y[i] || dy[i] != dx[i] {
					t.Fatalf("%s: element %d is %v and %v in place, %v and %v elsewhere", f.name, i, x[i], dy[i], y[i], dx[i])
				}
			}
		}
	})
}
