package graph_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Every mistake in a declaration is an error that names its place, and what follows it does
// nothing.
func TestDeclarationErrors(t *testing.T) {
	identity := graph.Operation{Name: "identity", Type: tensor.Float32, Shape: []int{2}, Run: func(graph.Array, []graph.Array) {}}
	withGradient := func(parts ...*gorgonia.Node) graph.Operation {
		op := identity
		op.Name = "odd"
		op.Gradient = func([]*gorgonia.Node, *gorgonia.Node, *gorgonia.Node) []*gorgonia.Node { return parts }
		return op
	}
	backpropagate := func(b *graph.Builder, op graph.Operation) {
		h := sine(b, b.Input("x", tensor.Float32, 2))
		b.Track(h)
		b.Backpropagate(b.Apply(op, h), b.Input("weights", tensor.Float32, 2), []*gorgonia.Node{h})
	}
	for _, test := range []struct {
		name    string
		declare func(b *graph.Builder)
		want    string
	}{
		{"two inputs of one name", func(b *graph.Builder) {
			b.Input("x", tensor.Float32, 2)
			b.Input("x", tensor.Float32, 2)
		}, `two leaves are named "x", expected one`},
		{"input and parameter of one name", func(b *graph.Builder) {
			b.Input("x", tensor.Float32, 2)
			b.Parameter("x", make([]float32, 3), 3)
		}, `two leaves are named "x", expected one`},
		{"parameter of the wrong size", func(b *graph.Builder) {
			b.Parameter("weight", make([]float32, 5), 2, 3)
		}, "parameter weight has 5 values, expected 6 for shape [2 3]"},
		{"empty input", func(b *graph.Builder) {
			b.Input("images", tensor.Float32, 0, 3)
		}, "leaf images has shape [0 3], expected positive sizes"},
		{"input from another graph", func(b *graph.Builder) {
			b.Apply(identity, graph.NewBuilder(nil).Input("stranger", tensor.Float32, 2))
		}, "identity: "},
		{"missing input", func(b *graph.Builder) {
			b.Apply(identity, nil)
		}, "identity: its input 0 is missing"},
		{"gradient with too few parts", func(b *graph.Builder) {
			backpropagate(b, withGradient())
		}, "the gradient of odd has 0 parts, expected one for each of its 1 inputs"},
		{"gradient that stops at a tracked input", func(b *graph.Builder) {
			backpropagate(b, withGradient(nil))
		}, "odd gives no gradient for its input 0"},
		{"operation without gradient on the way", func(b *graph.Builder) {
			backpropagate(b, identity)
		}, "backpropagation: "},
		{"second backpropagation", func(b *graph.Builder) {
			h := sine(b, b.Input("x", tensor.Float32, 2))
			b.Track(h)
			y := sine(b, h)
			b.Backpropagate(y, b.Input("weights", tensor.Float32, 2), []*gorgonia.Node{h})
			b.Backpropagate(y, b.Input("others", tensor.Float32, 2), []*gorgonia.Node{h})
		}, "the graph is differentiated already"},
		{"own failure", func(b *graph.Builder) {
			b.Fail("layer %s: too wide", "3")
		}, "layer 3: too wide"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := graph.NewBuilder(nil)
			test.declare(b)
			err := b.Err()
			if !errors.Is(err, graph.ErrDeclaration) || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error is %v, expected a declaration error with %q", err, test.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error has more than one line: %q", err)
			}
			checkDead(t, b, err)
		})
	}
}

// checkDead holds a builder with an error to what its documentation says.
func checkDead(t *testing.T, b *graph.Builder, first error) {
	t.Helper()
	nodes := len(b.Graph().AllNodes())
	b.Fail("another error")
	x := b.Input("late", tensor.Float32, 2)
	p := b.Parameter("late parameter", make([]float32, 2), 2)
	y := b.Apply(graph.Operation{Name: "late", Type: tensor.Float32, Shape: []int{2}}, x)
	g := b.Backpropagate(y, x, []*gorgonia.Node{x})
	e, err := b.Compile(y)
	if x != nil || p != nil || y != nil || g != nil || e != nil {
		t.Error("a declaration after an error gave something, expected nil")
	}
	if err != first || b.Err() != first {
		t.Errorf("errors afterwards are %v and %v, expected the first one", err, b.Err())
	}
	if len(b.Graph().AllNodes()) != nodes {
		t.Error("a declaration after an error added nodes")
	}
}

func TestCompileRefusesMissingOutput(t *testing.T) {
	b := graph.NewBuilder(nil)
	if _, err := b.Compile(b.Input("x", tensor.Float32, 1), nil); err == nil || !strings.Contains(err.Error(), "output 1 is missing") {
		t.Errorf("error is %v, expected one about output 1", err)
	}
}

// Gorgonia would merge two operations that look alike; these two draw from the same counter.
func TestEqualOperationsAreNotMerged(t *testing.T) {
	b := graph.NewBuilder(nil)
	x := b.Input("x", tensor.Float32, 1)
	draws := float32(0)
	draw := func() *gorgonia.Node {
		return elementwise(b, "draw", x, func(float32) float32 { draws++; return draws }, nil)
	}
	first, second := draw(), draw()
	e := compile(t, b, first, second)
	e.RunAll()
	if e.Values(first).Float32[0] != 1 || e.Values(second).Float32[0] != 2 {
		t.Errorf("draws are %v and %v, expected 1 and 2", e.Values(first).Float32, e.Values(second).Float32)
	}
}

