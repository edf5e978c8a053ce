package gradients

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/noise"
	"dpsgd/internal/random"
	"dpsgd/internal/tiny"
	"dpsgd/model"
	"dpsgd/perexample"
	"dpsgd/release"
)

// shorter writes out what PerLayer promises: each layer of a gradient, weight and bias together, is
// scaled down to the norm bound/√L.
func shorter(m *model.Model, gradient []float64, bound float64) []float64 {
	layers := map[string][]int{} // coordinates
	from := 0
	for _, p := range m.Parameters() {
		layer := strings.TrimSuffix(strings.TrimSuffix(p.Name, ".bias"), ".weight")
		for i := range p.Size() {
			layers[layer] = append(layers[layer], from+i)
		}
		from += p.Size()
	}
	out := make([]float64, len(gradient))
	for _, coordinates := range layers {
		var square float64
		for _, i := range coordinates {
			square += gradient[i] * gradient[i]
		}
		factor := math.Min(1, bound/math.Sqrt(float64(len(layers))*square))
		for _, i := range coordinates {
			out[i] = factor * gradient[i]
		}
	}
	return out
}

// sumBy is the sum of the contributions of some examples, in units of gradients.
func sumBy(t *testing.T, g *Gradients, policy clip.Policy, indices []int) []float64 {
	t.Helper()
	g.ClipBy(policy)
	sums, spacing := sumOf(t, g, policy, indices)
	found := make([]float64, len(sums))
	for i, v := range sums {
		found[i] = float64(v) * spacing
	}
	return found
}

// A layer whose gradient is not finite makes its example add exactly zero, and no other.
func TestABrokenLayerSpoilsItsExample(t *testing.T) {
	set := rows(t, 30) // whose rows 0, 7, … have gradients that are not finite
	r := newRigFor(t, set, "model.layers=[flatten, {linear: {out_features: 5}}, tanh, {linear: {out_features: classes}}]", 1)
	for _, engine := range []string{"ghost", "materialise"} {
		g := r.gradients(set, data.NoAugmentation(), 4, engine)
		policy := clip.PerLayer{ClipNorm: 1}
		with, without := sumBy(t, g, policy, []int{1, 7, 2, 14}), sumBy(t, g, policy, []int{1, 2})
		if !slices.Equal(with, without) || slices.Max(with) == 0 {
			t.Errorf("%s: examples 7 and 14, whose gradients are not finite, moved the sum", engine)
		}
	}
}

// A layer that is too long for a factor, though its norm is a number, spoils its example and no
// other: what is left of a gradient without one of its layers is not what was promised.
func TestALayerWithoutAFactorSpoilsItsExample(t *testing.T) {
	parts := []clip.Part{clip.Stored([]float32{1, 1}, 1), clip.Stored([]float32{1, 1}, 1)}
	l := newLayers(clip.PerLayer{ClipNorm: 1}, []perexample.Use{{Parameter: "0.weight"}, {Parameter: "1.weight"}}, parts, []int{0, 1}, [][]float64{{1e60, 1}, {1, 1}}, 2, nil)
	if found := l.scale(2).SquaredNorms; !math.IsNaN(found[0]) || !(found[1] > 0.9 && found[1] < 1) {
		t.Errorf("found the squared norms %v, expected no number and a little less than 1", found)
	}
}

// The last coordinate of a release is the count, also where it begins a block of the noise.
func TestCountIsTheLastCoordinate(t *testing.T) {
	for _, parameters := range []int{1, noise.Block - 1, noise.Block, noise.Block + 1} {
		made := func(consume func(release.Noisy)) {
			sum := tiny.Must(clip.NewSum(clip.Flat{ClipNorm: 1}, parameters+1, nil))(t)
			tiny.Check(t, tiny.Must(release.NewGaussian(1, nil))(t).Privatize(0, sum, random.ForTest(1), consume))
		}
		whole, rest, count := make([]float64, parameters+1), make([]float64, parameters), 0.0
		made(func(n release.Noisy) { copy(whole[n.From():], n.Values()) })
		made(SplitCount(parameters, &count, func(n release.Noisy) { copy(rest[n.From():], n.Values()) }))
		if count != whole[parameters] || !slices.Equal(rest, whole[:parameters]) {
			t.Errorf("%d parameters: found the count %v, expected %v, or other values before it", parameters, count, whole[parameters])
		}
	}
}

