package clip

import (
	"cmp"
	"math"
	"slices"

	"dpsgd/internal/kernel"
)

// outerAdder rounds the two factors of each outer product, and multiplies them for many examples
// together.
type outerAdder struct {
	outer   Outer
	from    int
	x, z    []int16   // the rounded factors of a batch
	rounded []rounded // what round returned for each example of the batch
	order   []int     // the examples that add something, sorted by shift
	pairsX  []int32   // the rounded factors of the run, examples two by two
	pairsZ  []int32
	product []int32 // the sum of the outer products of the run
	shift   int     // of every example of the run
	waiting bool    // whether product is still to be added to the sum
	sum     *Sum

	run                 []int                    // the examples that are multiplied together
	pairRange, addRange func(worker, lo, hi int) // a.pair and a.addStrips, made once
}

// rounded describes the outer product of two integer vectors, which is to be multiplied by 2^shift.
type rounded struct {
	squares float64 // squared norm of the product times 2^shift
	largest int     // the largest entry of the product without the shift, |x|∞·|z|∞
	shift   int
}

func newOuterAdder(s *Sum, p Outer, from int) *outerAdder {
	a := &outerAdder{outer: p, from: from, product: make([]int32, p.Size()), sum: s}
	a.pairRange, a.addRange = a.pair, a.addStrips
	return a
}

func (a *outerAdder) open(p Part, examples int) bool {
	outer, ok := p.(Outer)
	same := ok && outer.In == a.outer.In && outer.Out == a.outer.Out
	if same {
		a.outer = outer
		a.x, a.z = grown(a.x, examples*outer.In), grown(a.z, examples*outer.Out)
		a.rounded = grown(a.rounded, examples)
	}
	return same
}

func (a *outerAdder) forget() { a.waiting = false }

func (a *outerAdder) round(_, i int, scale float32) (squares float64) {
	in, out := a.outer.In, a.outer.Out
	a.rounded[i] = rounded{}
	if scale != 0 {
		f := outerFactors{a.x[i*in : (i+1)*in], a.z[i*out : (i+1)*out], a.outer.X[i*in : (i+1)*in], a.outer.Z[i*out : (i+1)*out], a.outer.SquaredX[i], a.outer.SquaredZ[i]}
		a.rounded[i] = f.round(scale, a.sum.lattice)
	}
	return a.rounded[i].squares
}

// outerFactors holds the two factors of one outer product, rounded and as given, and the squared
// norms that the batch states for them.
type outerFactors struct {
	x, z             []int16
	givenX, givenZ   []float32
	squareX, squareZ float64
}

// entry is about the root of the mean square of the integers in the factors of a contribution as
// long as the bound: rounding costs it 0.29·√2/entry, 0.04 %.
const entry = 1 << 10

// shiftStep is the difference between successive shifts of short contributions. Each shift takes a
// matrix product of its own; a contribution at the lower end of a shift has factors half as large.
const shiftStep = 2

// shift returns the binary digits by which a product, length·l.Spacing long, is coarser than l: as
// many as leave entries of entry² at the length of the bound, shiftStep fewer for each factor of
// 2^shiftStep that it is shorter. It is a function of this contribution alone.
func (f outerFactors) shift(length float64, l Lattice) int {
	bound := l.Bound / l.Spacing
	wanted := entry * entry * math.Sqrt(float64(len(f.x))*float64(len(f.z)))
	shorter := max(0, math.Ilogb(bound/length)/shiftStep)
	return max(0, math.Ilogb(bound/wanted)-shiftStep*shorter)
}

