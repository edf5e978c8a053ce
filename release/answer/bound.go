package answer

import (
	"fmt"
	"math"
)

// maxContribution bounds each integer that one record contributes, so that sums over 2^31 records
// fit into an int64.
const maxContribution = 1<<31 - 1

// Bound says which contributions of a record to sums are counted. A contribution is a vector of
// integers, one for each sum; a bound limits either its norm ([L1], [L2]) or each of the integers
// ([Within]). A record whose contribution is beyond the bound adds nothing to any of the sums.
type Bound struct {
	kind      norm
	low, high int64 // the least and the greatest value of a coordinate
	most      int64 // the greatest Σ|x| with L1, the greatest Σx² with L2
}

type norm int

const (
	coordinates norm = iota
	l1
	l2
)

// L1 returns the bound Σ|x| ≤ most.
func L1(most int64) Bound { return Bound{l1, -most, most, most} }

// L2 returns the bound Σx² ≤ most².
func L2(most int64) Bound { return Bound{l2, -most, most, most * most} }

// Within returns the bound low ≤ x ≤ high of every coordinate.
func Within(low, high int64) Bound { return Bound{kind: coordinates, low: low, high: high} }

// validate refuses a bound that no contribution keeps, or one so large that sums could overflow.
func (b Bound) validate() error {
	switch {
	case b.kind != coordinates && !(b.high >= 1 && b.high <= maxContribution):
		return fmt.Errorf("answer: found a bound of %d on a contribution, expected 1 to %d", b.high, int64(maxContribution))
	case b.kind == coordinates && !(b.low >= -maxContribution && b.low <= b.high && b.high <= maxContribution):
		return fmt.Errorf("answer: found contributions from %d to %d, expected low to high within ±%d", b.low, b.high, int64(maxContribution))
	}
	return nil
}

// holds reports whether a contribution is within the bound.
func (b Bound) holds(contribution []int64) bool {
	sum := int64(0)
	for _, x := range contribution {
		if x < b.low || x > b.high {
			return false
		}
		switch b.kind {
		case l1:
			sum += max(x, -x)
		case l2:
			sum += x * x
		}
		if sum > b.most { // asked at every term: neither sum overflows
			return false
		}
	}
	return true
}

// reach says how far one record can move sums, by being there or not.
type reach struct {
	l1    int64   // the largest L1 norm of a contribution
	l2    float64 // the largest L2 norm of a contribution, rounded up
	width int64   // the largest difference between what a record adds to one sum and to another
	alone bool    // whether every record contributes to one sum alone
}

// reach returns how far a record within the bound can move n sums. It refuses n if that overflows.
func (b Bound) reach(n int64) (reach, error) {
	most := max(b.high, -b.low, 1) // of one coordinate, and with L1 and L2 of the norm
	root := math.Nextafter(math.Sqrt(float64(n)), math.Inf(1))
	r := reach{l1: most, l2: float64(most), width: most, alone: n == 1}
	switch {
	case n == 1:
	case b.kind == l2: // Cauchy and Schwarz
		r.l1 = int64(math.Ceil(float64(most) * root))
		r.width = int64(math.Ceil(float64(most) * math.Nextafter(math.Sqrt2, 2)))
	case b.kind == coordinates:
		if n > math.MaxInt64/most {
			return reach{}, fmt.Errorf("answer: found %d coordinates of up to %d, whose sum overflows", n, most)
		}
		r.l1, r.l2, r.width = n*most, math.Nextafter(float64(most)*root, math.Inf(1)), max(b.high-b.low, 1)
	}
	return r, nil
}