// Sums of clipped gradients are those of float64, to a thousandth of their norm and the margin of
// 2^-12, by either engine, at clip norms far below the gradients and far above: for dense layers
// and for convolutions, clipped as a whole and layer by layer.
func TestSumsAgainstFloat64(t *testing.T) {
	set := tiny.Pictures(t, 40, 1)
	indices := []int{3, 1, 4, 15, 9, 2, 6, 5, 35, 8, 7, 32}
	for _, network := range []string{
		"[{conv2d: {out_channels: 4, kernel_size: 3}}, tanh, {group_norm: {num_groups: 2}}, flatten, {linear: {out_features: 8}}, relu, {linear: {out_features: classes}}]",
		"[flatten, {linear: {out_features: 60}}, tanh, {linear: {out_features: 20}}, tanh, {linear: {out_features: classes}}]",
		"[flatten, {linear: {out_features: 12}}, layer_norm, {linear: {out_features: classes, bias: false}}]",
	} {
		r := newRig(t, "model.layers="+network, 2)
		dim := len(r.model.Values)
		gradients, _ := each(t, r.gradients(set, data.NoAugmentation(), len(indices), "materialise"), indices)
		for _, name := range []string{"ghost", "materialise"} {
			g := r.gradients(set, data.NoAugmentation(), len(indices), name)
			for _, bound := range []float64{1e-3, 0.01, 0.1, 0.3, 1, 8, 20, 100, 1000, 1e4, 1e5, 1e6} {
				for policy, clipped := range map[clip.Policy]func([]float64) []float64{
					clip.Flat{ClipNorm: bound}:     func(gradient []float64) []float64 { return shortened(gradient, bound) },
					clip.PerLayer{ClipNorm: bound}: func(gradient []float64) []float64 { return shorter(r.model, gradient, bound) },
				} {
					want := make([]float64, dim)
					for _, gradient := range gradients {
						for i, v := range clipped(gradient) {
							want[i] += v
						}
					}
					var off, size float64
					for i, v := range sumBy(t, g, policy, indices) {
						off += (v - want[i]) * (v - want[i])
						size += want[i] * want[i]
					}
					if e := math.Sqrt(off / size); !(e < 1e-3+0x1p-12) {
						t.Errorf("%s, %s, %T %g: off by %.2g of the sum", fmt.Sprint(network)[:12], name, policy, bound, e)
					}
				}
			}
		}
	}
}

// shortened is a gradient scaled down to the bound.
func shortened(gradient []float64, bound float64) []float64 {
	factor, out := math.Min(1, bound/math.Sqrt(square(gradient))), make([]float64, len(gradient))
	for i, v := range gradient {
		out[i] = factor * v
	}
	return out
}

// Kept engines are those of one network, physical batch size and performance.engine; for any other
// they are chosen again.
func TestChoiceIsForOneGraph(t *testing.T) {
	rule := perexample.DenseWeight{In: 2, Out: 3}
	uses := []perexample.Use{{Parameter: "weight", Rule: rule}}
	kept := Choice{"auto", 8, []ruleEngine{{Assignment{"weight", perexample.Materialise}, describeRule(rule)}}}
	if engines, ok := kept.engines(uses, 8, "auto"); !ok || len(engines) != 1 || engines[0] != perexample.Materialise {
		t.Fatalf("found the engines %v, %v; expected those that were kept", engines, ok)
	}
	other := func(change func(u *perexample.Use)) []perexample.Use {
		changed := uses[0]
		change(&changed)
		return []perexample.Use{changed}
	}
	for name, of := range map[string]struct {
		uses    []perexample.Use
		batch   int
		setting string
	}{
		"physical batch size": {uses, 16, "auto"},
		"performance.engine":  {uses, 8, "ghost"},
		"parameter":           {other(func(u *perexample.Use) { u.Parameter = "bias" }), 8, "auto"},
		"shape of a layer":    {other(func(u *perexample.Use) { u.Rule = perexample.DenseWeight{In: 3, Out: 2} }), 8, "auto"},
		"kind of a layer":     {other(func(u *perexample.Use) { u.Rule = perexample.Bias{Positions: 2, Channels: 3} }), 8, "auto"},
		"number of layers":    {append(uses[:1:1], uses[0]), 8, "auto"},
		"no layer":            {nil, 8, "auto"},
	} {
		if engines, ok := kept.engines(of.uses, of.batch, of.setting); ok {
			t.Errorf("another %s gets the kept engines %v, expected a new choice", name, engines)
		}
	}
}
