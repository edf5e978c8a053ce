package model_test

import (
	"math"
	"slices"
	"testing"

	"dpsgd/internal/graph"
	"dpsgd/internal/tiny"
	"dpsgd/model"
	"dpsgd/perexample"
)

// predict runs the network of a model in prediction and returns the logits.
func predict(t *testing.T, m *model.Model, in batch) []float32 {
	t.Helper()
	b := graph.NewBuilder(nil)
	n := tiny.Must(m.Prediction(b, in.size()))(t)
	e := tiny.Must(b.Compile(n.Logits))(t)
	copy(b.Values(n.Images).Float32, in.images)
	copy(b.Values(n.Mask).Float32, in.mask)
	e.RunAll()
	return slices.Clone(e.Values(n.Logits).Float32)
}

// The contract of every network: the per-example gradients over all parameters = central
// differences of the loss of each example alone = batches of one; and both engines report their
// norms and add them up. Nothing is clipped here, so that little is rounded away.
func TestPerExampleGradients(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, net network) {
		m := net.model(t)
		checkGradients(t, m, newReference(m, net.layers), 3, 1.01)
	})
}

// checkGradients holds the gradients of n examples, their norms and sums to that contract, with a
// clip norm that is so large a share of the longest gradient.
func checkGradients(t *testing.T, m *model.Model, r *reference, n int, share float64) {
	t.Helper()
	in, want, longest := draw(m, n, 3), make([][]float64, n), 0.0
	for i := range n {
		want[i] = r.gradient(m, in.image(i), in.labels[i])
		longest = max(longest, norm(want[i]))
	}
	clipNorm := share * longest
	for _, engine := range engines {
		check := func(what string, off, bound float64) {
			t.Helper()
			if !(off <= bound) {
				t.Errorf("%v: %s is off by %.2g, expected at most %.2g", engine, what, off, bound)
			}
		}
		together := newStep(t, m, options{batch: n, engine: engine, clipNorm: clipNorm}).run(t, in)
		alone := newStep(t, m, options{batch: 1, engine: engine, clipNorm: clipNorm})
		for i, g := range together.gradients {
			one := alone.run(t, in.part(i, i+1))
			check("a gradient", distance(g, want[i]), 1e-4*norm(want[i]))
			check("a gradient in a batch of one", distance(one.gradients[0], g), 1e-5*norm(g))
			check("a norm", math.Abs(math.Sqrt(together.squaredNorms[i])-norm(g)), 1e-5*norm(g))
			check("the sum over one example", distance(one.sum, clippedSum(one, clipNorm)), rounding*norm(g))
			check("what one example adds, above the clip norm,", norm(one.sum)-clipNorm, 0)
		}
		check("the sum", distance(together.sum, clippedSum(together, clipNorm)), rounding*longest)
	}
}

// Whatever one example becomes, all that belongs to the others keeps every bit.
func TestExamplesAreIndependent(t *testing.T) {
	const n, changed = 5, 2
	forEachNetwork(t, func(t *testing.T, net network) {
		m := net.model(t)
		for _, engine := range engines {
			s := newStep(t, m, options{batch: n, engine: engine, clipNorm: 0.5, threads: 2})
			in := draw(m, n, 3)
			before := s.run(t, in)
			for _, pixel := range []float32{0, 2, -1e18, 1e18, 1e30, float32(math.NaN()), float32(math.Inf(1))} {
				in.fill(changed, pixel)
				in.labels[changed] = (in.labels[changed] + 1) % classes
				after := s.run(t, in)
				for i := range n {
					if i == changed {
						continue
					}
					row := func(r result) []float32 {
						return slices.Concat(r.logits[i*classes:(i+1)*classes], r.losses[i:i+1], r.gradients[i])
					}
					if !sameBits(row(before), row(after)) || before.squaredNorms[i] != after.squaredNorms[i] {
						t.Errorf("%v: example %d gets pixels %v: example %d changes", engine, changed, pixel, i)
					}
				}
			}
		}
	})
}

// Any physical batch size, order and number of threads gives the same clipped sum, bit for bit, and
// the engines agree to rounding. Two of the examples are broken and add nothing anywhere.
func TestPhysicalBatchSizeChangesNothing(t *testing.T) {
	const n, clipNorm = 7, 0.3
	forEachNetwork(t, func(t *testing.T, net network) {
		m := net.model(t)
		in := draw(m, n, 3)
		in.fill(1, float32(math.NaN()))
		in.fill(4, 1e30)
		want := clippedSum(newStep(t, m, options{batch: n, engine: perexample.Materialise, clipNorm: clipNorm}).run(t, in), clipNorm)
		if norm(want) == 0 {
			t.Fatal("the sum is zero; the test needs another")
		}
		for _, engine := range engines {
			var first []float64
			for _, physical := range []int{1, 2, 3, 7, 16} {
				for _, threads := range []int{1, 3} {
					s := newStep(t, m, options{batch: physical, engine: engine, clipNorm: clipNorm, threads: threads})
					sum := make([]float64, len(m.Values))
					for lo := 0; lo < n; lo += physical {
						for j, v := range s.run(t, in.part(lo, min(lo+physical, n))).sum {
							sum[j] += v // exact: multiples of one spacing
						}
					}
					if d := distance(sum, want); d > rounding*clipNorm*n {
						t.Errorf("%v, physical batch of %d: the sum is off by %.2g", engine, physical, d)
					}
					if first == nil {
						first = sum
					} else if !slices.Equal(sum, first) {
						t.Errorf("%v, physical batch of %d, %d threads: the sum is another than with one example at a time", engine, physical, threads)
					}
				}
			}
		}
	})
}

// clippedSum clips and adds the gradients of a run in float64, without invalid ones.
func clippedSum(r result, clipNorm float64) []float64 {
	sum := make([]float64, len(r.sum))
	for i, g := range r.gradients {
		if r.valid[i] == 0 {
			continue
		}
		factor := min(1, clipNorm/norm(g))
		for j, v := range g {
			sum[j] += factor * float64(v)
		}
	}
	return sum
}
