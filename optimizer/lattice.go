package optimizer

import (
	"fmt"
	"math"

	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
)

// lattice is the set of multiples of spacing, a power of two, so that dividing by it and multiplying with it are exact.
type lattice struct {
	spacing float64
}

// latticeBits is how much finer than the bound the lattice is. At 30, rounding the sum of a million coordinates costs
// 10^-6 of noise, and sums of 2^22 bounds and noise up to MaxNoiseMultiplier have room in 53 bits.
const latticeBits = 30

// latticeFor returns the lattice for sums of the given bound: its spacing is in (bound·2^-31, bound·2^-30]. It
// depends on nothing but the bound, which is public.
func latticeFor(bound float64) (lattice, error) {
	const most = 0x1p512 // far from the ends of float64
	if !(bound >= 1/most && bound <= most) {
		return lattice{}, fmt.Errorf("optimizer: bound of the sum is %g, must be from %g to %g", bound, 1/most, most)
	}
	_, exponent := math.Frexp(bound) // bound = f·2^exponent, f in [1/2, 1)
	return lattice{math.Ldexp(1, exponent-1-latticeBits)}, nil
}

// workspace is what a thread needs to make noise, a block at a time.
type workspace struct {
	words [blockLen + blockLen/4]uint64
	sum   [blockLen]float64
	noisy [blockLen]float64
}

// withNoise returns the values, at most blockLen of them, rounded to the lattice, plus Gaussian noise of the given
// standard deviation, on the lattice too. The result lies in w and lasts until the next call.
//
// Every value takes a word of the stream for its normal number z, and 16 bits for a uniform υ in (0, 1) that rounds the
// noise: ⌊x+υ⌋ is x rounded up with a probability equal to the fractional part of x, to the nearest of the 2^16
// possible probabilities, and down otherwise. For σ near 1, x has some 30 bits before the point and so, in a float64,
// some 22 after it; rounded in one fixed way, some integers would be more likely than others by a relative 2^-22,
// because the borders between them are numbers that x can be. With υ there are 2^16 different borders, and what they
// favour averages out. Privacy does not rest on any of that: see [Gaussian].
//
// A sum of more than 2^61 points of the lattice is taken for 2^61 points; see [kernel.AddNoise].
func (l lattice) withNoise(values []float64, deviation float64, stream *random.Source, w *workspace) []float64 {
	n := (len(values) + kernel.NormalsBlock - 1) / kernel.NormalsBlock * kernel.NormalsBlock
	sum := values
	if n > len(values) { // the last block of a vector
		copy(w.sum[:], values)
		clear(w.sum[len(values):n])
		sum = w.sum[:n]
	}
	words := w.words[:n+n/4]
	stream.Fill(words)
	kernel.AddNoise(w.noisy[:n], sum, words[:n], words[n:], deviation/l.spacing, l.spacing)
	return w.noisy[:len(values)]
}
