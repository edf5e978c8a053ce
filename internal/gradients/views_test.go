package gradients

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/internal/tiny"
	"dpsgd/model"
)

// everyRule are networks in which every layer with parameters is trained, and normalisation layers
// see the rows of several examples.
var everyRule = []string{
	tiny.Convolutional,
	"model.layers=[{standardised_conv2d: {out_channels: 3, kernel_size: 3, padding: 1}}, {residual: {body: [{conv2d: {out_channels: 3, kernel_size: 1}}, tanh]}}, {group_norm: {num_groups: 3}}, relu, flatten, {linear: {out_features: classes}}]",
	// Channels in eights: Winograd's minimal filtering.
	"model.layers=[{conv2d: {out_channels: 8, kernel_size: 3, padding: 1}}, tanh, {conv2d: {out_channels: 16, kernel_size: 3, padding: 1, bias: false}}, global_avg_pool2d, {linear: {out_features: classes, bias: false}}]",
	"model.layers=[{conv2d: {out_channels: 4, kernel_size: 3, stride: 2}}, {tempered_sigmoid: {scale: 1.5}}, {max_pool2d: {kernel_size: 2}}, flatten, {linear: {out_features: classes}}]",
}

// rig makes gradients of one network on one set, as often as a test wants to.
type rig struct {
	t     *testing.T
	model *model.Model
	pool  *kernel.Pool
}

// networkOf declares the network of a configuration.
func networkOf(c *configs.Config, shape data.Shape, classes int) (*model.Model, error) {
	layers, err := c.Model.Network()
	if err != nil {
		return nil, err
	}
	return model.New(layers, model.Input{Height: shape.Height, Width: shape.Width, Channels: shape.Channels}, classes, c.Training.Seed)
}

// newRig makes a network for pictures.
func newRig(t *testing.T, layers string, threads int) rig {
	t.Helper()
	return newRigFor(t, tiny.Pictures(t, 1, 1), layers, threads)
}

func newRigFor(t *testing.T, set data.Set, layers string, threads int) rig {
	t.Helper()
	m := tiny.Must(networkOf(tiny.Parse(t, layers), set.Shape(), len(set.Classes())))(t)
	pool := kernel.NewPool(threads)
	t.Cleanup(pool.Close)
	return rig{t, m, pool}
}

// normalisation has constants for every channel.
func normalisation(set data.Set) data.Normalisation {
	channels := set.Shape().Channels
	return data.Normalisation{Mean: slices.Repeat([]float64{0.4}, channels), Std: slices.Repeat([]float64{0.3}, channels)}
}

// gradients are those of a set in views of a recipe under a fixed key.
func (r rig) gradients(set data.Set, recipe data.Augmentation, batch int, engine string) *Gradients {
	r.t.Helper()
	views := tiny.Must(data.NewViews(recipe, set.Shape(), random.ForTest(7)))(r.t)
	batcher := tiny.Must(data.NewBatcher(set, normalisation(set)))(r.t)
	return tiny.Must(NewGradients(r.model, batcher, views, batch, engine, Choice{}, r.pool))(r.t)
}

// each returns the gradient of every example, and its squared norm as the graph found it.
func each(t *testing.T, g *Gradients, indices []int) (gradients [][]float64, squares []float64) {
	t.Helper()
	for len(indices) > 0 {
		n := min(len(indices), g.Capacity())
		b := tiny.Must(g.Contributions(indices[:n]))(t)
		for i := range n {
			gradients = append(gradients, slices.Concat(g.Written(b, i)...))
		}
		squares = append(squares, b.SquaredNorms[:n]...)
		indices = indices[n:]
	}
	return gradients, squares
}

func square(g []float64) (sum float64) {
	for _, v := range g {
		sum += v * v
	}
	return sum
}

// checkGradients expects gradients and their squared norms to be those, to float32 rounding.
func checkGradients(t *testing.T, found [][]float64, squares []float64, want [][]float64) {
	t.Helper()
	for i, g := range want {
		difference := make([]float64, len(g))
		for j := range g {
			difference[j] = found[i][j] - g[j]
		}
		norm := math.Sqrt(square(g))
		if off := math.Sqrt(square(difference)); off > 1e-5*norm {
			t.Errorf("the gradient of example %d is off by %.2g of its norm", i, off/norm)
		}
		if off := math.Abs(math.Sqrt(squares[i]) - norm); off > 1e-5*norm {
			t.Errorf("the norm of example %d is %v, expected %v", i, math.Sqrt(squares[i]), norm)
		}
	}
}

func forEveryRule(t *testing.T, do func(t *testing.T, layers, engine string)) {
	for i, layers := range everyRule {
		for _, engine := range []string{"ghost", "materialise"} {
			t.Run(fmt.Sprint(i, " ", engine), func(t *testing.T) { do(t, layers, engine) })
		}
	}
}

