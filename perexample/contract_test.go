package perexample_test

import (
	"math"
	"testing"

	"dpsgd/perexample"
)

// tolerance bounds the cost of float32 rounding, relative to the gradient's norm.
const tolerance = 1e-5

// The contract of every rule, batch by batch: the written-out gradient of each example alone =
// Gradients = SquaredNorms = WeightedSum, with both engines.
func TestRulesEqualWrittenOutGradients(t *testing.T) {
	forEachRule(t, func(t *testing.T, c ruleCase) {
		for _, batch := range []int{1, 2, 7, 33} {
			in := c.draw(batch, uint64(batch))
			got := newRig(t, c, batch, 2).run(t, in)
			checkAgainst(t, c.naiveRows(in), in.w, got)
		}
	})
}

// checkAgainst compares a run with the gradients of the examples.
func checkAgainst(t *testing.T, want [][]float64, w []float32, got results) {
	t.Helper()
	sum := make([]float64, len(want[0]))
	var scale float64
	for i, g := range want {
		square := squaredNorm(g)
		norm := math.Sqrt(square)
		if d := distance(got.row(i), g); d > tolerance*norm {
			t.Errorf("batch %d: gradient %d is off by %.2g of its norm", len(w), i, d/norm)
		}
		for _, engine := range engines {
			if d := math.Abs(got.norms[engine][i] - square); d > tolerance*square {
				t.Errorf("batch %d, %v: squared norm %d is %v, expected %v", len(w), engine, i, got.norms[engine][i], square)
			}
		}
		scale += float64(w[i]) * norm
		for j, v := range g {
			sum[j] += float64(w[i]) * v
		}
	}
	if d := distance(got.sum, sum); d > tolerance*scale {
		t.Errorf("batch %d: weighted sum is off by %.2g of the length of its terms", len(w), d/scale)
	}
	checkClipped(t, want, got)
}

// checkClipped compares the clipped integer sums of both engines with sums of gradients by the
// formulas. Rounding moves an entry of an example's contribution by half a spacing, and an outer
// product by half a unit in each of its factors: less than rounding of each example's norm.
func checkClipped(t *testing.T, want [][]float64, got results) {
	t.Helper()
	const bound = 1 << 20 // of the clip norm 1 in spacings
	sum := make([]float64, len(want[0]))
	for _, g := range want {
		factor := min(1, (1-0x1p-12)/math.Sqrt(squaredNorm(g)))
		for j, v := range g {
			sum[j] += factor * v * bound
		}
	}
	const rounding = 0.02
	for _, engine := range engines {
		var square float64
		for j, v := range got.integers[engine] {
			square += (v - sum[j]) * (v - sum[j])
		}
		if off := math.Sqrt(square); off > rounding*bound*float64(len(want)) {
			t.Errorf("batch %d, %v: clipped sum is off by %.2g of the clip norm", len(want), engine, off/bound)
		}
	}
}

// odd values that an example may bring along.
var odd = []struct {
	name  string
	value float32
}{{"another number", 3}, {"zero", 0}, {"NaN", nan()}, {"+Inf", infinity()}, {"-Inf", -infinity()}, {"1e30", 1e30}, {"denormal", 1e-42}}

// Whatever one example becomes, the norms and gradients of the others keep every bit.
func TestExamplesAreIndependent(t *testing.T) {
	const batch, changed = 7, 3
	forEachRule(t, func(t *testing.T, c ruleCase) {
		r := newRig(t, c, batch, 2)
		in := c.draw(batch, 1)
		before := r.run(t, in)
		for _, o := range odd {
			c.overwrite(in, changed, o.value, o.value)
			after := r.run(t, in)
			for i := range batch {
				if i == changed {
					continue
				}
				if !sameBits(before.row(i), after.row(i)) {
					t.Errorf("example %d changes to %s: the gradient of %d changes", changed, o.name, i)
				}
				for _, engine := range engines {
					if !sameBits(before.norms[engine][i:i+1], after.norms[engine][i:i+1]) {
						t.Errorf("%v: example %d changes to %s: the norm of %d changes", engine, changed, o.name, i)
					}
				}
			}
		}
	})
}

// An example of weight 0 adds exactly 0 whatever it holds: every bit of the sum is as if its rows
// were zeros.
func TestWeightZeroAddsNothing(t *testing.T) {
	const batch = 33 // several partial sums with several examples each
	forEachRule(t, func(t *testing.T, c ruleCase) {
		r := newRig(t, c, batch, 2)
		zeros := c.draw(batch, 1)
		for i, w := range zeros.w {
			if w == 0 {
				c.overwrite(zeros, i, 0, 0)
			}
		}
		want := r.run(t, zeros)
		for _, o := range odd {
			in := zeros.clone()
			for i, w := range in.w {
				if w == 0 {
					c.overwrite(in, i, o.value, o.value)
				}
			}
			got := r.run(t, in)
			if !sameBits(got.sum, want.sum) {
				t.Errorf("rows of weight 0 that hold %s change the sum", o.name)
			}
		}
	})
}

// Without any weight the sum is exactly zero, also right after a run with weights.
func TestNoWeightsSumToZero(t *testing.T) {
	const batch = 7
	forEachRule(t, func(t *testing.T, c ruleCase) {
		r := newRig(t, c, batch, 2)
		in := c.draw(batch, 1)
		r.run(t, in)
		clear(in.w)
		c.overwrite(in, 2, nan(), infinity())
		got := r.run(t, in)
		for j, v := range got.sum {
			if v != 0 {
				t.Fatalf("value %d of the sum is %v, expected 0", j, v)
			}
		}
	})
}

// A gradient that is not finite is seen: its norm is not finite either, so that a policy can drop
// it.
func TestNonFiniteGradientsHaveNonFiniteNorms(t *testing.T) {
	const batch, broken = 3, 1
	forEachRule(t, func(t *testing.T, c ruleCase) {
		r := newRig(t, c, batch, 1)
		_, bias := c.rule.(perexample.Bias)
		readsX := !bias && c.tokens == 0 // tokens that are not finite are none
		for _, bad := range []float32{nan(), infinity(), -infinity()} {
			for _, place := range []struct {
				name  string
				x, dz float32
				skip  bool
			}{{"x", bad, 1, !readsX}, {"dz", 1, bad, false}, {"x, against dz of zero", bad, 0, !readsX}, {"dz, against x of zero", 0, bad, false}} {
				if place.skip {
					continue
				}
				in := c.draw(batch, 1)
				c.overwrite(in, broken, place.x, place.dz)
				got := r.run(t, in)
				for _, engine := range engines {
					if norm := got.norms[engine][broken]; !math.IsNaN(norm) && !math.IsInf(norm, 0) {
						t.Errorf("%v: with %v in %s the squared norm is %v", engine, bad, place.name, norm)
					}
				}
			}
		}
	})
}

// The number of threads changes no bit of anything.
func TestThreadsChangeNothing(t *testing.T) {
	const batch = 33
	// A product large enough to be shared among threads.
	cases := append(ruleCases(), denseCase("dense 300 to 200", 300, 200))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := c.draw(batch, 1)
			want := newRig(t, c, batch, 1).run(t, in)
			for _, threads := range []int{2, 3} {
				got := newRig(t, c, batch, threads).run(t, in)
				same := sameBits(got.gradients, want.gradients) && sameBits(got.sum, want.sum)
				for _, engine := range engines {
					same = same && sameBits(got.norms[engine], want.norms[engine]) && sameBits(got.integers[engine], want.integers[engine])
				}
				if !same {
					t.Errorf("%d threads give another result than 1", threads)
				}
			}
		})
	}
}
