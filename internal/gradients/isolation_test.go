package gradients

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/random"
	"dpsgd/internal/tiny"
)

// networks begin with layers that work in place on the input, that read it twice, or that keep it.
var networks = []string{
	"[layer_norm, flatten, {linear: {out_features: classes}}]",
	"[{group_norm: {num_groups: 1}}, {group_norm: {num_groups: 1}}, flatten, {linear: {out_features: classes}}]",
	"[{residual: {body: [layer_norm, tanh]}}, flatten, layer_norm, {linear: {out_features: classes}}]",
	"[flatten, layer_norm, relu, {linear: {out_features: classes}}]",
	"[relu, layer_norm, flatten, {linear: {out_features: classes}}]",
	"[flatten, {linear: {out_features: classes}}]",
}

// rows is a set whose row i is finite unless i is a multiple of 7: normalised, those are so large
// that their gradients are not.
func rows(t *testing.T, n int) *data.Rows {
	t.Helper()
	src := random.ForTest(3)
	const columns = 12
	labels, values := make([]uint8, n), make([]float32, n*columns)
	for i := range labels {
		labels[i] = uint8(i % 3)
		for c := range columns {
			values[i*columns+c] = float32(src.Float64() - 0.5)
			if i%7 == 0 {
				values[i*columns+c] = math.MaxFloat32 * float32(c%2)
			}
		}
	}
	r, err := data.NewRows(columns, []string{"a", "b", "c"}, labels, values)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// integers is the clipped sum of the examples, physical batch by physical batch.
func integers(t *testing.T, g *Gradients, batches ...[]int) []int64 {
	t.Helper()
	dim := g.Coordinates()
	sum, err := clip.NewSum(clip.Flat{ClipNorm: 1}, dim, nil)
	if err != nil {
		t.Fatal(err)
	}
	sum.Refine(1000)
	for _, indices := range batches {
		b, err := g.Contributions(indices)
		if err == nil {
			err = sum.Add(b, len(indices))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	found := make([]int64, dim)
	if err := sum.Release(func(read clip.Integers, _ clip.Lattice) { read(found, 0) }); err != nil {
		t.Fatal(err)
	}
	return found
}

// What a batch contributes is a function of its own examples, in one view or in several: not of
// those whose memory the graph used before, whether they were more, were not finite, or were
// predicted in between.
func TestBatchesLeaveNoTrace(t *testing.T) {
	const batch = 8
	for _, layers := range networks {
		for _, engine := range []string{"ghost", "materialise"} {
			for _, policy := range []clip.Policy{clip.Flat{ClipNorm: 1}, clip.PerLayer{ClipNorm: 1}, (&clip.Adaptive{Quantile: 0.5, Rate: 0.2, CountShare: 0.1}).WithBound(1)} {
				for kind, set := range map[string]data.Set{"rows": rows(t, 60), "pictures": tiny.Pictures(t, 60, 1), "views": tiny.Pictures(t, 60, 1)} {
					if kind == "rows" && strings.Contains(layers, "group_norm") {
						continue // a layer for pictures
					}
					t.Run(fmt.Sprint(layers, engine, policy.Name(), kind), func(t *testing.T) {
						r, recipe := newRigFor(t, set, "model.layers="+layers, 2), data.NoAugmentation()
						if kind == "views" {
							recipe = data.Augmentation{Views: 3, Flip: true, Shift: 2}
						}
						fresh := func() *Gradients {
							g := r.gradients(set, recipe, batch, engine)
							g.ClipBy(policy)
							return g
						}
						evaluator, err := NewEvaluator(r.model, set, normalisation(set), r.pool)
						if err != nil {
							t.Fatal(err)
						}
						before, err := evaluator.Run()
						if err != nil {
							t.Fatal(err)
						}
						used := fresh()
						for i, indices := range [][]int{{0, 7, 14, 21, 28, 35, 42, 49}, {1}, {2, 3, 7}, {}, {5, 4, 3, 2, 1, 0, 8, 9}, {9}, {1}, {1, 1}} {
							found, want := integers(t, used, indices), integers(t, fresh(), indices)
							if !slices.Equal(found, want) {
								t.Errorf("batch %d contributes something else than in memory of its own", i)
							}
							alone := make([]int64, len(want))
							for _, index := range indices {
								for j, v := range integers(t, fresh(), []int{index}) {
									alone[j] += v
								}
							}
							if !slices.Equal(found, alone) {
								t.Errorf("batch %d contributes something else than its examples do one by one", i)
							}
							after, err := evaluator.Run()
							if err != nil || math.Float64bits(after.Loss) != math.Float64bits(before.Loss) || after.Accuracy != before.Accuracy {
								t.Errorf("evaluated as %v after batch %d (%v), expected %v", after, i, err, before)
							}
						}
					})
				}
			}
		}
	}
}