// Views that are all the picture itself lead to its gradient.
func TestIdenticalViewsChangeNothing(t *testing.T) {
	set, indices := tiny.Pictures(t, 20, 1), []int{3, 0, 19, 7, 8}
	forEveryRule(t, func(t *testing.T, layers, engine string) {
		r := newRig(t, layers, 2)
		want, _ := each(t, r.gradients(set, data.NoAugmentation(), 4, "materialise"), indices)
		for _, views := range []int{2, 3, 8} {
			found, squares := each(t, r.gradients(set, data.Augmentation{Views: views}, 4, engine), indices)
			checkGradients(t, found, squares, want)
		}
	})
}

// The gradient of an example is the mean of those of its views, each computed as the gradient of an
// example of its own in a graph without views, one at a time.
func TestGradientIsTheMeanOverViews(t *testing.T) {
	const step = 5
	recipe := data.Augmentation{Views: 3, Flip: true, Shift: 2}
	set, indices := tiny.Pictures(t, 20, 1), []int{3, 0, 19, 7, 8}
	seen := viewsOf(t, set, recipe, step)
	forEveryRule(t, func(t *testing.T, layers, engine string) {
		r := newRig(t, layers, 2)
		found, squares := each(t, r.gradients(set, recipe, 4, engine).AtStep(step), indices)
		alone := r.gradients(seen, data.NoAugmentation(), 1, "materialise")
		var want [][]float64
		for _, example := range indices {
			mean := make([]float64, len(r.model.Values))
			for v := range recipe.Views {
				g, _ := each(t, alone, []int{example*recipe.Views + v})
				for j, value := range g[0] {
					mean[j] += value / float64(recipe.Views)
				}
			}
			want = append(want, mean)
		}
		checkGradients(t, found, squares, want)
	})
}

// viewsOf is the set of all views of a set at a step, those of one example after each other.
func viewsOf(t *testing.T, set *data.Images, recipe data.Augmentation, step int) *data.Images {
	t.Helper()
	views := tiny.Must(data.NewViews(recipe, set.Shape(), random.ForTest(7)))(t)
	var labels, pixels []uint8
	picture, view := make([]float32, set.Shape().Values()), make([]float32, set.Shape().Values())
	for i := range set.Len() {
		for j, p := range set.Pixels(i) {
			picture[j] = float32(p)
		}
		for v := range recipe.Views {
			views.Write(view, picture, step, i, v)
			labels = append(labels, uint8(set.Label(i)))
			for _, p := range view {
				pixels = append(pixels, uint8(p))
			}
		}
	}
	return tiny.Must(data.NewImages(set.Shape(), set.Classes(), labels, pixels))(t)
}

// Guarantee 1 with views: physical batch size, order of the examples and threads change no bit of
// the clipped sum.
func TestSumsOfViewsDependOnTheExamplesAlone(t *testing.T) {
	set := tiny.Pictures(t, 60, 1)
	recipe := data.Augmentation{Views: 3, Flip: true, Shift: 2}
	indices := random.ForTest(4)
	var batch []int
	for i := range 60 {
		if indices.Uint64()%2 == 0 {
			batch = append(batch, i)
		}
	}
	backwards := slices.Clone(batch)
	slices.Reverse(backwards)
	forEveryRule(t, func(t *testing.T, layers, engine string) {
		sum := func(physical, threads int, indices []int) []int64 {
			r := newRig(t, layers, threads)
			return integers(t, r.gradients(set, recipe, physical, engine).AtStep(9), slices.Collect(slices.Chunk(indices, physical))...)
		}
		want := sum(1, 1, batch)
		for _, physical := range []int{2, 7, 60} {
			for threads := 1; threads <= 3; threads++ {
				if !slices.Equal(sum(physical, threads, batch), want) || !slices.Equal(sum(physical, threads, backwards), want) {
					t.Errorf("physical batch %d, %d threads: another sum than with one example at a time", physical, threads)
				}
			}
		}
	})
}

// Steps see other views of an example, and one step the same views whenever it is asked.
func TestStepsSeeOtherViews(t *testing.T) {
	r := newRig(t, tiny.Convolutional, 1)
	g := r.gradients(tiny.Pictures(t, 20, 1), data.Augmentation{Views: 2, Flip: true, Shift: 2}, 4, "ghost")
	at := func(step int) []float64 {
		gradients, _ := each(t, g.AtStep(step), []int{3})
		return gradients[0]
	}
	first := at(0)
	if slices.Equal(at(1), first) {
		t.Error("steps 0 and 1 see the same views")
	}
	if !slices.Equal(at(0), first) {
		t.Error("step 0 sees other views when it is asked again")
	}
}

