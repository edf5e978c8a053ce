package release

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"dpsgd/clip"
	"dpsgd/internal/random"

	"gonum.org/v1/gonum/floats"
)

// ErrRange is wrapped by the error of a release whose sums leave the range of 64 bits.
var ErrRange = errors.New("sums out of range")

// Remembering is an optional interface of a [Mechanism] whose releases depend on earlier sums.
type Remembering interface {
	// Follow says the turn of the release that comes next: see [Rotating]. What is remembered is
	// used only where that is the turn behind the last release.
	Follow(turn int)
	// Bands returns over how many releases a record moves results: the sampler must be [Separated]
	// by at least so many turns.
	Bands() int
}

// Correlated is the Gaussian mechanism on sums of what the last steps added up: a banded Toeplitz
// matrix mechanism that remembers exact sums instead of noise. With S_t the exact integer sum of
// step t, in units of its lattice, and c the [Strategy], a release is
//
//	Y_t = S_t + Σ_{0<i<b} c_i·S_{t-i} + Z_t,   x_t = Y_t - Σ_{0<i<b} c_i·x_{t-i}.
//
// Z is the noise of [Gaussian], of deviation σ·‖c‖₂·C. x_t estimates S_t and is handed out: its
// error is C⁻¹Z, noise that later steps take back.
//
// Why a turn is as private as accountant.Gaussian{σ}. The c_i are multiples of 2^-m, so that Y_t
// without its noise is an integer on a lattice finer by m digits, and Y_t is a function of the real
// Gaussian mechanism on it, as in [Gaussian]; x_t is a function of Y_0 … Y_t. A record that takes
// part in turn t adds some u with ‖u‖₂ ≤ C to S_t, and so c_i·u to Y_{t+i} for i < b: a vector of
// norm at most ‖c‖₂·C. [Plan] makes sure that its turns are at least b apart, so these vectors
// have no step in common, and each is one Gaussian release of multiplier σ. Where what is remembered
// was lost, or is not that of the turns before, t begins anew: earlier vectors end before it, which
// makes them shorter. That later sums depend on earlier releases costs nothing, because C is lower
// triangular (Denisov, McMahan, Rush, Smith, Thakurta, NeurIPS 2022, arXiv:2202.08312, Theorem 2.1);
// that turns are Poisson samples of a block amplifies each (Choquette-Choo et al., arXiv:2306.08153,
// Theorem 4).
//
// What is remembered is secret, is in memory alone and is never stored: no run can use a sum again.
type Correlated struct {
	*Gaussian
	strategy Strategy
	spread   []float64 // of x in the steps of a band, in deviations of Z; the last one lasts

	sum       *clip.Sum // whose releases are remembered
	turn      int       // of the release that comes; -1 where nobody said it
	next      int       // the turn behind the last release; -1 where nothing of it is used
	held      int       // releases that the band has had, of which the last b-1 are remembered
	sums      [][]int64 // of this and the b-1 steps before, in a ring; secret
	estimates [][]float64

	sizes []int64 // the largest size of a value of each of sums

	consumer func(Noisy)
	largest  []int64 // of each thread, that of its part of the sum
}

var _ Remembering = (*Correlated)(nil)

// NewCorrelated returns the mechanism with noise of multiplier σ, that of each step of base, which
// has no schedule.
func NewCorrelated(base *Gaussian, s Strategy) (*Correlated, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if base.schedule != nil || !(base.noiseMultiplier*s.Norm() <= MaxNoiseMultiplier) {
		return nil, fmt.Errorf("release: noise multiplier is %g%s, expected one for all steps, at most %g for this correlation: %w", base.noiseMultiplier, base.course, MaxNoiseMultiplier/s.Norm(), ErrPlan)
	}
	m := &Correlated{Gaussian: base, strategy: s, spread: s.spread(), turn: -1, next: -1, largest: make([]int64, base.pool.Threads())}
	return m, nil
}

// Follow implements [Remembering], Bands too.
func (m *Correlated) Follow(turn int) { m.turn = turn }
func (m *Correlated) Bands() int      { return len(m.strategy.Coefficients) }

// Strategy returns the coefficients.
func (m *Correlated) Strategy() Strategy { return m.strategy }

// Deviation returns that of the estimate of a step, where nothing was lost before.
func (m *Correlated) Deviation(step int, bound float64) float64 {
	return up(m.noise() * m.spread[min(max(step, 0), len(m.spread)-1)] * bound)
}

// noise returns the noise multiplier of Z: σ·‖c‖₂, rounded up.
func (m *Correlated) noise() float64 { return up(m.noiseMultiplier * m.strategy.Norm()) }

