package release

import (
	"errors"
	"fmt"
	"math"

	"dpsgd/clip"
	"dpsgd/internal/kernel"
	"dpsgd/internal/noise"
	"dpsgd/internal/random"
)

// ErrTooFew is wrapped by the error of a release in which fewer clients took part than its noise
// needs.
var ErrTooFew = errors.New("too few clients took part")

// Shares says who makes the noise of a [Distributed] mechanism, and what the server sees of sums.
type Shares struct {
	Clients int // of the run: whether sampled or not, each adds its share to every release that it is there for
	Least   int // the fewest whose shares are enough noise for a release: at least 1, at most Clients
	// Present returns the number of clients that are there for release number step; nil stands for
	// all. It must not depend on the clients' data.
	Present     func(step int) int
	ModulusBits int // sums are known modulo 2^ModulusBits, at most 52
}

// present returns the number of clients that are there for release number step.
func (s Shares) present(step int) int {
	if s.Present == nil {
		return s.Clients
	}
	return s.Present(step)
}

// Distributed is Gaussian noise of which every client adds a share to what it contributes, before
// secure aggregation tells the server their sum modulo a power of two and nothing else: the
// distributed discrete Gaussian mechanism (Kairouz, Liu, Steinke, arXiv:2102.06387, Algorithm 1,
// without the rotation, which only makes a smaller modulus do).
//
// A share is an integer of the discrete Gaussian distribution of variance s², in units of the
// lattice's spacing g, on every coordinate, from every client that takes part, whether it is in the
// sample or not: so neither noise nor traffic tells who is, and amplification by sampling holds
// against the server, which is not told how coins of clients fell. With m clients the noise has
// variance m·s². s² is (D² + w)/Least for D = σ·C/g and w = [smoothing]: whoever comes, at least
// Least clients, the noise is at least that of the [Gaussian] mechanism with σ. With fewer the
// release fails.
//
// Why the event is that of Gaussian noise of multiplier σ. Write ρ_v(x) = exp(-x²/2v) and let
// ρ_v(Z+c) be its sum over the integers moved by c. Poisson's summation gives ρ_v(Z+c) =
// √(2πv)·(1+ε) with |ε| ≤ 2·Σ_{j≥1} exp(-2π²vj²), for every c.
//
//  1. Completing the square, Pr[X+Y = z] for independent discrete Gaussians of variances a and b is
//     ρ_{a+b}(z) times ρ_t(Z+c) for t = ab/(a+b) and some c, over a constant: a discrete Gaussian of
//     variance a+b but for a factor of 1 ± 2.1·2·exp(-2π²t). Of m shares, added one after the other,
//     t ≥ s²/2 each time: the sum is a discrete Gaussian of variance m·s² but for a factor of 1 ±
//     5·(m-1)·exp(-π²s²) (the paper's Theorem 1 has 10 in place of 5).
//  2. Likewise, let X be normal of variance v and Y, given X, a discrete Gaussian of variance w around
//     X. Then f+Y, for an integer f, is a function of f+X and of coins that know nothing of f; and Y
//     has the law of a discrete Gaussian of variance v+w but for a factor of 1 ± 5·exp(-2π²w).
//
// With v = m·s² - w ≥ D², the noisy sum is within total variation [perShare]·m of a function of the
// Gaussian mechanism's output, on each coordinate: every accountant's figure holds, amplification
// included, with what Excess says added to δ. What is taken modulo 2^k afterwards is a function of
// that. The paper's own bound, 1/2·(Δ/(√m·s) + τ√d)² for zero-concentrated privacy, is the same to
// ten digits, but for the Gaussian mechanism alone more is known.
//
// Two neighbours have the same clients: one of them has examples in one and none in the other, and
// makes its noise in both. A client knows its own share: a group of c clients who tell the server
// theirs leaves Least - c, which is what Least has to be chosen for.
type Distributed struct {
	*Gaussian
	shares  Shares
	share   noise.Ratio // s of the release in progress
	clients int         // how many add a share to that release
}

var _ Mechanism = (*Distributed)(nil)

// smoothing is w, the variance that makes a discrete Gaussian of a normal number, and the least
// variance of half a share: exp(-2π²·4) < 6e-35.
const smoothing = 4

// perShare bounds, for each share on each coordinate, the distance in total variation between the
// noise and a function of normal noise: half of 5·6e-35 for the sum of shares and once more,
// rounded up.
const perShare = 1e-33

