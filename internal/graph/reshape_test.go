package graph_test

import (
	"slices"
	"testing"

	"dpsgd/internal/graph"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

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
	doubled := b.Apply(graph.Operation{
		Name: "double", Type: tensor.Float32, Shape: []int{n}, InPlace: true,
		Run: func(out graph.Array, in []graph.Array) {
			for i, v := range in[0].Float32 {
				out.Float32[i] = 2 * v
			}
		},
	}, y)
	later := square(b, square(b, doubled))
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
