package theorems

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/numeric"
)

// Shuffle returns an epsilon such that n reports are (epsilon, delta)-private after a uniformly
// random shuffle, where every record passes a local randomizer that is (local, 0)-private. It is
// the smallest that the clone pair of Feldman, McMillan, Talwar 2021 gives, by numbers, up to a
// relative error of about 1e-9 on the private side; never above local.
//
// Relation: replacing one record. The randomizers may be chosen adaptively, each
// after the reports before it.
func Shuffle(local float64, n int, delta float64) (epsilon float64, err error) {
	if err := validateShuffle(local, n, delta); err != nil {
		return 0, err
	}
	clones := numeric.Binomial{N: min(n, maxReports) - 1, P: math.Exp(-local), Q: -math.Expm1(-local)}
	return shuffled(local, delta, func(cut float64) profile { return newClones(local, clones, cut).at }), nil
}

// shuffled returns the least ε ≤ local at delta of the profile of(cut), for a cut of 1e-13·delta.
func shuffled(local, delta float64, of func(cut float64) profile) float64 {
	switch {
	case delta == 1 || local == 0:
		return 0
	case delta < tiniest:
		return local
	}
	return math.Min(local, numeric.Up(leastEpsilon(of(delta*1e-13), delta, local), 4))
}

// tiniest is a delta below which masses underflow: it is taken for 0.
const tiniest = 1e-280

func validateShuffle(local float64, n int, delta float64) error {
	if !(local >= 0) || math.IsInf(local, 1) {
		return fmt.Errorf("%w: local epsilon is %v, must be finite and at least 0", accountant.ErrInvalid, local)
	}
	if n < 1 || n > maxCount {
		return fmt.Errorf("%w: number of reports is %d, must be from 1 to %d", accountant.ErrInvalid, n, maxCount)
	}
	if !(delta >= 0 && delta <= 1) {
		return fmt.Errorf("%w: delta is %v, must be in [0, 1]", accountant.ErrInvalid, delta)
	}
	return nil
}

// ShuffleResponse returns the epsilon at delta of n shuffled answers of k-ary randomized response,
// the same for every record: the true answer, one of k = buckets, is e^local times as likely as
// each other one. The epsilon holds whatever the other records answer and however much of their
// answers is known. It is far below that of Shuffle, which holds for every randomizer.
//
// Relation: replacing one record.
//
// Derivation. With q = 1/(e^l + k - 1), a record answers uniformly with probability kq, and the
// truth else (Balle, Bell, Gascón, Nissim 2019, arXiv:1903.02837, section 3). Let the attacker know
// of every other record which of the two it did, and the truth. What is left are M uniform answers,
// Bin(n-1, kq) of them, and that of the one record, whose truth is bucket 0 or 1: how many of the
// M+1 are 0 and how many are 1, for the rest is uniform over the other buckets. Of the M, Bin(M,
// 2/k) are 0 or 1, each fairly, and the one record with probability r = (e^l+1)q. Given that N of
// all are, whose law is the same for both truths, the one record is among them with
//
//	v = r Pr[Bin(M, 2/k) = N-1] / (r Pr[Bin(M, 2/k) = N-1] + (1-r) Pr[Bin(M, 2/k) = N])
//	  = (e^l+1) N/2 / ((e^l+1) N/2 + M+1-N),
//
// and with chance 1-v it is not, and a fair answer takes its place. By Pascal's rule the pair is
// the one of Shuffle for N-1 clones, with e^l/(e^l+1) moved towards 1/2 by the factor v: its l' has
// tanh(l'/2) = v tanh(l/2).
//
// For k = 2, N is M+1, and this is the bound of Theorem 3.1 of Feldman, McMillan, Talwar 2023
// (arXiv:2208.04591). The errata of that paper take back that the theorem holds for every
// randomizer; hence there is no such function here, and Shuffle stays the answer for others.
func ShuffleResponse(local float64, buckets, n int, delta float64) (epsilon float64, err error) {
	if buckets < 2 || buckets > maxCount {
		return 0, fmt.Errorf("%w: number of buckets is %d, must be from 2 to %d", accountant.ErrInvalid, buckets, maxCount)
	}
	if err := validateShuffle(local, n, delta); err != nil {
		return 0, err
	}
	return shuffled(local, delta, func(cut float64) profile { return shuffledResponse(local, buckets, n, cut) }), nil
}

