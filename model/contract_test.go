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
// norms and add them up.
func TestPerExampleGradients(t *testing.T) {
	const n = 3
	forEachNetwork(t, func(t *testing.T, layers model.Sequential) {
		m := newModel(t, layers)
		r := newReference(m, layers)
		in := draw(m, n, 3)
		want := make([][]float64, n)
		for i := range n {
			want[i] = r.gradient(m, in.image(i), in.labels[i])
		}
		longest := 0.0 // so that nothing is clipped and little is rounded away
		for _, g := range want {
			longest = max(longest, 1.01*norm(g))
		}
		for _, engine := range engines {
			together := newStep(t, m, options{batch: n, engine: engine, clipNorm: longest}).run(t, in)
			alone := newStep(t, m, options{batch: 1, engine: engine, clipNorm: longest})
			sum := make([]float64, len(m.Values))
			for i := range n {
				g := together.gradients[i]
				if d := distance(g, want[i]); d > 1e-4*norm(want[i]) {
					t.Errorf("%v: gradient %d is off the central differences by %.2g of its norm", engine, i, d/norm(want[i]))
				}
				one := alone.run(t, in.part(i, i+1))
				if d := distance(one.gradients[0], g); d > 1e-5*norm(g) {
					t.Errorf("%v: gradient %d differs alone and in a batch by %.2g of its norm", engine, i, d/norm(g))
				}
				if d := distance(one.sum, g); d > rounding*norm(g) {
					t.Errorf("%v: the unclipped sum over example %d alone is off its gradient by %.2g of its norm", engine, i, d/norm(g))
				}
				if got := math.Sqrt(together.squaredNorms[i]); math.Abs(got-norm(g)) > 1e-5*norm(g) {
					t.Errorf("%v: norm %d is %v, the gradient's is %v", engine, i, got, norm(g))
				}
				for j, v := range g {
					sum[j] += float64(v)
				}
			}
			if d := distance(together.sum, sum); d > rounding*longest {
				t.Errorf("%v: the unclipped sum is off the sum of the gradients by %.2g of its norm", engine, d/norm(sum))
			}
		}
	})
}

// Whatever one example becomes, all that belongs to the others keeps every bit.
func TestExamplesAreIndependent(t *testing.T) {
	const n, changed = 5, 2
	forEachNetwork(t, func(t *testing.T, layers model.Sequential) {
		m := newModel(t, layers)
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
						return slices.Concat(r.logits[i*classes:(i+1)*classes], r.losses[i:i+1], r.factors[i:i+1], r.gradients[i])
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
	forEachNetwork(t, func(t *testing.T, layers model.Sequential) {
		m := newModel(t, layers)
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
