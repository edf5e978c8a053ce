package clip

import (
	"fmt"
	"math"

	"dpsgd/internal/kernel"
)

// adder rounds and adds the contributions of one part. Its memory is used again for the same part
// of the next batch, so that a step allocates nothing.
type adder interface {
	// open takes the part of a batch. It reports false for a part that is not like the one before.
	open(p Part) bool
	// reset makes room for the integers of examples [0, n), and forgets those of the group before.
	reset(n int)
	// round makes integers of the contribution of an example, scale times what is given, and
	// returns the sum of their squares. Scale 0 stands for a contribution of zero, of which nothing
	// is read.
	round(worker, example int, scale float32) (squares float64)
	// multiply does what round left to do for the examples [lo, hi) together.
	multiply(lo, hi int)
	// add adds the group's integers of the part's coordinates from, from+1, … to dst.
	add(dst []float64, from int)
	// place is the part's first coordinate and their number.
	place() (from, size int)
}

// open finds the adders of a batch.
func (s *Sum) open(b Batch) {
	from := 0
	for i, p := range b.Parts {
		if i == len(s.parts) {
			s.parts = append(s.parts, s.newAdder(p, from))
		} else if at, _ := s.parts[i].place(); at != from || !s.parts[i].open(p) {
			s.parts[i] = s.newAdder(p, from)
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
		return &outerAdder{outer: p, from: from, product: make([]float32, p.Size()), sum: s}
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

// rowsWorker is what one worker adds to.
type rowsWorker struct {
	integers []int32 // sum of its rows
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
		w.integers, w.emit = make([]int32, p.Width), w.add
	}
	return a
}

func (a *rowsAdder) open(p Part) bool {
	rows, ok := p.(Rows)
	same := ok && rows.Width == a.rows.Width
	if same {
		a.rows = rows
	}
	return same
}

func (a *rowsAdder) reset(int) {
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

// add rounds and adds a piece. Pieces never overlap, so that the squares are those of what was
// added.
func (w *rowsWorker) add(piece []float32) {
	piece = piece[:min(len(piece), len(w.integers)-w.at)]
	w.squares += kernel.AddRounded(w.integers[w.at:], piece, w.scale)
	w.at += len(piece)
}

func (a *rowsAdder) multiply(int, int) {}

func (a *rowsAdder) add(dst []float64, from int) {
	for _, w := range a.workers {
		kernel.AccumulateInt32(dst, w.integers[from:from+len(dst)])
	}
}

func (a *rowsAdder) place() (from, size int) { return a.from, a.rows.Width }

// outerAdder rounds the two factors of each outer product, and multiplies them for many examples
// together.
type outerAdder struct {
	outer   Outer
	from    int
	x, z    []float32 // the rounded factors of a batch
	largest []float64 // entry of each example's outer product: the product of the largest of x and z
	product []float32 // of the examples that were multiplied last
	earlier []float64 // products of the group before that one; empty if there are none
	sum     *Sum
}

func (a *outerAdder) open(p Part) bool {
	outer, ok := p.(Outer)
	same := ok && outer.In == a.outer.In && outer.Out == a.outer.Out
	if same {
		a.outer = outer
	}
	return same
}

func (a *outerAdder) reset(n int) {
	a.x, a.z, a.largest = grown(a.x, n*a.outer.In), grown(a.z, n*a.outer.Out), grown(a.largest, n)
	a.earlier = a.earlier[:0]
}

func (a *outerAdder) round(_, i int, scale float32) (squares float64) {
	in, out := a.outer.In, a.outer.Out
	x, z := a.x[i*in:(i+1)*in], a.z[i*out:(i+1)*out]
	if scale == 0 {
		a.largest[i] = 0
		clear(x)
		clear(z)
		return 0
	}
	f := outerFactors{x, z, a.outer.X[i*in : (i+1)*in], a.outer.Z[i*out : (i+1)*out], a.outer.SquaredX[i], a.outer.SquaredZ[i]}
	squares, a.largest[i] = f.round(scale)
	return squares
}

// outerFactors is the two factors of one outer product, rounded and as given, and what is said of
// their squared norms.
type outerFactors struct {
	x, z, givenX, givenZ []float32
	squareX, squareZ     float64
}

// round makes integers of the factors, whose outer product is near scale times that of the given
// ones, and returns its squared norm and its largest entry.
//
// Rounding costs both factors the same part of their norms when √b·(in/out)^¼ of the product's norm
// b goes to x, and √b·(out/in)^¼ to z. It moves the norm of z by about 0.3/‖z‖, so z is made
// shorter by 1/‖z‖, some parts in a thousand, and again in the rare case that the product came out
// longer than it was meant to be. All of that decides how much is lost; the bound rests on what is
// returned.
func (f outerFactors) round(scale float32) (squares, largest float64) {
	meant := f.squareX * f.squareZ * float64(scale) * float64(scale)
	if !(meant >= 0 && meant < math.MaxFloat64) {
		return math.NaN(), 0
	}
	var squaresX, squaresZ float64
	var largestX, largestZ float32
	if meant > 0 {
		perEntry := f.squareZ / f.squareX * (float64(len(f.x)) / float64(len(f.z))) // mean square of z by that of x
		squaresX, largestX = kernel.Round(f.x, f.givenX, float32(math.Sqrt(math.Sqrt(perEntry)*float64(scale))))
	}
	if squaresX == 0 {
		clear(f.x)
		clear(f.z)
		return 0, 0
	}
	lengthZ := math.Sqrt(meant / squaresX)
	for range 4 {
		lengthZ = max(lengthZ-1, lengthZ/2)
		squaresZ, largestZ = kernel.Round(f.z, f.givenZ, float32(lengthZ/math.Sqrt(f.squareZ)))
		if !(squaresX*squaresZ > meant) {
			break
		}
	}
	// The product is exact where it matters: below 2^53 all three are integers that a float64
	// holds, and above it is too long.
	return squaresX * squaresZ, float64(largestX) * float64(largestZ)
}

// exact is the largest integer to which float32 holds every one.
const exact = 1 << 24

// multiply adds up as many examples at a time as the largest entries of their outer products allow:
// no partial sum of the product's entries, in whatever order it is taken, is then above 2^24.
func (a *outerAdder) multiply(lo, hi int) {
	in, out := a.outer.In, a.outer.Out
	for first := lo; lo < hi; {
		if lo > first {
			a.keep()
		}
		end, largest := lo, 0.0
		for ; end < hi && (end == lo || largest+a.largest[end] <= exact); end++ {
			largest += a.largest[end]
		}
		a.sum.pool.Gemm(true, false, out, in, end-lo, 1, a.z[lo*out:], out, a.x[lo*in:], in, 0, a.product, in)
		lo = end
	}
}

// keep adds the product to the earlier ones.
func (a *outerAdder) keep() {
	if len(a.earlier) == 0 {
		a.earlier = grown(a.earlier, len(a.product))
		clear(a.earlier)
	}
	kernel.AccumulateFloat64(a.earlier, a.product)
}

func (a *outerAdder) add(dst []float64, from int) {
	kernel.AccumulateFloat64(dst, a.product[from:from+len(dst)])
	if len(a.earlier) > 0 {
		for i, v := range a.earlier[from : from+len(dst)] {
			dst[i] += v
		}
	}
}

func (a *outerAdder) place() (from, size int) { return a.from, a.outer.Size() }
