package release

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"dpsgd/clip"
	"dpsgd/internal/noise"
	"dpsgd/internal/random"
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
	back     []float64 // -c_1, …, -c_{b-1}
	spread   []float64 // of x in the steps of a band, in deviations of Z; the last one lasts

	sum       *clip.Sum   // whose releases are remembered
	turn      int         // of the release that comes; -1 where nobody said it
	next      int         // the turn behind the last release; -1 where nothing of it is used
	held      int         // releases that the band has had, of which the last b-1 are remembered
	sums      ring[int64] // of this and the b-1 steps before; secret
	estimates ring[float64]

	sizes []int64 // the largest size of a value of each of sums

	consumer func(Noisy)
	read     clip.Integers
	largest  []int64 // of each thread, that of its part of the sum

	keepChunks func(worker, first, end int) // m.keepPart, made once
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
	m.keepChunks = m.keepPart
	for _, c := range s.Values()[1:] {
		m.back = append(m.back, -c)
	}
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
	if m.turn < 0 || m.turn != m.next || sum != m.sum {
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
	if b := m.Bands(); m.sums.values == nil || m.sums.dim != m.dim {
		m.sums, m.sizes, m.estimates = newRing[int64](b, m.dim), make([]int64, b), newRing[float64](b-1, m.dim)
	}
}

// keep puts the sum of this step where that of b steps before was. It refuses sums that, times their
// coefficients, could leave 62 bits.
func (m *Correlated) keep(read clip.Integers) error {
	m.read = read
	clear(m.largest)
	m.pool.Run(m.chunkCount(), 1, m.keepChunks)
	m.read = nil
	return m.fits(slices.Max(m.largest))
}

func (m *Correlated) keepPart(worker, first, end int) {
	largest := m.largest[worker]
	for from := first * chunkLen; from < min(end*chunkLen, m.dim); from += noise.Block {
		part := m.sums.block(m.held, from)
		m.read(part, from)
		for _, v := range part {
			largest = max(largest, v^v>>63) // -v, less 1, of a negative v: 2^63 has no number
		}
	}
	m.largest[worker] = largest
}

// fits returns an error unless all shifted sums of this step stay below 2^62, for a largest size of
// the sum of this step. The sizes of the steps before are known.
func (m *Correlated) fits(largest int64) error {
	m.sizes[m.held%len(m.sizes)] = largest
	total := 0.0
	for i := range min(m.held+1, m.Bands()) {
		total += float64(m.strategy.Coefficients[i]) * float64(m.sizes[(m.held-i)%len(m.sizes)])
	}
	if !(total < 0x1p62) { // how large the secret sums are is nothing to tell
		return fmt.Errorf("release: found sums of %d bands that may not fit, expected less than 2^62 of their digits: %w", m.Bands(), ErrRange)
	}
	return nil
}

// shifted writes Σ c_i·S_{t-i} in the coordinates of a block, which begins at from, to dst, in units
// of 2^-m.
func (m *Correlated) shifted(dst []int64, from int) {
	clear(dst)
	m.sums.addTo(dst, m.strategy.Coefficients[:min(m.held+1, m.Bands())], m.held, from)
}

// estimate makes x_t of Y_t, in its place, and hands it on.
func (m *Correlated) estimate(y Noisy) {
	m.estimates.addTo(y.values, m.back[:min(m.held, m.estimates.steps)], m.held-1, y.from)
	copy(m.estimates.block(m.held, y.from), y.values)
	y.deviation *= m.spread[min(m.held, len(m.spread)-1)]
	m.consumer(y)
}

// ring holds vectors of the last steps. What it has of a block of coordinates lies together, so that
// a pass over all steps of one block after the other goes through memory in one direction.
type ring[T int64 | float64] struct {
	steps, dim int
	values     []T
}

func newRing[T int64 | float64](steps, dim int) ring[T] {
	blocks := (dim + noise.Block - 1) / noise.Block
	return ring[T]{steps, dim, make([]T, blocks*noise.Block*steps)}
}

// block returns the values of a step in the block of coordinates that begins at from.
func (r ring[T]) block(step, from int) []T {
	return r.values[from*r.steps+step%r.steps*noise.Block:][:min(noise.Block, r.dim-from)]
}

// addTo adds the block of last and those of the steps before it, times c[0], c[1], …, to dst. It
// takes four steps at a time, the last few of them 0 times, so that dst is read and written less
// often.
func (r ring[T]) addTo(dst, c []T, last, from int) {
	for ; len(c) > 0; last -= 4 {
		var f [4]T
		n := copy(f[:], c)
		c = c[n:]
		v0, v1 := r.block(last, from)[:len(dst)], r.block(last-min(1, n-1), from)[:len(dst)]
		v2, v3 := r.block(last-min(2, n-1), from)[:len(dst)], r.block(last-min(3, n-1), from)[:len(dst)]
		for j := range dst {
			dst[j] += f[0]*v0[j] + f[1]*v1[j] + f[2]*v2[j] + f[3]*v3[j]
		}
	}
}