// A parameter's memory is the caller's: the next run sees a change.
func TestParametersAreViews(t *testing.T) {
	b := graph.NewBuilder(nil)
	values := []float32{1, 2}
	y := square(b, b.Parameter("weight", values, 2))
	e := compile(t, b, y)
	e.RunAll()
	values[1] = 5
	e.RunAll()
	if got := e.Values(y).Float32; !slices.Equal(got, []float32{1, 25}) {
		t.Errorf("squares are %v, expected [1 25]", got)
	}
}

// Gradients flow from where they are asked for, not into the data.
func TestTracking(t *testing.T) {
	b := graph.NewBuilder(nil)
	x := b.Input("x", tensor.Float32, 1)
	before := sine(b, x)
	layer := sine(b, before)
	b.Track(layer)
	after := sine(b, layer)
	constant := b.Apply(graph.Operation{Name: "constant", Type: tensor.Float32, Shape: []int{1}}, after)
	for _, test := range []struct {
		name string
		node *gorgonia.Node
		want bool
	}{{"input", x, false}, {"before the layer", before, false}, {"layer", layer, true}, {"after it", after, true}, {"not differentiable", constant, false}} {
		if got := b.Tracked(test.node); got != test.want {
			t.Errorf("%s: tracked is %v, expected %v", test.name, got, test.want)
		}
	}
}

// A reshaped node is another name for the same memory, of an operation as of a leaf, by one step or
// by several; it takes no memory.
func TestReshapeIsTheSameMemory(t *testing.T) {
	declare := func(named bool) (b *graph.Builder, x, y, named1, named2 *gorgonia.Node) {
		b = graph.NewBuilder(nil)
		x = b.Input("x", tensor.Float32, 2, 6)
		y = sine(b, x)
		if named {
			return b, x, y, b.Reshape(x, 12), b.Reshape(b.Reshape(y, 4, 3), 3, 4)
		}
		return b, x, y, x, y
	}
	b, x, y, xAgain, yAgain := declare(true)
	copy(b.Values(x).Float32, float32s(12, 3))
	e := compile(t, b, y, xAgain, yAgain)
	e.RunAll()
	if &e.Values(x).Float32[0] != &e.Values(xAgain).Float32[0] || &e.Values(y).Float32[0] != &e.Values(yAgain).Float32[0] {
		t.Error("a reshaped node has memory of its own")
	}
	if !slices.Equal([]int(yAgain.Shape()), []int{3, 4}) {
		t.Errorf("found shape %v, expected [3 4]", yAgain.Shape())
	}
	plain, px, py, _, _ := declare(false)
	if want := compile(t, plain, px, py).Bytes(); e.Bytes() != want {
		t.Errorf("found %d bytes, expected %d as without reshaping", e.Bytes(), want)
	}
}

// Memory that is read under its other name is not used again before, neither for another operation
// nor by one that works in place.
func TestReshapedMemoryIsKept(t *testing.T) {
	const n = 12
	b := graph.NewBuilder(nil)
	x := b.Input("x", tensor.Float32, n)
	y := sine(b, x)
	again := b.Reshape(y, 3, 4)
	later := square(b, square(b, twice(b, y, true)))
	read := b.Apply(graph.Operation{ // after everything else
		Name: "read", Type: tensor.Float32, Shape: []int{n},
		Run: func(out graph.Array, in []graph.Array) { copy(out.Float32, in[0].Float32) },
	}, again, later)
	copy(b.Values(x).Float32, float32s(n, 3))
	e := compile(t, b, read)
	alone := compile(t, b, y)
	e.RunAll()
	found := slices.Clone(e.Values(read).Float32)
	alone.RunAll()
	if !slices.Equal(found, alone.Values(y).Float32) {
		t.Errorf("found %v under the other name, expected %v", found, alone.Values(y).Float32)
	}
}

func TestReshapeRefusesAnotherSize(t *testing.T) {
	b := graph.NewBuilder(nil)
	b.Reshape(b.Input("x", tensor.Float32, 2, 3), 7)
	checkDead(t, b, b.Err())
	b = graph.NewBuilder(nil)
	b.Reshape(nil, 1)
	checkDead(t, b, b.Err())
}

// Every worker has a buffer of its own, the same one each time, and workers may ask at the same
// moment.
func TestScratchIsPerWorker(t *testing.T) {
	const workers, size = 4, 10
	pool := kernel.NewPool(workers)
	defer pool.Close()
	scratch := graph.NewScratch(pool, size)
	var wait sync.WaitGroup
	for worker := range workers {
		wait.Go(func() {
			for round := range 50 {
				buffer := scratch.For(worker)
				if len(buffer) != size {
					t.Errorf("buffer has %d values, expected %d", len(buffer), size)
					return
				}
				if round > 0 && buffer[0] != float32(worker+1) {
					t.Errorf("the buffer of worker %d holds %v, written by another one", worker, buffer[0])
				}
				buffer[0] = float32(worker + 1)
			}
		})
	}
	wait.Wait()
	if n := testing.AllocsPerRun(10, func() { scratch.For(0) }); n != 0 {
		t.Errorf("asking again makes %v allocations, expected none", n)
	}
}
