package tradeoff

import (
	"errors"
	"fmt"
	"math"

	"dpsgd/accountant"
)

// Point is one statement of the privacy profile: what was released is (Epsilon, Delta)-private.
type Point struct {
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

// Curve bounds a trade-off function from below: no test has smaller errors. The zero value says
// nothing, f = 0.
type Curve struct{ points []Point }

const (
	// curvePoints is how many points of the profile a curve rests on. Fewer make it lower, so
	// weaker, and never wrong: the supremum is then over fewer ε.
	curvePoints = 128
)

// leastDeltas are those at which the profile may end: what lies beyond moves f by less. An
// accountant may have no certified answer at the first ones.
var leastDeltas = []float64{1e-10, 1e-8, 1e-6}

// Of is the curve of everything in a ledger, by an accountant. ε at which it has no certified
// answer are left out. The error is that of its first answer where it has none at all.
func Of(a accountant.Accountant, l *accountant.Ledger) (Curve, error) {
	g, delta, err := end(a, l)
	if err != nil {
		return Curve{}, err
	}
	if math.IsInf(g.Epsilon, 1) {
		return Curve{}, nil
	}
	points := []Point{{g.Epsilon, delta}}
	for i := range curvePoints {
		epsilon := g.Epsilon * float64(i) / curvePoints
		at, err := a.Delta(l, epsilon)
		switch {
		case errors.Is(err, accountant.ErrUncertified):
			continue
		case err != nil:
			return Curve{}, err
		}
		points = append(points, Point{epsilon, at.Delta})
		if at.Delta == 0 {
			break // larger ε say less
		}
	}
	return New(points)
}

// end is the last point of a profile.
func end(a accountant.Accountant, l *accountant.Ledger) (g accountant.Guarantee, delta float64, err error) {
	for _, delta = range leastDeltas {
		if g, err = a.Guarantee(l, delta); !errors.Is(err, accountant.ErrUncertified) {
			break
		}
	}
	return g, delta, err
}

// New is the curve of some points of a profile. Its error matches [accountant.ErrInvalid].
func New(points []Point) (Curve, error) {
	for _, p := range points {
		if !(p.Epsilon >= 0 && p.Delta >= 0) {
			return Curve{}, fmt.Errorf("%w: a point of the profile is ε = %v, δ = %v, expected numbers of at least 0", accountant.ErrInvalid, p.Epsilon, p.Delta)
		}
	}
	return Curve{points}, nil
}

// TypeII is the least chance of a test to miss the record, if its chance of a false alarm is at
// most alpha, in [0, 1].
func (c Curve) TypeII(alpha float64) float64 {
	beta := 0.0
	for _, p := range c.points {
		rest := 1 - p.Delta - alpha
		beta = max(beta, math.Exp(-p.Epsilon)*rest, 1-p.Delta-times(math.Exp(p.Epsilon), alpha))
	}
	return beta
}

// times is a product in which 0 times infinity is 0.
func times(x, y float64) float64 {
	if y == 0 {
		return 0
	}
	return x * y
}

// BestGuess is the largest chance to be right about whether the record was there, for somebody to
// whom both are equally likely: half of 1 + δ(0), δ(0) being the distance in total variation.
func (c Curve) BestGuess() float64 {
	// The least α + β of a test lies where the slope of f is -1, the line of ε = 0.
	least := 0.0
	for _, p := range c.points {
		least = max(least, (1-p.Delta)*2/(1+math.Exp(p.Epsilon)))
	}
	return 1 - least/2
}