// NewDistributed returns the mechanism whose noise multiplier begins with first and follows
// schedule s over so many steps. It simulates the clients: each share is drawn by itself.
func NewDistributed(s NoiseSchedule, first float64, steps int, shares Shares, pool *kernel.Pool) (*Distributed, error) {
	if shares.Least < 1 || shares.Least > shares.Clients || shares.ModulusBits < 2 || shares.ModulusBits > 52 {
		return nil, fmt.Errorf("release: noise of %d of %d clients modulo 2^%d, expected at least 1 of them and 2 to 52 bits: %w", shares.Least, shares.Clients, shares.ModulusBits, ErrPlan)
	}
	normal, err := NewScheduled(s, first, steps, pool)
	return &Distributed{Gaussian: normal, shares: shares}, err
}

// Deviation returns σ·C·√(m/Least) for σ of the step, bound C and m clients that add a share.
func (m *Distributed) Deviation(step int, bound float64) float64 {
	return m.Gaussian.Deviation(step, bound) * math.Sqrt(float64(m.shares.present(step))/float64(m.shares.Least))
}

// Excess returns what the law of the shares adds to δ for so many noise values that are (epsilon,
// δ)-private by an accountant. [Plan.Claim] says why.
func (m *Distributed) Excess(values, epsilon float64) float64 {
	return min(1, (1+math.Exp(epsilon))*values*float64(m.shares.Clients)*perShare)
}

// Coarse implements [Mechanism]: noise is added to contributions, so that they share its lattice.
func (m *Distributed) Coarse() bool { return true }
func (m *Distributed) Name() string { return "distributed discrete Gaussian" }

func (m *Distributed) String() string {
	return fmt.Sprintf("discrete Gaussian noise on every coordinate, of which each of %d clients adds a share, so large that those of %d have standard deviation σ·C, σ = %v%s; the server sees the sum of all modulo 2^%d",
		m.shares.Clients, m.shares.Least, m.noiseMultiplier, m.course, m.shares.ModulusBits)
}

// Privatize implements [Mechanism].
func (m *Distributed) Privatize(step int, sum *clip.Sum, src *random.Source, consume func(Noisy)) error {
	if m.clients = m.shares.present(step); m.clients < m.shares.Least {
		return fmt.Errorf("release: found %d clients in step %d, expected at least the %d whose noise is accounted for: %w", m.clients, step, m.shares.Least, ErrTooFew)
	}
	l := sum.Lattice()
	if l.Digits != 0 {
		return fmt.Errorf("release: found a sum on a lattice %d digits finer than that of its noise, expected none: %w", l.Digits, ErrPlan)
	}
	deviation := m.at(step) * (l.Bound / l.Spacing)
	s := math.Sqrt((deviation*deviation+smoothing)/float64(m.shares.Least)) * (1 + 0x1p-49) // rounding
	var err error
	if m.share, err = noise.RatioUp(s, noise.MaxDeviation); err != nil || s*s < 2*smoothing {
		return fmt.Errorf("release: shares of noise have a deviation of %g spacings of the lattice, expected %g to %d: %w", s, math.Sqrt(2*smoothing), int(noise.MaxDeviation), ErrPlan)
	}
	m.consume, m.dim, m.deviation = consume, sum.Dim(), m.Deviation(step, l.Bound)
	m.split(src)
	err = sum.Release(m.addShares)
	m.consume, m.integers = nil, nil
	return err
}

// addShares adds the noise of all clients to the integers of a sum and hands the result to consume.
func (m *Distributed) addShares(integers clip.Integers, l clip.Lattice) {
	m.integers, m.lattice = integers, l
	m.pool.Run(m.chunkCount(), 1, m.chunks)
}

// chunks releases chunks first up to, not including, end, on thread number.
func (m *Distributed) chunks(number, first, end int) {
	w := &m.workers[number]
	for chunk := first; chunk < end; chunk++ {
		src := m.streams[chunk]
		for from := chunk * chunkLen; from < min((chunk+1)*chunkLen, m.dim); from += len(w.noisy) {
			n := min(len(w.noisy), m.dim-from)
			sums, noisy := w.sums[:n], w.noisy[:n]
			m.integers(sums, from)
			for i, total := range sums { // overflow of 64 bits changes nothing modulo 2^k
				for range m.clients {
					total += noise.Gaussian(m.share, src)
				}
				noisy[i] = m.lattice.Spacing * float64(m.wrapped(total))
			}
			m.consume(Noisy{values: noisy, from: from, worker: number, deviation: m.deviation})
		}
	}
}

// wrapped returns x modulo 2^k, from -2^(k-1) to 2^(k-1)-1: what the server sees of a sum x.
func (m *Distributed) wrapped(x int64) int64 {
	cut := 64 - m.shares.ModulusBits
	return x << cut >> cut
}

// SharedNoise is the [Noise] whose mechanism is [Distributed].
type SharedNoise struct {
	GaussianNoise
	Shares Shares
}

func (n SharedNoise) Mechanism(s NoiseSchedule, first float64, steps int, pool *kernel.Pool) (Mechanism, error) {
	return NewDistributed(s, first, steps, n.Shares, pool)
}
