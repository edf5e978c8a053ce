package optimizer

import (
	"fmt"
	"math"
	"sync"

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
//  3. The noise is rounded to an integer, up or down as a uniform number υ that depends on nothing else decides:
//     ⌊N/g + υ⌋. For an integer f, adding f before or after that is the same, so the output is ⌊(f + N/g) + υ⌋: a
//     function, independent of the data, of the continuous Gaussian mechanism. That is post-processing, whatever
//     the distribution of υ, and every accountant's figure for accountant.Gaussian{σ} holds. (υ, of 16 bits, is there
//     to smooth what float64 leaves of N/g near the borders of integers; no part of the argument rests on it.)
//  4. f and the rounded noise are integers held exactly in float64. Their sum is rounded to a float64, which above 2^53
//     is not exact but a function of the exact sum: post-processing again.
//
// What remains between this argument and the machine is that N comes from 63- and 64-bit words through float64
// arithmetic ([kernel.Normals]): its density is right to the last bits of a float64, not exact, and it ends at 9.42
// standard deviations, beyond which the ideal has a probability of 4·10^-21. Timing and other side channels are
// out of scope, although the work done does not depend on the values drawn.
//
// The noise of a sum is drawn when an [Update] consumes the [Noisy], every chunk of coordinates from a stream of its own.
// The streams are split off the mechanism's source once, each with its own key, and go on from sum to sum: no word is
// drawn twice, by whatever thread and in whatever order the chunks are worked on.
type Gaussian struct {
	noiseMultiplier float64
	src             *random.Source

	access  sync.Mutex       // for what follows; held while noise is drawn
	streams []*random.Source // of chunk 0, 1, …; as many as the longest sum so far has
	idle    []*release       // not on their way to an update
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

// Privatize implements [Mechanism]. For a given state of the source, what an update makes of the result does not depend on
// the number of its threads. Several results may be on their way to updates at a time; they draw from the same streams,
// so an update that consumes one waits for another that does.
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

	m.access.Lock()
	defer m.access.Unlock()
	r := m.idleRelease()
	r.sum, r.values = sum, values
	r.grid, r.deviation = grid, m.noiseMultiplier*inflated
	r.streams = m.streamsFor(len(values))
	return Noisy{length: len(values), release: r, turn: r.turn}, nil
}

// idleRelease returns a release that no Noisy in use stands for.
func (m *Gaussian) idleRelease() *release {
	if last := len(m.idle) - 1; last >= 0 {
		r := m.idle[last]
		m.idle = m.idle[:last]
		return r
	}
	return &release{mechanism: m, unnoised: &unnoised{}}
}

// streamsFor returns the streams of the chunks of n coordinates.
func (m *Gaussian) streamsFor(n int) []*random.Source {
	for len(m.streams) < chunks(n) {
		m.streams = append(m.streams, m.src.Split())
	}
	return m.streams[:chunks(n)]
}
