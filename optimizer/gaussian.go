package optimizer

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/internal/random"
)

// MaxNoiseMultiplier is the largest noise multiplier: above it, noise in units of the lattice would need more than
// the 53 bits of a float64, and its support would show gaps.
const MaxNoiseMultiplier = 0x1p16

// Gaussian is the Gaussian mechanism on a lattice. For a sum with bound C it adds noise of standard deviation σ·C to
// every coordinate, independent between coordinates and calls, and both sum and noise are rounded to multiples of
// a spacing g, a power of two near C·2^-30.
//
// Why a lattice. Floats near a value x are other floats than those near x′, and so the sums of a float x and float
// noise show where x was: one coordinate of x + NormFloat64() tells x from a neighbour in 99.9 % of draws, whatever
// σ is, and an ideal sampler of float noise still does over many coordinates (Mironov, CCS 2012; Jin, McMurtry,
// Rubinstein, Ohrimenko, arXiv:2112.05307). On a lattice every result is possible under every data set.
//
// Why it is as private as the accountant says. Let f = round(sum/g) be the rounded sum, an integer vector of dimension
// d, and N continuous Gaussian noise.
//
//  1. Two sums that differ by at most C in L2 norm differ, once rounded, by at most C + g·√d: each coordinate of each
//     sum moves by at most g/2. Saturation at ±2^61 moves no two of them further apart.
//  2. The noise has standard deviation σ·(C + g·√d), so with respect to the rounded sum its noise multiplier is σ.
//     For d = 10^6 the inflation is a factor of 1 + 10^-6.
//  3. The noise is rounded to an integer at random, up with a probability equal to the fractional part of N/g. For an
//     integer f, adding f before or after that is the same, so the output is round(f + N/g): a function, independent
//     of the data, of the continuous Gaussian mechanism. That is post-processing, and every accountant's figure for
//     accountant.Gaussian{σ} holds.
//  4. The integers are added as integers, exactly, and turned into a float64 last: post-processing again.
//
// What remains between this argument and the machine is that N comes from 63- and 64-bit words through float64
// arithmetic ([random.Normals]): its density is right to the last bits of a float64, not exact, and it ends at 9.42
// standard deviations, beyond which the ideal has a probability of 4·10^-21. Timing and other side channels are
// out of scope, although the work done does not depend on the values drawn.
type Gaussian struct {
	noiseMultiplier float64
	src             *random.Source
}

var _ Mechanism = (*Gaussian)(nil)

// NewGaussian returns the mechanism with noise of standard deviation noiseMultiplier times the bound of the sum. The
// multiplier must be in (0, [MaxNoiseMultiplier]]; there is no zero, because training without noise is not a setting
// of a private mechanism. In production src comes from [random.New] and serves nothing else: whoever can repeat
// its words can subtract the noise.
func NewGaussian(noiseMultiplier float64, src *random.Source) (*Gaussian, error) {
	if !(noiseMultiplier > 0 && noiseMultiplier <= MaxNoiseMultiplier) {
		return nil, fmt.Errorf("optimizer: noise multiplier is %g, must be above 0 and at most %g",
			noiseMultiplier, float64(MaxNoiseMultiplier))
	}
	if src == nil {
		return nil, fmt.Errorf("optimizer: Gaussian mechanism has no source of randomness")
	}
	return &Gaussian{noiseMultiplier: noiseMultiplier, src: src}, nil
}

// Event returns the Gaussian event of the noise multiplier that Privatize uses.
func (m *Gaussian) Event() accountant.Event {
	return accountant.Gaussian{NoiseMultiplier: m.noiseMultiplier}
}

// Privatize implements [Mechanism]. The noise is drawn on all processors; for a given state of the source the result
// does not depend on their number. Calls must not overlap.
func (m *Gaussian) Privatize(sum *clip.Sum) (Noisy, error) {
	values, bound, err := sum.Release()
	if err != nil {
		return Noisy{}, fmt.Errorf("optimizer: %w", err)
	}
	grid, err := latticeFor(bound)
	if err != nil {
		return Noisy{}, err
	}
	inflated := bound + grid.spacing*math.Sqrt(float64(len(values)))
	grid.addNoise(values, m.noiseMultiplier*inflated, m.src)
	return Noisy{values}, nil
}
