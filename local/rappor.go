package local

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"dpsgd/internal/noise"
	"dpsgd/internal/random"

	"gonum.org/v1/gonum/mat"
)

// Rappor is RAPPOR (Erlingsson, Pihur, Korolova 2014, arXiv:1407.6981): the Bloom filter of a
// value, each of whose bits is flipped with a probability. Holders of records are in cohorts. Each
// cohort has its own hash functions.
//
// Estimates are the least squares of section 4 over all values: scores whose means are exact,
// because the mean of a filter's reported bits is linear in the counts.
type Rappor struct {
	claim
	filter Filter
	flip   chance  // that a bit is reported as its opposite: f/2
	set    float64 // the probability of a reported 1 where the filter has a 1: q* of the paper
	unset  float64 // the same where the filter has a 0: p*

	bits   [][][]int     // bits[cohort][value] lists the bits that are set
	weight [][][]float64 // weight[cohort][value][bit] is the weight of the bit in the score
	square *mat.Dense    // of every value v and u: the variance of the score of v where a record has u
}

var _ Protocol = (*Rappor)(nil)

// Filter says how many bits a Bloom filter has, how many hash functions a cohort has, and how many
// cohorts there are. All of it is public.
type Filter struct {
	Bits, Hashes, Cohorts int
}

// DefaultFilter has filters of 32 bits, of which a value sets up to 2, in 8 cohorts.
var DefaultFilter = Filter{Bits: 32, Hashes: 2, Cohorts: 8}

// NewRappor returns one-time RAPPOR: a record reports once. A bit is flipped with probability
// 1/(e^(ε/2h)+1), rounded up, where h is the number of hash functions of a cohort: the filters of
// two values differ in at most 2h bits (Theorem 1 of the paper, which calls that probability f/2).
func NewRappor(values int, filter Filter, epsilon float64) (*Rappor, error) {
	c, err := newClaim("rappor", values, epsilon)
	if err != nil {
		return nil, err
	}
	if filter.Bits < 1 || filter.Bits > 1024 || filter.Hashes < 1 || filter.Hashes > filter.Bits || filter.Cohorts < 1 || filter.Cohorts > 1024 {
		return nil, fmt.Errorf("%w: found a filter of %d bits, %d hashes and %d cohorts, expected 1 to 1024 bits, at least 1 hash, no more of them than bits, and 1 to 1024 cohorts", ErrInvalid, filter.Bits, filter.Hashes, filter.Cohorts)
	}
	if values > maxFiltered {
		return nil, fmt.Errorf("%w: found %d values, expected at most %d in filters", ErrInvalid, values, maxFiltered)
	}
	flip := atLeast(1 / (math.Exp(epsilon/float64(2*filter.Hashes)) + 1))
	p := &Rappor{claim: c, filter: filter, flip: flip, set: flip.complement(), unset: flip.value()}
	p.hash()
	return p, p.solve()
}

// maxFiltered bounds the number of values that RAPPOR tells apart: its matrices have a row and a
// column for each value.
const maxFiltered = 512

// hash sets the bits of every filter. The hash functions are public and equal on every machine.
func (p *Rappor) hash() {
	public := random.Seeded(rapporSeed)
	p.bits = make([][][]int, p.filter.Cohorts)
	for cohort := range p.bits {
		functions := make([]hash, p.filter.Hashes)
		for i := range functions {
			functions[i] = hash{public.Uint64() % mersenne, public.Uint64() % mersenne}
		}
		p.bits[cohort] = make([][]int, p.values)
		for v := range p.values {
			for _, f := range functions {
				if b := f.bucket(v, p.filter.Bits); !slices.Contains(p.bits[cohort][v], b) {
					p.bits[cohort][v] = append(p.bits[cohort][v], b)
				}
			}
		}
	}
}

// rapporSeed is the seed from which the hash functions are drawn.
const rapporSeed = 2014

