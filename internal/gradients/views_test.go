package gradients

import (
	"fmt"
	"math"
	"slices"
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
	m, err := networkOf(tiny.Parse(t, layers), set.Shape(), len(set.Classes()))
	if err != nil {
		t.Fatal(err)
	}
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
	views, err := data.NewViews(recipe, set.Shape(), random.ForTest(7))
	if err != nil {
		r.t.Fatal(err)
	}
	batcher, err := data.NewBatcher(set, normalisation(set))
	if err != nil {
		r.t.Fatal(err)
	}
	g, err := NewGradients(r.model, batcher, views, batch, engine, Choice{}, r.pool)
	if err != nil {
		r.t.Fatal(err)
	}
	return g
}

// each returns the gradient of every example, and its squared norm as the graph found it.
func each(t *testing.T, g *Gradients, indices []int) (gradients [][]float64, squares []float64) {
	t.Helper()
	for len(indices) > 0 {
		n := min(len(indices), g.Capacity())
		b, err := g.Contributions(indices[:n])
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			gradients = append(gradients, gradientOf(b, i))
		}
		squares = append(squares, b.SquaredNorms[:n]...)
		indices = indices[n:]
	}
	return gradients, squares
}

// gradientOf writes out the gradient of one example of a batch.
func gradientOf(b clip.Batch, example int) (gradient []float64) {
	for _, part := range b.Parts {
		switch p := part.(type) {
		case clip.Rows:
			p.Form(0, example, func(piece []float32) {
				for _, v := range piece {
					gradient = append(gradient, float64(v))
				}
			})
		case clip.Outer:
			for _, z := range p.Z[example*p.Out : (example+1)*p.Out] {
				for _, x := range p.X[example*p.In : (example+1)*p.In] {
					gradient = append(gradient, float64(z)*float64(x))
				}
			}
		}
	}
	return gradient
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
	views, err := data.NewViews(recipe, set.Shape(), random.ForTest(7))
	if err != nil {
		t.Fatal(err)
	}
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
	all, err := data.NewImages(set.Shape(), set.Classes(), labels, pixels)
	if err != nil {
		t.Fatal(err)
	}
	return all
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
	neighbour, err := data.NewImages(set.Shape(), set.Classes(), labels, pixels)
	if err != nil {
		t.Fatal(err)
	}
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