func shuffledResponse(local float64, buckets, n int, cut float64) profile {
	if buckets > 2 {
		return newManyResponses(local, buckets, n, cut).at
	}
	odds := math.Exp(-local) // N is M+1: no ranges are needed
	return newClones(local, numeric.Binomial{N: min(n, maxReports) - 1, P: 2 * odds / (1 + odds), Q: math.Tanh(local / 2)}, cut).at
}

// manyResponses is the profile of shuffled responses of more than two kinds, a mixture over ranges
// of M, the number of uniform answers: fewer tell more, so that its least M stands for a range.
type manyResponses struct {
	weights []float64
	clones  []*clones
	lost    float64 // probability of all other M, taken as if they told everything
}

// A range of M is the wider one of a 64th of all M that are counted, some 15 standard deviations,
// and a 4096th of the least M. So M is off by a quarter of a deviation, which is 1/(8√M) of
// epsilon, or by what is 1/8192 of epsilon.
const (
	mostRanges  = 64
	finestRange = 4096
)

func newManyResponses(local float64, buckets, n int, cut float64) *manyResponses {
	shrunk := math.Exp(-local)
	likely := 1 + float64(buckets-1)*shrunk // 1/(e^l q)
	uniform := numeric.Binomial{N: min(n, maxReports) - 1, P: float64(buckets) * shrunk / likely, Q: -math.Expm1(-local) / likely}
	lo, hi := uniform.Window(cut)
	p := &manyResponses{lost: 2 * cut}
	if lo == 0 && hi == uniform.N {
		p.lost = 0
	}
	width := max((hi-lo)/mostRanges+1, lo/finestRange)
	rounding := 1 + uniform.RelativeError()
	for from := lo; from <= hi; from += width {
		weight := 0.0
		for m := from; m < min(from+width, hi+1); m++ {
			weight += math.Exp(uniform.LogMass(m)) * rounding
		}
		p.weights = append(p.weights, weight)
		p.clones = append(p.clones, newResponseClones(local, buckets, from, cut))
	}
	return p
}

func (p *manyResponses) at(epsilon float64) (delta, rate float64) {
	for i, weight := range p.weights {
		d, r := p.clones[i].at(epsilon)
		delta, rate = delta+weight*d, rate+weight*r
	}
	return math.Min(1, delta+p.lost), rate
}

// newResponseClones returns the pair that ShuffleResponse derives, for M = m uniform answers,
// without the tails of Bin(m, 2/k) of probability cut each.
func newResponseClones(local float64, buckets, m int, cut float64) *clones {
	k, shrunk := float64(buckets), math.Exp(-local)
	likely := 1 + (k-1)*shrunk
	in, out := (1+shrunk)/likely, (k-2)*shrunk/likely // r and 1-r
	count := numeric.Binomial{N: m, P: 2 / k, Q: 1 - 2/k}
	lo, hi := count.Window(cut)
	c := &clones{local: local, lo: max(lo-1, 0), hi: hi, lost: 2 * cut} // of the clones, N-1
	if lo == 0 && hi == m {
		c.lost = 0
	}
	mass := func(x int) float64 {
		if x < lo || x > hi {
			return 0
		}
		return math.Exp(count.LogMass(x))
	}
	for x := c.lo; x <= hi; x++ {
		n := float64(x + 1)
		among := (1 + shrunk) * n / 2
		v := among / (among + shrunk*float64(m-x))
		c.masses = append(c.masses, in*mass(x)+out*mass(x+1))
		c.locals = append(c.locals, min(local, 2*math.Atanh(v*math.Tanh(local/2))*(1+1e-14)))
	}
	c.slop = 2*count.RelativeError() + 2*numeric.Binomial{N: hi}.RelativeError()
	return c
}