// solve computes the weights of least squares. With X the filters of all m cohorts, one row for
// each cohort and bit and one column for each value, the mean over cohorts of (S - p*)/(q* - p*) at
// these rows is X/m times the counts, and (XᵀX/m)⁻¹Xᵀ gives the counts back.
func (p *Rappor) solve() error {
	x := mat.NewDense(p.filter.Cohorts*p.filter.Bits, p.values, nil)
	for cohort, filters := range p.bits {
		for v, set := range filters {
			for _, b := range set {
				x.Set(cohort*p.filter.Bits+b, v, 1)
			}
		}
	}
	var gram, inverse, weights mat.Dense
	gram.Mul(x.T(), x)
	gram.Scale(1/float64(p.filter.Cohorts), &gram)
	if err := inverse.Inverse(&gram); err != nil {
		return fmt.Errorf("%w: found filters of %d bits in %d cohorts that do not tell %d values apart, expected more bits or cohorts", ErrInvalid, p.filter.Bits, p.filter.Cohorts, p.values)
	}
	weights.Mul(&inverse, x.T())
	weights.Scale(1/(p.set-p.unset), &weights)
	p.weight = make([][][]float64, p.filter.Cohorts)
	for cohort := range p.weight {
		p.weight[cohort] = make([][]float64, p.values)
		for v := range p.values {
			p.weight[cohort][v] = weights.RawRowView(v)[cohort*p.filter.Bits : (cohort+1)*p.filter.Bits]
		}
	}
	p.spread()
	return nil
}

// spread computes square, the variance of every score: the mean over cohorts of the variance within
// a cohort, whose bits are independent, plus the variance of the score's mean between cohorts.
func (p *Rappor) spread() {
	p.square = mat.NewDense(p.values, p.values, nil)
	share := 1 / float64(p.filter.Cohorts)
	for cohort, filters := range p.bits {
		for u, bits := range filters {
			for v, weights := range p.weight[cohort] {
				mean, variance := 0.0, 0.0
				for _, w := range weights {
					variance += w * w * p.set * p.unset // the chances of a 1, of set and unset bits, add up to 1
				}
				for _, b := range bits {
					mean += weights[b] * (p.set - p.unset)
				}
				p.square.Set(v, u, p.square.At(v, u)+share*(variance+mean*mean))
			}
		}
	}
	for v := range p.values { // the mean is 1 for the own value and 0 for others
		p.square.Set(v, v, p.square.At(v, v)-1)
	}
}

func (p *Rappor) String() string {
	return fmt.Sprintf("a Bloom filter of %d bits by %d of %d hash functions, one cohort's, with bits that are 1 with a chance of %.4g where the filter has a 1 and %.4g where it has a 0",
		p.filter.Bits, p.filter.Hashes, p.filter.Hashes*p.filter.Cohorts, p.set, p.unset)
}

// Randomize implements [Protocol]. It draws a cohort for each report. The first two bytes of a
// report are the cohort, the others are the bits of the filter.
func (p *Rappor) Randomize(value int, src *random.Source) Report {
	cohort := int(noise.Below(uint64(p.filter.Cohorts), src))
	r := make(Report, 2+(p.filter.Bits+7)/8)
	binary.LittleEndian.PutUint16(r, uint16(cohort))
	for _, b := range p.bits[cohort][value] {
		r.set(16 + b)
	}
	for b := range p.filter.Bits {
		if p.flip.draw(src) {
			r[2+b/8] ^= 1 << (b % 8)
		}
	}
	return r
}

// Likelihood implements [Protocol]. It leaves out the chance of the cohort, equal for all values.
func (p *Rappor) Likelihood(value int, r Report) float64 {
	ones := slices.Repeat([]float64{p.unset}, p.filter.Bits)
	for _, b := range p.bits[binary.LittleEndian.Uint16(r)][value] {
		ones[b] = p.set
	}
	return r.likelihood(16, ones)
}

func (p *Rappor) Add(scores []float64, r Report) {
	for v, weights := range p.weight[binary.LittleEndian.Uint16(r)] {
		for b, w := range weights {
			if r.has(16 + b) {
				scores[v] += w * (1 - p.unset)
			} else {
				scores[v] -= w * p.unset
			}
		}
	}
}

func (p *Rappor) Variance(counts []float64) []float64 {
	var out mat.VecDense
	out.MulVec(p.square, mat.NewVecDense(len(counts), counts))
	return out.RawVector().Data
}
