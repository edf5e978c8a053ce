package graph_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"dpsgd/internal/graph"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// A formula agrees with the executor, forward and backward, on a graph with nodes that Gorgonia's
// differentiation added.
func TestExecutorEqualsFormula(t *testing.T) {
	const n = 7
	b := graph.NewBuilder(nil)
	g := declareBranching(b, n)
	e := compile(t, b, g.y, g.dh)
	if !hasForeignNode(b) {
		t.Fatal("differentiation added no node of Gorgonia's own; the test needs one")
	}
	for run := range uint64(3) {
		x, weights := float32s(n, 2*run), float32s(n, 2*run+1)
		copy(b.Values(g.x).Float32, x)
		copy(b.Values(g.weights).Float32, weights)
		e.RunAll()
		for i := range x {
			y, dh := g.reference(float64(x[i]), float64(weights[i]))
			if math.Abs(float64(e.Values(g.y).Float32[i])-y) > 1e-6 || math.Abs(float64(e.Values(g.dh).Float32[i])-dh) > 1e-6 {
				t.Errorf("run %d: x=%v: y, dh are %v, %v, expected %v, %v", run, x[i], e.Values(g.y).Float32[i], e.Values(g.dh).Float32[i], y, dh)
			}
		}
	}
}

// hasForeignNode says whether the graph has an operation that this module did not declare.
func hasForeignNode(b *graph.Builder) bool {
	return slices.ContainsFunc(b.Graph().AllNodes(), func(n *gorgonia.Node) bool {
		return n.Op() != nil && strings.HasPrefix(n.Op().String(), "+")
	})
}

// Sharing buffers changes no value: a plan that keeps every node, and so shares nothing, gives the
// same outputs.
func TestBuffersAreSharedWithoutEffect(t *testing.T) {
	const n = 64
	b := graph.NewBuilder(nil)
	g := declareBranching(b, n)
	copy(b.Values(g.x).Float32, float32s(n, 1))
	copy(b.Values(g.weights).Float32, float32s(n, 2))

	shared := compile(t, b, g.dh)
	all := operations(b)
	alone := compile(t, b, all...)
	if shared.Bytes() >= alone.Bytes() {
		t.Errorf("sharing takes %d bytes, keeping all %d nodes %d; expected less", shared.Bytes(), len(all), alone.Bytes())
	}
	if want := 4 * n * len(all); alone.Bytes() != want {
		t.Errorf("keeping all %d nodes takes %d bytes, expected %d", len(all), alone.Bytes(), want)
	}
	alone.RunAll()
	want := slices.Clone(alone.Values(g.dh).Float32)
	for range 2 {
		shared.RunAll()
		if got := shared.Values(g.dh).Float32; !slices.Equal(got, want) {
			t.Fatalf("with shared buffers the gradient is %v, expected %v", got, want)
		}
	}
}

// A run for the first examples computes all rows of these and no row of the others.
func TestRunFirstComputesTheRowsOfThose(t *testing.T) {
	const examples, rows = 8, 24
	b := graph.NewBuilder(nil)
	x := b.Input("x", tensor.Float32, rows)
	y := b.Apply(graph.Operation{Name: "copy", Type: tensor.Float32, Shape: []int{rows}, Rows: func(_, lo, hi int, out graph.Array, in []graph.Array) {
		copy(out.Float32[lo:hi], in[0].Float32[lo:hi])
	}}, x)
	e := compile(t, b, y)
	for n := range examples + 1 {
		for i := range rows {
			b.Values(x).Float32[i] = float32(100*n + i)
			e.Values(y).Float32[i] = -1
		}
		e.RunFirst(n, examples)
		for i, found := range e.Values(y).Float32 {
			want := float32(-1)
			if i < 3*n {
				want = float32(100*n + i)
			}
			if found != want {
				t.Errorf("%d examples: row %d is %v, expected %v", n, i, found, want)
			}
		}
	}
}

