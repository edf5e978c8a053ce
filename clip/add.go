package clip

import (
	"fmt"

	"dpsgd/internal/kernel"
)

// adder rounds and adds the contributions of one part. Its memory is used again for the same part
// of the next batch, so that a step allocates nothing.
type adder interface {
	// open takes the part of a batch, with its first so many examples. It reports false for a part
	// that is not like the one before.
	open(p Part, examples int) bool
	// forget forgets what was rounded or multiplied and waits to be added.
	forget()
	// round makes integers of the contribution of an example, scale times what is given, and
	// returns the sum of their squares. Scale 0 stands for a contribution of zero, of which nothing
	// is read.
	round(worker, example int, scale float32) (squares float64)
	// multiply does what round left to do for all examples together.
	multiply(examples int)
	// add adds the integers that wait, of the part's coordinates from, from+1, …, to dst.
	add(dst []int64, from int)
	// first is the part's first coordinate, and size their number.
	first() int
	size() int
}

// open finds the adders of a batch.
func (s *Sum) open(b Batch, examples int) {
	from := 0
	for i, p := range b.Parts {
		if i == len(s.parts) {
			s.parts = append(s.parts, nil)
		}
		if a := s.parts[i]; a == nil || a.first() != from || !a.open(p, examples) {
			s.parts[i] = s.newAdder(p, from)
			s.parts[i].open(p, examples)
		}
		from += p.Size()
	}
	s.parts = s.parts[:len(b.Parts)]
}

func (s *Sum) newAdder(p Part, from int) adder {
	switch p := p.(type) {
	case Rows:
		return newRowsAdder(s, p, from)
	case Outer:
		return newOuterAdder(s, p, from)
	}
	panic(fmt.Sprintf("clip: a part is a %T", p))
}

// rowsAdder adds rows to one sum for each worker.
type rowsAdder struct {
	rows    Rows
	from    int
	workers []rowsWorker
	sum     *Sum
}

// rowsWorker holds one worker's part of the sum.
type rowsWorker struct {
	integers []float64 // sum of its rows
	emit     func(piece []float32)

	// The example in progress.
	at      int // where its next piece goes
	scale   float32
	squares float64
}

func newRowsAdder(s *Sum, p Rows, from int) *rowsAdder {
	a := &rowsAdder{rows: p, from: from, workers: make([]rowsWorker, s.pool.Threads()), sum: s}
	for i := range a.workers {
		w := &a.workers[i]
		w.integers, w.emit = make([]float64, p.Width), w.add
	}
	return a
}

func (a *rowsAdder) open(p Part, _ int) bool {
	rows, ok := p.(Rows)
	if ok = ok && rows.Width == a.rows.Width; ok {
		a.rows = rows
	}
	return ok
}

func (a *rowsAdder) forget() {
	for _, w := range a.workers {
		clear(w.integers)
	}
}

func (a *rowsAdder) round(worker, example int, scale float32) float64 {
	if scale == 0 {
		return 0
	}
	w := &a.workers[worker]
	w.at, w.scale, w.squares = 0, scale, 0
	a.rows.Form(worker, example, w.emit)
	w.at = len(w.integers) // what comes later is nobody's
	return w.squares
}

// add rounds and adds a piece. Pieces never overlap, so the squares add up to the squared norm.
func (w *rowsWorker) add(piece []float32) {
	piece = piece[:min(len(piece), len(w.integers)-w.at)]
	w.squares += kernel.AddRounded(w.integers[w.at:], piece, w.scale)
	w.at += len(piece)
}

func (a *rowsAdder) multiply(int) {}

func (a *rowsAdder) add(dst []int64, from int) {
	for _, w := range a.workers {
		for i, v := range w.integers[from : from+len(dst)] {
			dst[i] += int64(v)
		}
	}
}

func (a *rowsAdder) first() int { return a.from }
func (a *rowsAdder) size() int  { return a.rows.Width }
