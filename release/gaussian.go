package release

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/internal/kernel"
	"dpsgd/internal/noise"
	"dpsgd/internal/random"
)

// MaxNoiseMultiplier is the largest noise multiplier: with it, sums and noise have room in the 53
// bits of a float64.
const MaxNoiseMultiplier = 0x1p16

// Gaussian is the Gaussian mechanism on a lattice. To every coordinate f of a sum with bound C it
// adds a normal number N of standard deviation σ·C, independent between coordinates and releases,
// and rounds to a multiple of a spacing of C·2^-20 to C·2^-21. The lattice of f can be finer.
//
// Why it is as private as the accountant says. One record moves f by at most C in the L2 norm. The
// output is round(f + N): a function, independent of the data, of the continuous Gaussian
// mechanism, so that every accountant's figure for accountant.Gaussian{σ} holds (Dwork and Roth,
// The Algorithmic Foundations of Differential Privacy, Proposition 2.1). There is no inflation for
// rounding: contributions were measured after they were rounded. That round(f + N) has this law at
// every multiple, however far in the tail, is package noise's claim. f is exact; of the result,
// rounding to float64 is a function.
//
// Why a lattice. Floats near a value x are other floats than those near x′, and so float noise
// shows where x was: one coordinate of x + NormFloat64() tells x from a neighbour in 99.9 % of
// draws, whatever σ is (Mironov, CCS 2012; Jin, McMurtry, Rubinstein, Ohrimenko, arXiv:2112.05307).
// On a lattice every result is possible under every data set.
//
// Every chunk of coordinates has a stream of random bits of its own, split off the door's source
// once, each with its own key, that goes on from release to release: no word is drawn twice,
// by whatever thread and in whatever order. Timing and other side channels are out of scope.
type Gaussian struct {
	noiseMultiplier float64           // of step 0
	schedule        func(int) float64 // the factor of a step, public; nil is 1
	course          string            // the schedule in words
	pool            *kernel.Pool
	streams         []*random.Source // of chunk 0, 1, …; as many as the longest sum so far has
	workers         []worker

	// The release in progress.
	dim       int
	sigma     float64 // its noise multiplier
	integers  clip.Integers
	lattice   clip.Lattice
	deviation float64 // in units of the noise's lattice
	consume   func(Noisy)

	release   func(clip.Integers, clip.Lattice) // m.addNoise, made once
	runChunks func(worker, first, end int)      // m.chunks, made once
}

// worker holds what one thread needs to make noise.
type worker struct {
	adder              noise.Adder
	sums               [noise.Block]int64   // below 2^53 as whole numbers, for fewer than 2^32 contributions
	whole, rest, noisy [noise.Block]float64 // the sums in units of the noise's lattice, and with noise
}

// chunkLen is the number of coordinates that share a stream of noise: so many that handing them out
// costs nothing, and so few that the networks of this project occupy every processor. It is a
// multiple of noise.Block.
const chunkLen = 8 * noise.Block

var _ Mechanism = (*Gaussian)(nil)

// NewGaussian returns the mechanism with noise of standard deviation noiseMultiplier times the
// bound of the sum, made on the threads of pool. The multiplier must be in (0,
// [MaxNoiseMultiplier]]; there is no zero, because a release without noise is not a setting of a
// private mechanism.
func NewGaussian(noiseMultiplier float64, pool *kernel.Pool) (*Gaussian, error) {
	if !(noiseMultiplier > 0 && noiseMultiplier <= MaxNoiseMultiplier) {
		return nil, fmt.Errorf("release: noise multiplier is %g, must be above 0 and at most %g: %w", noiseMultiplier, float64(MaxNoiseMultiplier), ErrPlan)
	}
	m := &Gaussian{noiseMultiplier: noiseMultiplier, pool: pool, workers: make([]worker, pool.Threads())}
	m.release, m.runChunks = m.addNoise, m.chunks
	return m, nil
}

// at returns the noise multiplier of a step.
func (m *Gaussian) at(step int) float64 {
	if m.schedule == nil {
		return m.noiseMultiplier
	}
	return m.noiseMultiplier * m.schedule(step)
}

// Event returns the Gaussian event of the step's noise multiplier.
func (m *Gaussian) Event(step int) accountant.Event {
	return accountant.Gaussian{NoiseMultiplier: m.at(step)}
}

// Deviation returns the noise multiplier of the step times bound, rounded up.
func (m *Gaussian) Deviation(step int, bound float64) float64 { return up(m.at(step) * bound) }

// up returns the next float64 above x: a product that was rounded down is then no longer too small.
func up(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }

func (m *Gaussian) Coarse() bool { return false }
func (m *Gaussian) Name() string { return "Gaussian" }
func (m *Gaussian) String() string {
	return fmt.Sprintf("Gaussian noise of standard deviation σ·C on every coordinate of the sum, σ = %v%s", m.noiseMultiplier, m.course)
}

// Privatize implements [Mechanism]. For a given state of the source the noise does not depend on
// the number of threads.
func (m *Gaussian) Privatize(step int, sum *clip.Sum, src *random.Source, consume func(Noisy)) error {
	if m.sigma = m.at(step); !(m.sigma > 0 && m.sigma <= MaxNoiseMultiplier) {
		return fmt.Errorf("release: noise multiplier of step %d is %g, must be above 0 and at most %g: %w", step, m.sigma, float64(MaxNoiseMultiplier), ErrPlan)
	}
	m.consume, m.dim = consume, sum.Dim()
	m.split(src)
	err := sum.Release(m.release)
	m.consume, m.integers = nil, nil
	return err
}

// addNoise adds noise to the integers of a sum and hands the noisy values to consume.
func (m *Gaussian) addNoise(integers clip.Integers, l clip.Lattice) {
	// Divisions by powers of two are exact.
	m.integers, m.lattice, m.deviation = integers, l, up(m.sigma*(l.Bound/coarse(l)))
	m.pool.Run(m.chunkCount(), 1, m.runChunks)
}

// split gives every chunk of a release a stream of random words, split off src if it has none yet.
func (m *Gaussian) split(src *random.Source) {
	for len(m.streams) < m.chunkCount() {
		m.streams = append(m.streams, src.Split())
	}
}

func (m *Gaussian) chunkCount() int { return (m.dim + chunkLen - 1) / chunkLen }

// chunks releases chunks first up to, not including, end, on thread number: it reads, adds noise to
// and hands out one block after the other, while the block is in the first-level cache.
func (m *Gaussian) chunks(number, first, end int) {
	w := &m.workers[number]
	spacing := coarse(m.lattice)
	deviation := m.deviation * spacing
	for chunk := first; chunk < end; chunk++ {
		for from := chunk * chunkLen; from < min((chunk+1)*chunkLen, m.dim); from += noise.Block {
			n := min(noise.Block, m.dim-from)
			noisy := w.noisy[:n]
			m.integers(w.sums[:n], from)
			kernel.Split(w.whole[:n], w.rest[:n], w.sums[:n], m.lattice.Digits)
			w.adder.Add(noisy, w.whole[:n], w.rest[:n], m.deviation, spacing, m.streams[chunk])
			m.consume(Noisy{values: noisy, from: from, worker: number, deviation: deviation})
		}
	}
}

// coarse returns the spacing of the noise's lattice, of which the sum's lattice l may be finer.
func coarse(l clip.Lattice) float64 { return math.Ldexp(l.Spacing, l.Digits) }
