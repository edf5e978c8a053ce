package graph_test

import (
	"regexp"
	"sync"
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
// first: an output of a loop takes the buffer of another one only if their rows are as wide.
func TestBlocksOfRowsShareNoBuffers(t *testing.T) {
	const rows, width = 64, 4096 // several blocks
	pool := kernel.NewPool(2)
	defer pool.Close()
	b := graph.NewBuilder(pool)
	x := b.Input("x", tensor.Float32, rows, width)
	copy(b.Values(x).Float32, float32s(rows*width, 1))
	later := make(chan struct{})
	written := sync.OnceFunc(func() { close(later) })
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
		return written
	})
	fourth := scaled(b, third, width, 4, nothing)
	e := compile(t, b, fourth)
	e.RunAll()
	values := b.Values(x).Float32
	for i, got := range e.Values(fourth).Float32 {
		if row, j := i/width, i%(width/4); got != 24*values[row*width+j] {
			t.Fatalf("value %d is %v, expected %v", i, got, 24*values[row*width+j])
		}
	}
	if want := 4 * rows * (width + width/4 + width/2); e.Bytes() != want {
		t.Errorf("found %d bytes, expected %d: the last rows lie where the first ones lay", e.Bytes(), want)
	}
}

// What is prepared is prepared once for all rows, when all of what it is prepared from is there. It
// keeps no operation from the loop of those before, unless one of these computes it. What is read in
// all rows stays until the last block.
func TestPrepareComesBeforeRows(t *testing.T) {
	const rows, width = 512, 1 << 10 // of several blocks
	b := graph.NewBuilder(nil)
	x := b.Input("x", tensor.Float32, rows, width)
	copy(b.Values(x).Float32, float32s(rows*width, 1))
	prepared, order := 0, ""
	plus := func(name string, to, last *gorgonia.Node) *gorgonia.Node {
		var value float32
		return b.Apply(graph.Operation{
			Name: name, Type: tensor.Float32, Shape: []int{rows, width},
			Prepare: func(in []graph.Array) { prepared, value = prepared+1, in[1].Float32[rows*width-1] },
			Rows: func(_, lo, hi int, out graph.Array, in []graph.Array) {
				order += name
				for i := lo * width; i < hi*width; i++ {
					out.Float32[i] = in[0].Float32[i] + value + in[1].Float32[0]
				}
			},
		}, to, last)
	}
	first := scaled(b, x, width, 2, func(int) func() { order += "a"; return func() {} })
	third := plus("c", plus("b", x, first), x)
	e := compile(t, b, third)
	for range 2 {
		order = ""
		e.RunAll()
	}
	values := b.Values(x).Float32
	last := values[rows*width-1]
	for i, got := range e.Values(third).Float32 {
		if want := values[i] + 2*last + 2*values[0] + last + values[0]; got != want {
			t.Fatalf("value %d is %v, expected %v", i, got, want)
		}
	}
	if prepared != 4 {
		t.Errorf("prepared %d times in 2 runs, expected once for each operation and run", prepared)
	}
	if !regexp.MustCompile(`^a+(bc){2,}$`).MatchString(order) {
		t.Errorf("the blocks ran as %s, expected those of a, and then of b and c in turn", order)
	}
}
