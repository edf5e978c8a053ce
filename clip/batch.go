package clip

import "fmt"

// Batch holds what a model computed about the examples of a physical batch. All of it is sensitive,
// and none of it is trusted but for one thing: row i depends on example i alone.
type Batch struct {
	// SquaredNorms are the squared L2 norms of the gradients over all parameters, one for each
	// example. They decide the factors, and need not be right.
	SquaredNorms []float64
	// Parts hold the gradients, one part after the other in the order of the coordinates.
	Parts []Part
}

// Part holds the gradients of all examples in some of the coordinates: [Rows] or [Outer].
type Part interface {
	// Size returns the number of coordinates.
	Size() int
	// holds returns the number of examples that the part has values for.
	holds() int
}

// Rows is a part that has each example's gradient computed when it is to be added.
type Rows struct {
	Width    int // the size
	Examples int
	// Form calls emit with the gradient of an example, in consecutive pieces; anything beyond the
	// size is ignored. It is called from several goroutines, with the worker numbers of
	// [kernel.Pool.Run], and may be called twice for one example, with the same result.
	Form func(worker, example int, emit func(piece []float32))
}

// Stored returns the rows of a matrix in memory, (examples, width), as a part.
func Stored(values []float32, width int) Rows {
	return Rows{Width: width, Examples: len(values) / width, Form: func(_, i int, emit func([]float32)) {
		emit(values[i*width : (i+1)*width])
	}}
}

// Outer is a part whose gradients are outer products z xᵀ, such as those of a dense layer:
// matrices (out, in) in row-major order.
type Outer struct {
	X, Z    []float32 // (examples, in) and (examples, out)
	In, Out int
	// SquaredX and SquaredZ are the squared norms of each example's x and z. They decide how x and
	// z are rounded, and need not be right.
	SquaredX, SquaredZ []float64
}

var _, _ Part = Rows{}, Outer{}

func (r Rows) Size() int { return r.Width }

func (o Outer) Size() int { return o.In * o.Out }

func (r Rows) holds() int { return r.Examples }
func (o Outer) holds() int {
	return min(len(o.X)/max(o.In, 1), len(o.Z)/max(o.Out, 1), len(o.SquaredX), len(o.SquaredZ))
}

// check returns an error unless the batch has dim coordinates, and values for that many examples.
func (b Batch) check(dim, examples int) error {
	size := 0
	for i, p := range b.Parts {
		if p.holds() < examples {
			return fmt.Errorf("clip: part %d of a batch has the gradients of %d examples, expected %d: %w", i, p.holds(), examples, ErrLength)
		}
		size += p.Size()
	}
	if size != dim {
		return fmt.Errorf("clip: a batch has %d coordinates, expected %d: %w", size, dim, ErrLength)
	}
	if len(b.SquaredNorms) < examples {
		return fmt.Errorf("clip: a batch has the norms of %d examples, expected %d: %w", len(b.SquaredNorms), examples, ErrLength)
	}
	return nil
}
