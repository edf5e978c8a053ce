package local

import (
	"fmt"
	"math"
	"math/big"

	"dpsgd/internal/noise"
	"dpsgd/internal/random"
)

// Planar is planar Laplace noise on the points of a square lattice (geo-indistinguishability:
// Andrés, Bordenabe, Chatzikokolakis, Palamidessi 2013, arXiv:1212.1984v3, Definition 3.1): a point
// v is reported as r with a probability in proportion to exp(-ε·|r-v|), with the Euclidean distance
// in steps of the lattice. The constant is the same for all points, so for all v, w and every r
//
//	P[r | v] ≤ e^(ε·|v-w|) · P[r | w].
//
// The nearer two places are, the less a report tells them apart: ε is per step. So Planar is no
// [Protocol], whose ε is for any two values. What is done to a report afterwards, such as moving it
// into a country, costs nothing (section 5 of the paper, which rounds reports of real numbers; here
// no real number is drawn, so no ε is added for rounding). The caller rounds places to the lattice,
// and its points are protected.
type Planar struct{ scale noise.Ratio } // 1/ε, in steps

// Point is a point of the lattice. Reports reach beyond any region.
type Point struct{ X, Y int64 }

// maxPlanar bounds coordinates, in steps: noise that goes beyond is cut off there.
const maxPlanar = 1 << 53

// NewPlanar returns noise that costs epsilon for a step of the lattice, at most: 1/ε is rounded up.
func NewPlanar(epsilon float64) (*Planar, error) {
	if !(epsilon > 0 && epsilon <= maxEpsilon) {
		return nil, fmt.Errorf("%w: found an epsilon of %g a step, expected more than 0 and at most %d", ErrInvalid, epsilon, maxEpsilon)
	}
	scale, err := noise.RatioUp(1/epsilon, 1<<30)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return &Planar{scale}, nil
}

// Epsilon returns the ε of a step, after the rounding of 1/ε.
func (p *Planar) Epsilon() float64 { return 1 / p.scale.Float64() }

// LogLikelihood returns the logarithm of P[r | at] up to a constant that is equal for all points.
func (p *Planar) LogLikelihood(at, r Point) float64 {
	return -p.Epsilon() * math.Hypot(float64(r.X-at.X), float64(r.Y-at.Y))
}

// Randomize returns a report of a point whose coordinates are at most 2^53 in size. What [Protocol]
// asks of a source holds for src.
//
// Noise (x, y) is drawn by rejection: two discrete Laplace integers propose it in proportion to
// exp(-0.7ε(|x|+|y|)), and a coin of chance exp(-ε(√(x²+y²) - 0.7(|x|+|y|))) accepts, three times
// in four. As 0.7 ≤ 1/√2, that chance is at most 1.
func (p *Planar) Randomize(at Point, src *random.Source) Point {
	wide := noise.Ratio{Num: 10 * p.scale.Num, Den: 7 * p.scale.Den}
	for {
		x, y := noise.Laplace(wide, src), noise.Laplace(wide, src)
		if p.exponent(x, y).coin(src) {
			return Point{moved(at.X, x), moved(at.Y, y)}
		}
	}
}

func moved(at, by int64) int64 {
	by = min(max(by, -2*maxPlanar), 2*maxPlanar)
	return min(max(at+by, -maxPlanar), maxPlanar)
}

// exponent is the number (√square - sum·7/10)/scale, which is at least 0 and irrational as a rule.
type exponent struct {
	square, sum *big.Int
	scale       noise.Ratio
	parts       uint64 // so many parts of it are at most 1 each
}

func (p *Planar) exponent(x, y int64) exponent {
	a, b := new(big.Int).Abs(big.NewInt(x)), new(big.Int).Abs(big.NewInt(y))
	e := exponent{sum: new(big.Int).Add(a, b), scale: p.scale}
	e.square = new(big.Int).Add(a.Mul(a, a), b.Mul(b, b))
	// The sum is at least √square, so the exponent is below 3/10·(⌊√square⌋ + 1)·Den/Num.
	most := new(big.Int).Sqrt(e.square)
	most.Mul(most.Add(most, big.NewInt(1)), new(big.Int).SetUint64(3*p.scale.Den))
	most.Add(most.Quo(most, new(big.Int).SetUint64(10*p.scale.Num)), big.NewInt(1))
	e.parts = most.Uint64() // which fits, but with a chance of less than e^-2^20
	return e
}

// coin returns true with probability e^-exponent: when the coins of all its equal parts are true.
func (e exponent) coin(src *random.Source) bool {
	for range e.parts {
		if !e.part(src) {
			return false
		}
	}
	return true
}

// part returns true with probability e^-γ, where γ is one part of the exponent, as noise.ExpCoin
// draws it (Canonne, Kamath, Steinke 2020, arXiv:2004.00010v4, Algorithm 1).
func (e exponent) part(src *random.Source) bool {
	for k := uint64(1); ; k++ {
		if !e.below(src) || k > 1 && !noise.Coin(1, k, src) {
			return k%2 == 1
		}
	}
}

// below returns true with probability γ: it draws a uniform U, word by word, until U < γ or not is
// known. U < γ is U·parts·Num/Den + sum·7/10 < √square, which is decided by squares of integers.
func (e exponent) below(src *random.Source) bool {
	left := new(big.Int).SetUint64(10 * e.scale.Num)
	left.Mul(left, new(big.Int).SetUint64(e.parts))
	den := new(big.Int).SetUint64(10 * e.scale.Den)
	moved := new(big.Int).Mul(e.sum, new(big.Int).SetUint64(7*e.scale.Den))
	u := new(big.Int)
	isBelow := func(u *big.Int, bits uint) bool { // u/2^bits < γ
		x := new(big.Int).Mul(u, left)
		x.Add(x, new(big.Int).Lsh(moved, bits))
		root := new(big.Int).Mul(new(big.Int).Lsh(den, bits), new(big.Int).Lsh(den, bits))
		return x.Mul(x, x).Cmp(root.Mul(root, e.square)) < 0
	}
	for bits := uint(64); ; bits += 64 {
		u.Add(u.Lsh(u, 64), new(big.Int).SetUint64(src.Uint64()))
		switch {
		case !isBelow(u, bits):
			return false // all that begins so is at least γ
		case isBelow(new(big.Int).Add(u, big.NewInt(1)), bits):
			return true
		}
	}
}