// operations lists all nodes of a graph that are not leaves.
func operations(b *graph.Builder) []*gorgonia.Node {
	var nodes []*gorgonia.Node
	for _, n := range b.Graph().AllNodes() {
		if n.Op() != nil {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// An operation in place takes the memory of an input that nobody reads after it. It leaves
// parameters, inputs that are read later, and inputs of another size alone.
func TestInPlaceUsesInputsUp(t *testing.T) {
	const n = 16
	for _, test := range []struct {
		name    string
		declare func(b *graph.Builder) (leaf *gorgonia.Node, outputs []*gorgonia.Node)
		usedUp  bool
	}{
		{"the last reader", func(b *graph.Builder) (*gorgonia.Node, []*gorgonia.Node) {
			x := b.Input("x", tensor.Float32, n)
			first := twice(b, x, false)
			return x, []*gorgonia.Node{first, twice(b, x, true)}
		}, true},
		{"not the last reader", func(b *graph.Builder) (*gorgonia.Node, []*gorgonia.Node) {
			x := b.Input("x", tensor.Float32, n)
			first := twice(b, x, true)
			return x, []*gorgonia.Node{first, twice(b, x, false)}
		}, false},
		{"not in place", func(b *graph.Builder) (*gorgonia.Node, []*gorgonia.Node) {
			x := b.Input("x", tensor.Float32, n)
			return x, []*gorgonia.Node{twice(b, x, false)}
		}, false},
		{"a parameter", func(b *graph.Builder) (*gorgonia.Node, []*gorgonia.Node) {
			x := b.Parameter("x", make([]float32, n), n)
			return x, []*gorgonia.Node{twice(b, x, true)}
		}, false},
		{"an input that is an output", func(b *graph.Builder) (*gorgonia.Node, []*gorgonia.Node) {
			x := b.Input("x", tensor.Float32, n)
			return x, []*gorgonia.Node{x, twice(b, x, true)}
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := graph.NewBuilder(nil)
			leaf, outputs := test.declare(b)
			e := compile(t, b, outputs...)
			values := float32s(n, 5)
			copy(b.Values(leaf).Float32, values)
			e.RunAll()
			if kept := slices.Equal(b.Values(leaf).Float32, values); kept == test.usedUp {
				t.Errorf("the leaf keeps its values: %v, expected %v", kept, !test.usedUp)
			}
			for i, out := range outputs {
				if got := e.Values(out).Float32; out != leaf && got[3] != 2*values[3] {
					t.Errorf("output %d begins with %v, expected %v", i, got[3], 2*values[3])
				}
			}
		})
	}
}

// Every subset of outputs, however early in the graph, holds its value after the whole graph has
// run.
func TestRequestedOutputsAreNeverOverwritten(t *testing.T) {
	const n, length = 16, 8
	b := graph.NewBuilder(nil)
	x := b.Input("x", tensor.Float32, n)
	copy(b.Values(x).Float32, float32s(n, 3))
	chain := []*gorgonia.Node{x}
	for range length {
		chain = append(chain, sine(b, chain[len(chain)-1]))
	}
	want := [][]float32{slices.Clone(b.Values(x).Float32)}
	for _, node := range chain[1:] {
		e := compile(t, b, node)
		e.RunAll()
		want = append(want, slices.Clone(e.Values(node).Float32))
	}
	for subset := 1; subset < 1<<length; subset++ {
		var outputs []*gorgonia.Node
		for i := range length {
			if subset>>i&1 == 1 {
				outputs = append(outputs, chain[i+1])
			}
		}
		e := compile(t, b, outputs...)
		e.RunAll()
		for i, node := range chain {
			if slices.Contains(outputs, node) && !slices.Equal(e.Values(node).Float32, want[i]) {
				t.Fatalf("outputs %08b: node %d of the chain holds %v, expected %v", subset, i, e.Values(node).Float32, want[i])
			}
		}
	}
}

// An operation may write its output before it has read its inputs: they never share memory, however
// long the chain.
func TestOutputsShareNoMemoryWithInputs(t *testing.T) {
	b := graph.NewBuilder(nil)
	checked := 0
	node := b.Input("x", tensor.Float32, 8)
	for range 6 {
		node = b.Apply(graph.Operation{Name: "check", Type: tensor.Float32, Shape: []int{8}, Run: func(out graph.Array, in []graph.Array) {
			checked++
			if &out.Float32[0] == &in[0].Float32[0] {
				t.Error("an operation was given its input as its output")
			}
		}}, node)
	}
	e := compile(t, b, node)
	e.RunAll()
	if checked != 6 {
		t.Errorf("%d operations ran, expected 6", checked)
	}
	if want := 2 * 4 * 8; e.Bytes() != want {
		t.Errorf("a chain takes %d bytes, expected %d: two buffers in turn", e.Bytes(), want)
	}
}

func TestUnneededNodesDoNotRun(t *testing.T) {
	b := graph.NewBuilder(nil)
	x := b.Input("x", tensor.Float32, 2)
	ran := map[string]int{}
	counted := func(name string, in *gorgonia.Node) *gorgonia.Node {
		return elementwise(b, name, in, func(x float32) float32 { ran[name]++; return x }, nil)
	}
	needed := counted("needed", x)
	output := counted("output", needed)
	counted("aside", needed)
	counted("behind", output)

	compile(t, b, output).RunAll()
	if ran["needed"] != 2 || ran["output"] != 2 || ran["aside"] != 0 || ran["behind"] != 0 {
		t.Errorf("values computed: %v, expected 2 for needed and output and none for the others", ran)
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	b := graph.NewBuilder(nil)
	x := b.Input("x", tensor.Float32, 32)
	e := compile(t, b, product(b, sine(b, x), square(b, x)))
	e.RunAll()
	if n := testing.AllocsPerRun(100, func() { e.RunAll() }); n != 0 {
		t.Errorf("a run makes %v allocations, expected none", n)
	}
}

// A leaf may be an output, an output may be asked for twice, and outputs of all types are kept.
func TestOutputsOfEveryKind(t *testing.T) {
	b := graph.NewBuilder(nil)
	x := b.Input("x", tensor.Float32, 3)
	copy(b.Values(x).Float32, []float32{1, 2, 3})
	wide := b.Apply(graph.Operation{Name: "wide", Type: tensor.Float64, Shape: []int{3}, Run: func(out graph.Array, in []graph.Array) {
		for i, v := range in[0].Float32 {
			out.Float64[i] = float64(v) / 2
		}
	}}, x)
	whole := b.Apply(graph.Operation{Name: "whole", Type: tensor.Int32, Shape: []int{3}, Run: func(out graph.Array, in []graph.Array) {
		for i, v := range in[0].Float64 {
			out.Int32[i] = int32(2 * v)
		}
	}}, wide)
	e := compile(t, b, x, wide, wide, whole)
	e.RunAll()
	if got := e.Values(x).Float32; !slices.Equal(got, []float32{1, 2, 3}) {
		t.Errorf("the leaf is %v", got)
	}
	if got := e.Values(wide).Float64; !slices.Equal(got, []float64{0.5, 1, 1.5}) {
		t.Errorf("the float64 output is %v", got)
	}
	if got := e.Values(whole).Int32; !slices.Equal(got, []int32{1, 2, 3}) {
		t.Errorf("the int32 output is %v", got)
	}
}

func TestValuesOfUnrequestedNodePanics(t *testing.T) {
	b := graph.NewBuilder(nil)
	hidden := sine(b, b.Input("x", tensor.Float32, 1))
	e := compile(t, b, square(b, hidden))
	defer func() {
		if message, ok := recover().(string); !ok || !strings.Contains(message, "sine") {
			t.Errorf("panic says %q, expected it to name the node", message)
		}
	}()
	e.Values(hidden)
}

// An operation of Gorgonia's that differentiation does not add is no node of a network.
func TestForeignOperationsAreRefused(t *testing.T) {
	b := graph.NewBuilder(nil)
	foreign := gorgonia.Must(gorgonia.Neg(b.Input("x", tensor.Float32, 2)))
	if _, err := b.Compile(sine(b, foreign)); err == nil || !strings.Contains(err.Error(), "neg") {
		t.Errorf("error is %v, expected one that names the operation", err)
	}
}

// A profile hears of every operation once a run, under the part of the step that declared it;
// differentiation is "backward", Gorgonia's own operations included.
func TestProfile(t *testing.T) {
	b := graph.NewBuilder(nil)
	b.Part("forward")
	g := declareBranching(b, 3)
	b.Part("norms")
	e := compile(t, b, g.y, square(b, g.dh))
	heard := map[string][]string{}
	e.Profile(func(part, name string, d time.Duration) {
		if d < 0 {
			t.Errorf("%s took %v", name, d)
		}
		heard[part] = append(heard[part], name)
	})
	e.RunAll()
	if len(heard["forward"]) == 0 || len(heard["backward"]) == 0 || len(heard["norms"]) != 1 || len(heard) != 3 {
		t.Errorf("heard of %v, expected operations of forward and backward, and one of norms", heard)
	}
	e.Profile(nil)
	clear(heard)
	if e.RunAll(); len(heard) > 0 {
		t.Errorf("heard of %v after the profile ended", heard)
	}
}