// Another picture or label in one place moves the clipped sum as the contributions of the two
// examples do, whatever else is in the batch: no example has a part in another's views.
func TestNeighboursWithViewsDifferByOneExample(t *testing.T) {
	const changed = 7
	set := tiny.Pictures(t, 20, 1)
	var labels, pixels []uint8
	for i := range set.Len() {
		label, picture := uint8(set.Label(i)), slices.Clone(set.Pixels(i))
		if i == changed {
			label = (label + 1) % 3
			for j := range picture {
				picture[j] = 255 - picture[j]
			}
		}
		labels, pixels = append(labels, label), append(pixels, picture...)
	}
	neighbour := tiny.Must(data.NewImages(set.Shape(), set.Classes(), labels, pixels))(t)
	recipe := data.Augmentation{Views: 4, Flip: true, Shift: 2}
	forEveryRule(t, func(t *testing.T, layers, engine string) {
		r := newRig(t, layers, 2)
		sum := func(set data.Set, indices ...int) []int64 {
			return integers(t, r.gradients(set, recipe, 8, engine), indices)
		}
		here, there := sum(set, 2, changed, 11, 5), sum(neighbour, 2, changed, 11, 5)
		one, other := sum(set, changed), sum(neighbour, changed)
		without := sum(set, 2, 11, 5)
		for i := range here {
			if here[i] != without[i]+one[i] || there[i] != without[i]+other[i] {
				t.Fatalf("value %d of the sums is %v and %v, expected %v and %v", i, here[i], there[i], without[i]+one[i], without[i]+other[i])
			}
		}
		if slices.Equal(one, other) {
			t.Error("the neighbours have the same gradient; the test needs another example")
		}
	})
}

// What is said about losses is the mean over the views of an example.
func TestLossesAreMeansOverViews(t *testing.T) {
	recipe := data.Augmentation{Views: 3, Shift: 2}
	set := tiny.Pictures(t, 20, 1)
	r := newRig(t, tiny.Convolutional, 1)
	losses := func(g *Gradients, indices ...int) (losses []float32) {
		g.Observe(func(d Diagnosis) { losses = slices.Clone(d.Losses) })
		if _, err := g.Contributions(indices); err != nil {
			t.Fatal(err)
		}
		return losses
	}
	found := losses(r.gradients(set, recipe, 4, "ghost"), 3, 5)
	views := losses(r.gradients(viewsOf(t, set, recipe, 0), data.NoAugmentation(), 6, "ghost"), 9, 10, 11, 15, 16, 17)
	for i := range 2 {
		want := (views[3*i] + views[3*i+1] + views[3*i+2]) / 3
		if math.Abs(float64(found[i]-want)) > 1e-6 {
			t.Errorf("the loss of example %d is %v, expected %v", i, found[i], want)
		}
	}
	if len(found) != 2 {
		t.Errorf("found %d losses, expected 2", len(found))
	}
}

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
	return tiny.Must(data.NewRows(columns, []string{"a", "b", "c"}, labels, values))(t)
}

// integers is the clipped sum of the examples, physical batch by physical batch.
func integers(t *testing.T, g *Gradients, batches ...[]int) []int64 {
	t.Helper()
	found, _ := sumOf(t, g, clip.Flat{ClipNorm: 1}, batches...)
	return found
}

// sumOf is the sum of the contributions under a policy, physical batch by physical batch, and how
// many units of gradients 1 stands for.
func sumOf(t *testing.T, g *Gradients, policy clip.Policy, batches ...[]int) (found []int64, spacing float64) {
	t.Helper()
	sum := tiny.Must(clip.NewSum(policy, g.Coordinates(), nil))(t)
	sum.Refine(1000)
	for _, indices := range batches {
		b := tiny.Must(g.Contributions(indices))(t)
		tiny.Check(t, sum.Add(b, len(indices)))
	}
	found = make([]int64, g.Coordinates())
	tiny.Check(t, sum.Release(func(read clip.Integers, l clip.Lattice) {
		read(found, 0)
		spacing = l.Spacing
	}))
	return found, spacing
}

// What a batch contributes is a function of its own examples, in one view or in several: not of
// those whose memory the graph used before, whether they were more, were not finite, or were
// predicted in between.
func TestBatchesLeaveNoTrace(t *testing.T) {
	const batch = 8
	for _, layers := range networks {
		for _, engine := range []string{"ghost", "materialise"} {
			policies := []clip.Policy{clip.Flat{ClipNorm: 1}, clip.PerLayer{ClipNorm: 1}, (&clip.Adaptive{Quantile: 0.5, Rate: 0.2, CountShare: 0.1}).WithBound(1)}
			for _, policy := range policies {
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
						evaluator := tiny.Must(NewEvaluator(r.model, set, normalisation(set), r.pool))(t)
						before := tiny.Must(evaluator.Run())(t)
						used := fresh()
						for _, other := range append(policies, policy) {
							used.ClipBy(other) // the last one counts
						}
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
							if err != nil || math.Float64bits(after.Loss) != math.Float64bits(before.Loss) || after.Test != before.Test {
								t.Errorf("evaluated as %v after batch %d (%v), expected %v", after, i, err, before)
							}
						}
					})
				}
			}
		}
	}
}
