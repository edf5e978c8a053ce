package perexample_test

import (
	"math"
	"testing"

	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/perexample"

	"dpsgd/internal/slow"
	"gonum.org/v1/gonum/mat"
)

// geometries have more positions (36 to 144) than taps (4 to 72), so that there are output
// gradients whose contributions to the filters cancel. The second one is computed by a fast
// algorithm.
var geometries = map[string]kernel.Conv{
	"lowered":   {Height: 8, Width: 8, In: 1, Out: 4, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1},
	"Winograd":  {Height: 12, Width: 12, In: 8, Out: 8, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1},
	"dilated":   {Height: 10, Width: 9, In: 2, Out: 3, KernelH: 3, KernelW: 2, StrideH: 1, StrideW: 1, PadH: 1, DilationH: 2, DilationW: 3},
	"in groups": {Height: 8, Width: 8, In: 4, Out: 6, KernelH: 2, KernelW: 2, StrideH: 1, StrideW: 1, Groups: 2},
	"depthwise": {Height: 8, Width: 8, In: 8, Out: 8, KernelH: 2, KernelW: 2, StrideH: 1, StrideW: 1, Groups: 8},
}

// forEachGeometry gives a test every geometry, with its rule on one example.
func forEachGeometry(t *testing.T, test func(t *testing.T, geometry kernel.Conv, c ruleCase, r *rig)) {
	for name, geometry := range geometries {
		t.Run(name, func(t *testing.T) {
			c := convCase("", geometry)
			test(t, geometry, c, newRig(t, c, 1, 1))
		})
	}
}

// cancelling draws an image and output gradients of ordinary size whose filter gradient is about
// rest times its ordinary size: the part of the output gradients that the taps can see is removed
// but for that rest.
func cancelling(c kernel.Conv, rest float64, seed uint64) inputs {
	src := random.Seeded(seed)
	x := normals(c.Height*c.Width*c.In, src)
	cols, groups := make([]float32, c.Positions()*c.Taps()), max(c.Groups, 1)
	all := mat.NewDense(c.Positions(), c.Out, widen(normals(c.Positions()*c.Out, src)))
	for group := range groups {
		c.Lower(cols, x, group)
		u, filters := mat.NewDense(c.Positions(), c.Taps(), widen(cols)), c.Out/groups
		v := all.Slice(0, c.Positions(), group*filters, (group+1)*filters).(*mat.Dense)
		// uᵀ applied to the least-squares fit of v by the columns of u equals uᵀ applied to v.
		var fit, seen mat.Dense
		if err := fit.Solve(u, v); err != nil {
			panic(err)
		}
		seen.Mul(u, &fit)
		seen.Scale(1-rest, &seen)
		v.Sub(v, &seen)
	}
	dz := make([]float32, c.Positions()*c.Out)
	for i := range dz {
		dz[i] = float32(all.RawMatrix().Data[i])
	}
	return inputs{x: x, dz: dz, w: []float32{1}}
}

// termSize is at least the root of the summed magnitudes of the terms of the squared norm: ‖U‖·‖dz‖
// in Frobenius norms.
func termSize(c kernel.Conv, in inputs) float64 {
	cols, square := make([]float32, c.Positions()*c.Taps()), 0.0
	for group := range max(c.Groups, 1) {
		c.Lower(cols, in.x, group)
		square += squaredNorm(widen(cols))
	}
	return math.Sqrt(square * squaredNorm(widen(in.dz)))
}

func widen(x []float32) []float64 {
	wide := make([]float64, len(x))
	for i, v := range x {
		wide[i] = float64(v)
	}
	return wide
}

// The ghost norm of a convolution is a sum in which large terms may cancel. It stays right however
// much they do: a norm that is too small would let an example through unclipped.
func TestGhostNormUnderCancellation(t *testing.T) {
	forEachGeometry(t, func(t *testing.T, geometry kernel.Conv, c ruleCase, r *rig) {
		for _, rest := range []float64{1, 0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-5, 0} {
			for seed := range uint64(20) {
				in := cancelling(geometry, rest, seed)
				got := r.run(t, in)
				norm := math.Sqrt(got.norms[perexample.Ghost][0])
				// A float32 gradient enters the sum, and its norm must not be underestimated.
				// Where the terms cancel, the norm covers their rounding.
				formed, rounding := math.Sqrt(got.norms[perexample.Materialise][0]), termSize(geometry, in)*0x1p-20
				if norm < formed*(1-1e-5) || norm > formed*(1+1e-5)+rounding {
					t.Errorf("rest %g, seed %d: ghost norm %v, norm of the gradient %v", rest, seed, norm, formed)
				}
				// Below, the float32 gradient itself has lost its digits.
				if exact := math.Sqrt(squaredNorm(c.naive(in.x, in.dz))); rest >= 1e-3 && !(math.Abs(norm-exact) <= 1e-4*exact+rounding) {
					t.Errorf("rest %g, seed %d: ghost norm %v, in float64 %v", rest, seed, norm, exact)
				}
			}
		}
	})
}

// The contribution of one example, clipped by its norm, has the norm that it was meant to have to a
// small part of the margin of 2⁻¹² that package clip keeps, with either engine and however much the
// terms cancel: with the ghost engine the norm and the gradient come from different algorithms.
// Otherwise an honest example could be refused for its length.
func TestContributionHasTheNormOfItsExample(t *testing.T) {
	forEachGeometry(t, func(t *testing.T, geometry kernel.Conv, _ ruleCase, r *rig) {
		for _, rest := range []float64{1, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-5, 0} {
			for seed := range uint64(20) {
				checkContribution(t, r, cancelling(geometry, rest, 100+seed))
			}
		}
	})
}