// round writes integers to x and z: z xᵀ times 2^shift is close to scale times the given product.
//
// Rounding costs both factors the same part of their norms when √b·(in/out)^¼ of the product's norm
// b goes to x, and √b·(out/in)^¼ to z. z makes up for what rounding has done to the norm of x.
// Where the product still comes out more than 2^-13 of its squared norm too long, half of the room
// that policies leave, z is made shorter by 1/‖z‖; where an entry is too large for 16 bits, the
// shift grows. All of that decides how much is lost; the bound rests on the squares returned.
func (f outerFactors) round(scale float32, l Lattice) rounded {
	meant := f.squareX * f.squareZ * float64(scale) * float64(scale)
	if meant == 0 {
		return rounded{}
	} else if !(meant > 0 && meant < math.MaxFloat64) {
		return rounded{squares: math.NaN()}
	}
	perEntry := f.squareZ / f.squareX * (float64(len(f.x)) / float64(len(f.z))) // mean square of z over the mean square of x
	for shift := f.shift(math.Sqrt(meant), l); shift < 63; shift += shiftStep {
		unit := float64(uint64(1) << shift)
		squaresX, largestX := kernel.Round(f.x, f.givenX, float32(math.Sqrt(math.Sqrt(perEntry)*float64(scale)/unit)))
		if squaresX == 0 {
			break
		}
		lengthZ := math.Sqrt(meant/squaresX) / unit
		var squaresZ, squares float64
		var largestZ float32
		for range 4 {
			squaresZ, largestZ = kernel.Round(f.z, f.givenZ, float32(lengthZ/math.Sqrt(f.squareZ)))
			if squares = squaresX * squaresZ * unit * unit; !(squares > meant*(1+0x1p-13)) {
				break
			}
			lengthZ = max(lengthZ-1, lengthZ/2)
		}
		if squares-squares != 0 {
			return rounded{squares: math.NaN()}
		} else if max(largestX, largestZ) <= kernel.MostOfPair {
			return rounded{squares, int(largestX) * int(largestZ), shift}
		}
	}
	return rounded{}
}

// multiply adds up the outer products of all examples in runs: of examples with one shift, as many
// as keep every partial sum, in any order, within 32 bits (proofs/partial.v: partial_sums_fit).
func (a *outerAdder) multiply(examples int) {
	a.order = a.order[:0]
	for i, r := range a.rounded[:examples] {
		if r.largest > 0 {
			a.order = append(a.order, i)
		}
	}
	slices.SortStableFunc(a.order, func(i, j int) int { return cmp.Compare(a.rounded[i].shift, a.rounded[j].shift) })
	for rest := a.order; len(rest) > 0; rest = rest[len(a.run):] {
		n, largest := 0, 0
		for ; n < len(rest) && a.rounded[rest[n]].shift == a.rounded[rest[0]].shift; n++ {
			if largest += a.rounded[rest[n]].largest; largest > math.MaxInt32 {
				break
			}
		}
		a.run = rest[:n]
		a.multiplyRun()
	}
}

// multiplyRun adds the product that waits to the sum, and computes the product of the run, which
// waits in its place.
func (a *outerAdder) multiplyRun() {
	if a.waiting {
		a.sum.begin()
		a.sum.pool.Run(len(a.product), strip, a.addRange)
	}
	in, out, pairs := a.outer.In, a.outer.Out, (len(a.run)+1)/2
	a.pairsX, a.pairsZ = grown(a.pairsX, pairs*in), grown(a.pairsZ, pairs*out)
	a.sum.pool.Run(pairs, 1+strip/(in+out), a.pairRange)
	a.sum.pool.GemmPairs(out, in, pairs, a.pairsZ, a.pairsX, a.product)
	a.shift, a.waiting, a.sum.waiting = a.rounded[a.run[0]].shift, true, true
}

// pair writes pairs [lo, hi) of the run's examples; the last may have one example alone.
func (a *outerAdder) pair(_, lo, hi int) {
	in, out := a.outer.In, a.outer.Out
	for i := lo; i < hi; i++ {
		first, otherX, otherZ := a.run[2*i], []int16(nil), []int16(nil)
		if 2*i+1 < len(a.run) {
			second := a.run[2*i+1]
			otherX, otherZ = a.x[second*in:], a.z[second*out:]
		}
		kernel.Pair(a.pairsX[i*in:(i+1)*in], a.x[first*in:], otherX)
		kernel.Pair(a.pairsZ[i*out:(i+1)*out], a.z[first*out:], otherZ)
	}
}

func (a *outerAdder) addStrips(_, lo, hi int) { a.add(a.sum.values[a.from+lo:a.from+hi], lo, false) }

func (a *outerAdder) add(dst []int64, from int, first bool) {
	switch {
	case a.waiting:
		kernel.AddShifted(dst, a.product[from:from+len(dst)], a.shift, first)
	case first:
		clear(dst)
	}
}
