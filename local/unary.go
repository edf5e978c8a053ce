package local

import (
	"fmt"
	"math"
	"slices"

	"dpsgd/internal/random"
)

// Unary reports one randomized bit for each value: 1 for the record's own value, 0 for the others.
type Unary struct {
	claim
	pure
	own, other chance // that the bit of the own value, or of another value, is reported as 1
}

var _ Protocol = (*Unary)(nil)

// NewUnary returns optimised unary encoding (Wang, Blocki, Li, Jha 2017, section 4.3): the 1 is
// kept with probability 1/2, and a 0 becomes 1 with probability 1/(e^ε+1), rounded up. Two values
// differ in two bits, and e^ε = (1/2)(1-q) / (q·1/2).
func NewUnary(values int, epsilon float64) (*Unary, error) {
	c, err := newClaim("unary", values, epsilon)
	if err != nil {
		return nil, err
	}
	return newUnary(c, certain/2, atLeast(1/(math.Exp(epsilon)+1))), nil
}

// NewSymmetricUnary returns the protocol that flips bits with probability 1/(e^(ε/2)+1), rounded
// up: basic one-time RAPPOR (Erlingsson, Pihur, Korolova 2014, arXiv:1407.6981, section 2.1).
func NewSymmetricUnary(values int, epsilon float64) (*Unary, error) {
	c, err := newClaim("symmetric_unary", values, epsilon)
	if err != nil {
		return nil, err
	}
	flip := atLeast(1 / (math.Exp(epsilon/2) + 1))
	return newUnary(c, certain-flip, flip), nil
}

// newUnary returns the protocol that reports a 1 with probability own for the own value, or other.
func newUnary(c claim, own, other chance) *Unary {
	return &Unary{c, pure{own.value(), other.value()}, own, other}
}

func (p *Unary) String() string {
	return fmt.Sprintf("%d bits, of which that of the value is 1 with a chance of %.4g and every other one with %.4g", p.values, p.truth, p.lie)
}

// Randomize implements [Protocol]. A report has a bit for each value: that of value 0 is the lowest
// bit of the first byte.
func (p *Unary) Randomize(value int, src *random.Source) Report {
	r := make(Report, (p.values+7)/8)
	for v := range p.values {
		if v == value && p.own.draw(src) || v != value && p.other.draw(src) {
			r.set(v)
		}
	}
	return r
}

func (r Report) set(bit int)      { r[bit/8] |= 1 << (bit % 8) }
func (r Report) has(bit int) bool { return r[bit/8]>>(bit%8)&1 == 1 }

// likelihood returns the probability of the bits of r from bit from on, where bit from+b is 1 with
// probability ones[b].
func (r Report) likelihood(from int, ones []float64) float64 {
	product := 1.0
	for b, one := range ones {
		if r.has(from + b) {
			product *= one
		} else {
			product *= 1 - one
		}
	}
	return product
}

func (p *Unary) Likelihood(value int, r Report) float64 {
	ones := slices.Repeat([]float64{p.lie}, p.values)
	ones[value] = p.truth
	return r.likelihood(0, ones)
}

func (p *Unary) Add(scores []float64, r Report) { p.add(scores, r.has) }
