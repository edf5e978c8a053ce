package clip

import (
	"fmt"

	"dpsgd/internal/kernel"
)

// adder rounds and adds the contributions of one [Part]. It keeps its memory for the same part of
// the next batch, so that a step allocates nothing.
type adder interface {
	// open prepares to round examples 0 to examples-1 of p, a part of the next batch. It reports
	// false, and takes nothing, if p has another type or size than the part before.
	open(p Part, examples int) bool
	// forget drops the integers that wait to be added.
	forget()
	// round rounds scale times the example's gradient to integers, which then wait to be added, and
	// returns the sum of their squares. Scale 0 stands for a contribution of zero: the gradient is
	// not read.
	round(worker, example int, scale float32) (squares float64)
	// multiply multiplies the rounded factors of outer products, for all examples together.
	multiply(examples int)
	// add adds the integers that wait, of the part's coordinates from, from+1, …, to dst, or puts
	// them there if first is set.
	add(dst []int64, from int, first bool)
}

// placed is the adder of a part, with the part's first coordinate and the number of its
// coordinates.
type placed struct {
	adder
	first, size int
}

// open prepares one adder for each part of a batch, with the memory of the batch before if it fits.
func (s *Sum) open(b Batch, examples int) {
	from := 0
	for i, p := range b.Parts {
		if i == len(s.parts) {
			s.parts = append(s.parts, placed{})
		}
		if a := s.parts[i]; a.adder == nil || a.first != from || !a.open(p, examples) {
			s.parts[i] = placed{s.newAdder(p, from), from, p.Size()}
			s.parts[i].open(p, examples)
		}
		from += p.Size()
	}
	s.parts = s.parts[:len(b.Parts)]
}

func (s *Sum) newAdder(p Part, from int) adder {
	switch p := p.(type) {
	case Rows:
		return newRowsAdder(p, s.pool.Threads())
	case Outer:
		return newOuterAdder(s, p, from)
	}
	panic(fmt.Sprintf("clip: a part is a %T", p))
}

// rowsAdder rounds [Rows] and adds them to one sum of float64 for each worker.
type rowsAdder struct {
	rows    Rows
	workers []rowsWorker
}

// rowsWorker holds one worker's sum of rounded rows, and its example in progress.
type rowsWorker struct {
	integers []float64 // sum of its rows
	emit     func(piece []float32)

	// The example in progress.
	at      int // where its next piece goes
	scale   float32
	squares float64
}

func newRowsAdder(p Rows, threads int) *rowsAdder {
	a := &rowsAdder{rows: p, workers: make([]rowsWorker, threads)}
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
	w.at = len(w.integers) // pieces that come later are ignored
	return w.squares
}

// add rounds a piece and adds it to the sum. Pieces never overlap, so squares is the squared norm.
func (w *rowsWorker) add(piece []float32) {
	piece = piece[:min(len(piece), len(w.integers)-w.at)]
	w.squares += kernel.AddRounded(w.integers[w.at:], piece, w.scale)
	w.at += len(piece)
}

func (a *rowsAdder) multiply(int) {}

func (a *rowsAdder) add(dst []int64, from int, first bool) {
	if first {
		clear(dst)
	}
	for _, w := range a.workers {
		for i, v := range w.integers[from : from+len(dst)] {
			dst[i] += int64(v)
		}
	}
}