// The same where a gradient is measured by one algorithm and formed by another: an image of one
// colour, whose gradient is the sum over positions of output gradients that cancel but for a rest.
func TestContributionHasTheNormOfItsExampleAcrossAlgorithms(t *testing.T) {
	geometry := kernel.Conv{Height: 8, Width: 8, In: 8, Out: 8, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1}
	r := newRig(t, convCase("", geometry), 1, 1)
	src := random.Seeded(9)
	for _, rest := range []float32{1, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 0} {
		for range 20 {
			in := inputs{x: make([]float32, geometry.Height*geometry.Width*geometry.In), dz: normals(geometry.Positions()*geometry.Out, src), w: []float32{1}}
			for i := range in.x {
				in.x[i] = 0.1 * float32(3+i%geometry.In)
			}
			for ch := range geometry.Out {
				var mean float64
				for p := range geometry.Positions() {
					mean += float64(in.dz[p*geometry.Out+ch]) / float64(geometry.Positions())
				}
				for p := range geometry.Positions() {
					in.dz[p*geometry.Out+ch] -= float32(mean) * (1 - rest)
				}
			}
			checkContribution(t, r, in)
		}
	}
}

// checkContribution compares the norm of a rounded contribution with the one that the example was
// clipped by.
func checkContribution(t *testing.T, r *rig, in inputs) {
	t.Helper()
	const bound = 1 << 20 // of the clip norm 1 in spacings
	got := r.run(t, in)
	for _, engine := range engines {
		norm := math.Sqrt(got.norms[engine][0])
		meant := norm * min(1, (1-0x1p-12)/norm) * bound
		found := math.Sqrt(squaredNorm(got.integers[engine]))
		// Rounding to integers adds at most half a spacing to every coordinate.
		if found > meant*(1+0x1p-14)+math.Sqrt(float64(len(got.integers[engine])))/2 {
			t.Errorf("%v: the contribution has norm %v, meant was %v", engine, found, meant)
		}
		if found == 0 && meant > 1e3 {
			t.Errorf("%v: an honest example of norm %v was refused", engine, norm)
		}
	}
}

// The cancellation that an adversary would choose: a constant image, and output gradients that
// alternate in sign.
func TestGhostNormOfAlternatingGradients(t *testing.T) {
	forEachGeometry(t, func(t *testing.T, geometry kernel.Conv, c ruleCase, r *rig) {
		in := inputs{x: make([]float32, c.x), dz: make([]float32, c.dz), w: []float32{1}}
		for i := range in.x {
			in.x[i] = 0.7
		}
		for _, rest := range []float32{0, 1e-6, 1e-3, 0.1} {
			for i := range in.dz {
				in.dz[i] = rest + 1.3*float32(1-2*(i/geometry.Out%2))
			}
			exact := math.Sqrt(squaredNorm(c.naive(in.x, in.dz)))
			norm := math.Sqrt(r.run(t, in).norms[perexample.Ghost][0])
			if !(math.Abs(norm-exact) <= 1e-4*exact+1e-5+termSize(geometry, in)*0x1p-20) {
				t.Errorf("rest %g: ghost norm %v, in float64 %v", rest, norm, exact)
			}
		}
	})
}

// Values far from 1 neither lose a norm to underflow nor pass an infinite gradient as a finite one:
// each squared norm is right, or not finite.
func TestNormsOfExtremeMagnitudes(t *testing.T) {
	forEachRule(t, func(t *testing.T, c ruleCase) {
		r := newRig(t, c, 1, 1)
		for _, scale := range []struct{ x, dz float32 }{
			{1e-25, 1}, {1, 1e-25}, {1e-25, 1e18}, {1e18, 1e-25}, {1e-23, 1e23}, {1e22, 1e-20}, {1e-18, 1e-18}, {1e15, 1e20}, {1e20, 1},
		} {
			in := c.draw(1, 1)
			for i := range in.x {
				in.x[i] *= scale.x
			}
			for i := range in.dz {
				in.dz[i] *= scale.dz
			}
			want := squaredNorm(c.naive(in.x, in.dz))
			got := r.run(t, in)
			for _, engine := range engines {
				norm := got.norms[engine][0]
				finite := !math.IsNaN(norm) && !math.IsInf(norm, 0)
				if finite && !(math.Abs(norm-want) <= tolerance*want) {
					t.Errorf("%v: x about %g, dz about %g: squared norm %v, expected %v", engine, scale.x, scale.dz, norm, want)
				}
			}
		}
	})
}

// Wide convolutions, whose norms lose the most digits: with both engines no example adds more than
// the bound, by exact arithmetic, and none that is honest is refused.
func TestWideConvolutions(t *testing.T) {
	for _, channels := range []int{512, 2048} {
		if !slow.Asked() && channels > 512 {
			continue
		}
		c := convCase("", kernel.Conv{Height: 4, Width: 4, In: 16, Out: channels, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1})
		r := newRig(t, c, 1, 2)
		for seed := range uint64(4) {
			in := c.draw(1, seed)
			got := r.run(t, in)
			for _, engine := range engines {
				var square float64 // exact: integers, far below 2^53
				for _, v := range got.integers[engine] {
					square += v * v
				}
				if square > 1<<40 || square < 0.99*(1<<40) {
					t.Errorf("%d channels, %v: a clipped example of norm %v adds %.9f of the bound", channels, engine, math.Sqrt(got.norms[engine][0]), math.Sqrt(square)/(1<<20))
				}
			}
			if a, b := got.norms[perexample.Ghost][0], got.norms[perexample.Materialise][0]; !(math.Abs(a/b-1) <= 4e-5) {
				t.Errorf("%d channels: the ghost norm is off by a relative %.2g", channels, math.Sqrt(a/b)-1)
			}
		}
	}
}