// Room leaves room for the digits of the coefficients: with these at most 1 and blocks disjoint, the
// shifted sums of so many records stay in the range of such a lattice.
func (m *Correlated) Room(records int) int {
	return min(records, math.MaxInt>>m.strategy.Digits) << m.strategy.Digits
}

func (m *Correlated) Name() string { return "correlated Gaussian" }

func (m *Correlated) String() string {
	return fmt.Sprintf("Gaussian noise of standard deviation σ·‖c‖·C, σ = %v and ‖c‖ = %.6g, on the sum of a step and c_i times that of the step i before it, for %d bands c; from that follows the estimate of each step's sum, in which noise of the steps before is taken back; what is remembered for it is never stored, and begins anew in a run that is resumed",
		m.noiseMultiplier, m.strategy.Norm(), m.Bands())
}

// Privatize implements [Mechanism]. Without [Correlated.Follow] before it nothing is remembered.
func (m *Correlated) Privatize(_ int, sum *clip.Sum, src *random.Source, consume func(Noisy)) error {
	if m.turn < 0 || m.turn != m.next || sum != m.sum || sum.Dim() != m.dim {
		m.held = 0
	}
	turn := m.turn
	m.turn, m.next = -1, -1
	m.sum, m.dim, m.sigma, m.consume, m.consumer = sum, sum.Dim(), m.noise(), m.estimate, consume
	m.make()
	var failed error
	m.split(src)
	err := sum.Release(func(read clip.Integers, l clip.Lattice) {
		if failed = m.keep(read); failed == nil {
			l.Spacing, l.Digits = math.Ldexp(l.Spacing, -m.strategy.Digits), l.Digits+m.strategy.Digits
			m.addNoise(m.shifted, l)
		}
	})
	m.consume, m.integers, m.consumer = nil, nil, nil
	if err = errors.Join(err, failed); err == nil && turn >= 0 {
		m.held, m.next = m.held+1, turn+1
	}
	return err
}

// make makes the memory, once for a length of sums.
func (m *Correlated) make() {
	if b := m.Bands(); len(m.sums) == 0 || len(m.sums[0]) != m.dim {
		m.sums, m.sizes, m.estimates = make([][]int64, b), make([]int64, b), make([][]float64, b-1)
		for i := range m.sums {
			m.sums[i] = make([]int64, m.dim)
		}
		for i := range m.estimates {
			m.estimates[i] = make([]float64, m.dim)
		}
	}
}

// keep puts the sum of this step where that of b steps before was. It refuses sums that, times their
// coefficients, could leave 62 bits.
func (m *Correlated) keep(read clip.Integers) error {
	now := m.sums[m.held%len(m.sums)]
	clear(m.largest)
	m.pool.Run(m.chunkCount(), 1, func(worker, first, end int) {
		part := now[first*chunkLen : min(end*chunkLen, m.dim)]
		read(part, first*chunkLen)
		for _, v := range part {
			m.largest[worker] = max(m.largest[worker], v, ^v) // -v, less 1, which has no number for -2^63
		}
	})
	return m.fits(slices.Max(m.largest))
}

// fits returns an error unless all shifted sums of this step stay below 2^62, for a largest size of
// the sum of this step. The sizes of the steps before are known.
func (m *Correlated) fits(largest int64) error {
	m.sizes[m.held%len(m.sums)] = largest
	total := 0.0
	for i := range min(m.held+1, m.Bands()) {
		total += float64(m.strategy.Coefficients[i]) * float64(m.sizes[(m.held-i)%len(m.sums)])
	}
	if !(total < 0x1p62) {
		return fmt.Errorf("release: found sums of up to %d units over %d bands, expected less than 2^62 of their digits: %w", largest, m.Bands(), ErrRange)
	}
	return nil
}

// shifted writes Σ c_i·S_{t-i} in coordinates from, from+1, … to dst, in units of 2^-m.
func (m *Correlated) shifted(dst []int64, from int) {
	clear(dst)
	for i := range min(m.held+1, m.Bands()) {
		c, past := m.strategy.Coefficients[i], m.sums[(m.held-i)%len(m.sums)][from:][:len(dst)]
		for j, v := range past {
			dst[j] += c * v
		}
	}
}

// estimate makes x_t of Y_t, in its place, and hands it on.
func (m *Correlated) estimate(y Noisy) {
	size := len(m.estimates)
	for i := 1; i <= min(m.held, size); i++ {
		c := math.Ldexp(float64(m.strategy.Coefficients[i]), -m.strategy.Digits)
		floats.AddScaled(y.values, -c, m.estimates[(m.held-i)%size][y.from:][:len(y.values)])
	}
	copy(m.estimates[m.held%size][y.from:], y.values)
	y.deviation *= m.spread[min(m.held, len(m.spread)-1)]
	m.consumer(y)
}
