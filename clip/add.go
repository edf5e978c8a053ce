package clip

import (
	"fmt"
	"math"

	"dpsgd/internal/kernel"
)

// adder rounds and adds the contributions of one part. Its memory is used again for the same part of the next batch, so
// that a step allocates nothing.
type adder interface {
	// open takes the part of a batch. It reports false for a part that is not like the one before.
	open(p Part) bool
	// round makes integers of the group's contributions and adds their squares to s.squares. A contribution of factor 0 is
	// not read, and is zero.
	round(s *Sum)
	// add adds the integers that round made last to the sum.
	add(s *Sum)
}

// open finds the adders of a batch.
func (s *Sum) open(b Batch) {
	from := 0
	for i, p := range b.Parts {
		if i == len(s.parts) {
			s.parts = append(s.parts, s.newAdder(p, from))
		} else if !s.parts[i].open(p) {
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
		return newOuterAdder(s, p, from)
	}
	panic(fmt.Sprintf("clip: a part is a %T", p))
}

// perSpacing is what example i's gradient is multiplied by: its factor over the spacing, a power of two.
func (s *Sum) perSpacing(i int) float32 { return s.factors[i] * float32(1/s.lattice.Spacing) }

// strip is how many coordinates of a sum stay in the first-level cache while examples pass.
const strip = 2048

// accumulate adds integers [lo, hi) of a part to the sum of its coordinates.
func accumulate[T int32 | float32](values []float64, integers []T, lo, hi int, first bool, add func([]float64, []T)) {
	for ; lo < hi; lo += strip {
		end := min(lo+strip, hi)
		if first {
			clear(values[lo:end]) // here, where the cache needs them anyway
		}
		add(values[lo:end], integers[lo:end])
	}
}

// rowsAdder adds rows to one sum for each worker.
type rowsAdder struct {
	rows    Rows
	from    int
	workers []rowsWorker

	sum              *Sum
	formRange, flush func(worker, lo, hi int)
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
	a.formRange, a.flush = a.form, a.accumulate
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

func (a *rowsAdder) round(s *Sum) {
	for _, w := range a.workers {
		clear(w.integers)
	}
	grain := 1 + (1<<13)/a.rows.Width
	s.pool.Run(s.group.hi-s.group.lo, grain, a.formRange)
}

func (a *rowsAdder) form(worker, lo, hi int) {
	s, w := a.sum, &a.workers[worker]
	for i := s.group.lo + lo; i < s.group.lo+hi; i++ {
		if s.factors[i] != 0 {
			w.at, w.scale, w.squares = 0, s.perSpacing(i), 0
			a.rows.Form(worker, i, w.emit)
			s.squares[i] += w.squares
		}
	}
}

// add rounds and adds a piece. Pieces never overlap, so that the squares are those of what was added.
func (w *rowsWorker) add(piece []float32) {
	piece = piece[:min(len(piece), len(w.integers)-w.at)]
	w.squares += kernel.AddRounded(w.integers[w.at:], piece, w.scale)
	w.at += len(piece)
}

func (a *rowsAdder) add(s *Sum) { s.pool.Run(a.rows.Width, strip, a.flush) }

func (a *rowsAdder) accumulate(_, lo, hi int) {
	for i, w := range a.workers {
		accumulate(a.sum.values[a.from:], w.integers, lo, hi, !a.sum.begun && i == 0, kernel.AccumulateInt32)
	}
}

// outerAdder rounds the two factors of each outer product.
type outerAdder struct {
	outer   Outer
	from    int
	x, z    []float32 // the rounded factors of a batch
	largest []float64 // entry of each example's outer product: the product of the largest of x and z
	product []float32 // of a run of examples

	sum               *Sum
	first             bool // whether the product is the first that the sum gets
	roundRange, flush func(worker, lo, hi int)
}

func newOuterAdder(s *Sum, p Outer, from int) *outerAdder {
	a := &outerAdder{outer: p, from: from, product: make([]float32, p.Size()), sum: s}
	a.roundRange, a.flush = a.roundExamples, a.accumulate
	return a
}

func (a *outerAdder) open(p Part) bool {
	outer, ok := p.(Outer)
	same := ok && outer.In == a.outer.In && outer.Out == a.outer.Out
	if same {
		a.outer = outer
	}
	return same
}

func (a *outerAdder) round(s *Sum) {
	n := s.group.hi
	a.x, a.z, a.largest = grown(a.x, n*a.outer.In), grown(a.z, n*a.outer.Out), grown(a.largest, n)
	grain := 1 + (1<<13)/(a.outer.In+a.outer.Out)
	s.pool.Run(s.group.hi-s.group.lo, grain, a.roundRange)
}

func (a *outerAdder) roundExamples(_, lo, hi int) {
	s, in, out := a.sum, a.outer.In, a.outer.Out
	for i := s.group.lo + lo; i < s.group.lo+hi; i++ {
		x, z := a.x[i*in:(i+1)*in], a.z[i*out:(i+1)*out]
		if s.factors[i] == 0 {
			a.largest[i] = 0
			clear(x)
			clear(z)
			continue
		}
		f := outerFactors{x, z, a.outer.X[i*in : (i+1)*in], a.outer.Z[i*out : (i+1)*out]}
		squares, largest := f.round(s.perSpacing(i))
		s.squares[i] += squares
		a.largest[i] = largest
	}
}

// outerFactors is the two factors of one outer product, rounded and as given.
type outerFactors struct{ x, z, givenX, givenZ []float32 }

// round makes integers of the factors, whose outer product is near scale times that of the given ones, and returns its
// squared norm and its largest entry.
//
// Rounding costs both factors the same part of their norms when √b·(in/out)^¼ of the product's norm b goes to x, and
// √b·(out/in)^¼ to z. It may lengthen them, by about 1 in 3,000 for b = 2^20, so z is rounded again, a little shorter, until the
// product is no longer than it was meant to be. All of that decides how much is lost; the bound rests on what is returned.
func (f outerFactors) round(scale float32) (squares, largest float64) {
	squareX, squareZ := kernel.SumSquares(f.givenX), kernel.SumSquares(f.givenZ)
	meant := squareX * squareZ * float64(scale) * float64(scale)
	if !(meant < math.MaxFloat64) {
		return math.NaN(), 0
	}
	perEntryX, perEntryZ := math.Sqrt(squareX/float64(len(f.x))), math.Sqrt(squareZ/float64(len(f.z)))
	var squaresX float64
	var largestX float32
	if meant > 0 {
		squaresX, largestX = kernel.Round(f.x, f.givenX, float32(math.Sqrt(perEntryZ/perEntryX*float64(scale))))
	}
	if squaresX == 0 {
		clear(f.x)
		clear(f.z)
		return 0, 0
	}
	scaleZ := math.Sqrt(meant / squareZ / squaresX)
	var squaresZ float64
	var largestZ float32
	for range 4 {
		squaresZ, largestZ = kernel.Round(f.z, f.givenZ, float32(scaleZ))
		excess := squaresX * squaresZ / meant
		if !(excess > 1) {
			break
		}
		scaleZ *= (1 - 1/math.Sqrt(squaresZ)) / math.Sqrt(excess)
	}
	// The product is exact where it matters: below 2^53 all three are integers that a float64 holds, and above it is too long.
	return squaresX * squaresZ, float64(largestX) * float64(largestZ)
}

// exact is the largest integer to which float32 holds every one.
const exact = 1 << 24

// add multiplies as many examples at a time as the largest entries of their outer products allow: no partial sum of the
// product's entries, in whatever order they are taken, is then above 2^24.
func (a *outerAdder) add(s *Sum) {
	in, out := a.outer.In, a.outer.Out
	a.first = !s.begun
	for lo := s.group.lo; lo < s.group.hi; {
		hi, largest := lo, 0.0
		for ; hi < s.group.hi && largest+a.largest[hi] <= exact; hi++ {
			largest += a.largest[hi]
		}
		s.pool.Gemm(true, false, out, in, hi-lo, 1, a.z[lo*out:], out, a.x[lo*in:], in, 0, a.product, in)
		s.pool.Run(len(a.product), strip, a.flush)
		a.first, lo = false, hi
	}
}

func (a *outerAdder) accumulate(_, lo, hi int) {
	accumulate(a.sum.values[a.from:], a.product, lo, hi, a.first, kernel.AccumulateFloat64)
}
