package graph_test

import (
	"testing"

	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// scaled declares rows of so many values, each factor times the value of x at the same place of the
// row, counted from its beginning again and again. around is called before a block is read, and
// returns what is called once it is written.
func scaled(b *graph.Builder, x *gorgonia.Node, values int, factor float32, around func(lo int) func()) *gorgonia.Node {
	rows := x.Shape()[0]
	from := x.Shape().TotalSize() / rows
	return b.Apply(graph.Operation{
		Name: "scaled", Type: tensor.Float32, Shape: []int{rows, values},
		Rows: func(_, lo, hi int, out graph.Array, in []graph.Array) {
			defer around(lo)()
			for i := lo; i < hi; i++ {
				to, row := out.Float32[i*values:(i+1)*values], in[0].Float32[i*from:(i+1)*from]
				for j := range to {
					to[j] = factor * row[j%from]
				}
			}
		},
	}, x)
}

func nothing(int) func() { return func() {} }

// A block of rows is not overwritten by the outputs of a later block that another worker computes
// first: no output of a loop takes the buffer of another one.
func TestBlocksOfRowsShareNoBuffers(t *testing.T) {
	const rows, width = 64, 4096 // two blocks
	pool := kernel.NewPool(2)
	defer pool.Close()
	b := graph.NewBuilder(pool)
	x := b.Input("x", tensor.Float32, rows, width)
	copy(b.Values(x).Float32, float32s(rows*width, 1))
	later := make(chan struct{})
	first := scaled(b, x, width, 1, nothing)
	second := scaled(b, first, width/4, 2, func(lo int) func() {
		if lo == 0 {
			<-later
		}
		return func() {}
	})
	third := scaled(b, second, width/2, 3, func(lo int) func() {
		if lo == 0 {
			return func() {}
		}
		return func() { close(later) }
	})
	e := compile(t, b, third)
	e.RunAll()
	values := b.Values(x).Float32
	for i, got := range e.Values(third).Float32 {
		if row, j := i/(width/2), i%(width/2)%(width/4); got != 6*values[row*width+j] {
			t.Fatalf("value %d is %v, expected %v", i, got, 6*values[row*width+j])
		}
	}
}

// What is prepared is prepared once for all rows, after everything that was declared before.
func TestPrepareComesBeforeRows(t *testing.T) {
	const rows, width = 32, 1 << 14
	pool := kernel.NewPool(2)
	defer pool.Close()
	b := graph.NewBuilder(pool)
	x := b.Input("x", tensor.Float32, rows, width)
	copy(b.Values(x).Float32, float32s(rows*width, 1))
	first := scaled(b, x, width, 2, nothing)
	prepared, last := 0, float32(0)
	second := b.Apply(graph.Operation{
		Name: "second", Type: tensor.Float32, Shape: []int{rows, width},
		Prepare: func(in []graph.Array) { prepared, last = prepared+1, in[0].Float32[rows*width-1] },
		Rows: func(_, lo, hi int, out graph.Array, in []graph.Array) {
			for i := lo * width; i < hi*width; i++ {
				out.Float32[i] = in[0].Float32[i] + last
			}
		},
	}, first)
	e := compile(t, b, second)
	for range 2 {
		e.RunAll()
	}
	values := b.Values(x).Float32
	for i, got := range e.Values(second).Float32 {
		if want := 2*values[i] + 2*values[rows*width-1]; got != want {
			t.Fatalf("value %d is %v, expected %v", i, got, want)
		}
	}
	if prepared != 2 {
		t.Errorf("prepared %d times in 2 runs", prepared)
	}
}
