package release

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/noise"
	"dpsgd/internal/random"
)

func strategy(c ...float64) Strategy { return Dyadic(c) }

func newCorrelated(sigma float64, s Strategy) *Correlated {
	return must(NewCorrelated(must(NewGaussian(sigma, nil)), s))
}

// sumOf fills the one sum of a door with the contribution of one record, or of none.
func sumOf(t *testing.T, s *clip.Sum, row []float32) {
	t.Helper()
	s.Reset()
	if row != nil {
		must(0, s.Add(clip.Batch{SquaredNorms: []float64{1e-30}, Parts: []clip.Part{clip.Stored(row, len(row))}}, 1))
	}
}

// nextRelease makes a release in this turn.
func (m *Correlated) nextRelease(turn int, s *clip.Sum, src *random.Source) []float64 {
	values := make([]float64, s.Dim())
	m.Follow(turn)
	must(0, m.Privatize(0, s, src, func(n Noisy) {
		copy(values[n.From():], n.Values())
		if want := m.Deviation(m.held, s.Lattice().Bound); !(math.Abs(n.Deviation()/want-1) < 1e-12) {
			panic(fmt.Sprintf("the noise is said to have deviation %v, expected %v", n.Deviation(), want))
		}
	}))
	return values
}

// exactly returns what the last release hid by noise, in units of the finer lattice.
func (m *Correlated) exactly(dim int) []int64 {
	m.held--
	defer func() { m.held++ }()
	f := make([]int64, dim)
	m.shifted(f, 0)
	return f
}

// distance adds |a-b|² to total.
func distance(total *big.Int, a, b []int64) {
	for i := range a {
		d := big.NewInt(a[i] - b[i])
		total.Add(total, d.Mul(d, d))
	}
}

// Whatever one record contributes, and in whichever turns of its block it takes part, also where
// turns are missing because a run was killed, all that is hidden by noise moves by at most
// ‖c‖·C for each of its turns: exactly, in integers, for random contributions and for the worst
// ones, which all point the same way. A block with fewer turns in between than bands passes that.
func TestRunsMoveByNoMoreThanTheEvents(t *testing.T) {
	const dim, turns = 5, 40
	rng := rand.New(rand.NewPCG(1, 2))
	for _, worst := range []bool{false, true} {
		for _, separation := range []int{4, 5, 3} { // of 4 bands; 3 is too few
			passed := false
			for range 20 {
				with, without := newCorrelated(1, strategy(1, 0.75, 0.5, 0.25)), newCorrelated(1, strategy(1, 0.75, 0.5, 0.25))
				there, gone := emptySum(1, dim), emptySum(1, dim)
				moved, times, turn := new(big.Int), 0, rng.IntN(separation)
				block := rng.IntN(separation)
				for range turns {
					row := []float32(nil)
					if turn%separation == block && (worst || rng.IntN(3) > 0) {
						row = make([]float32, dim)
						row[0] = 0.9997
						if !worst {
							length := 0.0
							for i := range row {
								row[i] = float32(rng.NormFloat64())
								length += float64(row[i] * row[i])
							}
							for i := range row {
								row[i] *= float32(0.9997 / (1e-12 + sqrt(length)))
							}
						}
						times++
					}
					sumOf(t, there, row)
					sumOf(t, gone, nil)
					with.nextRelease(turn, there, random.ForTest(1))
					without.nextRelease(turn, gone, random.ForTest(1))
					distance(moved, with.exactly(dim), without.exactly(dim))
					if turn++; rng.IntN(10) == 0 {
						turn += rng.IntN(3) // events without a release
					}
				}
				// times·(‖c‖·2^m·C/g)², an integer: c·2^m are integers, and C/g is a power of two here.
				l, squares := there.Lattice(), int64(0)
				for _, c := range with.strategy.Coefficients {
					squares += c * c
				}
				bound := new(big.Int).SetInt64(int64(l.Bound / l.Spacing))
				bound.Mul(bound, bound).Mul(bound, big.NewInt(squares)).Mul(bound, big.NewInt(int64(times)))
				passed = passed || moved.Cmp(bound) > 0
			}
			if passed != (separation < 4 && worst) && (separation >= 4 || worst) {
				t.Errorf("worst %v, %d turns apart: bound passed %v", worst, separation, passed)
			}
		}
	}
}

func sqrt(x float64) float64 { f, _ := new(big.Float).Sqrt(big.NewFloat(x)).Float64(); return f }

// What is handed out has the law that is claimed: Y_t, computed from it, less the exact sums of the
// steps, is noise of deviation ‖c‖·σ·C, independent between coordinates and between steps. The draws are of a
// seed. Estimates in the place of sums have another law.
func TestCorrelatedPassesTheBattery(t *testing.T) {
	s := strategy(1, 1, 1) // so that exact sums are on the lattice of the noise
	publisher := func(wrong bool) publisher {
		m, src := newCorrelated(1.5, s), random.ForTest(31)
		var estimates, sums [][]float64
		return func(step int, sum *clip.Sum) []float64 {
			plain := make([]float64, sum.Dim())
			if step == 0 {
				estimates, sums = nil, nil
			}
			kept := sum.Lattice()
			m.sum = sum // a sum of every step; a door has one
			if wrong {
				m.Follow(-1) // nothing is remembered
			} else {
				m.Follow(step)
			}
			must(0, m.Privatize(step, sum, src, func(n Noisy) { copy(plain[n.From():], n.Values()) }))
			exact := make([]float64, len(plain))
			for from := 0; from < len(exact); from += noise.Block {
				for i, v := range m.sums.block(max(1, m.held)-1, from) {
					exact[from+i] = float64(v) * kept.Spacing
				}
			}
			y := append([]float64(nil), plain...)
			for i, c := range s.Values()[1:] {
				if at := len(estimates) - 1 - i; at >= 0 {
					for j := range y {
						y[j] += c * (estimates[at][j] - sums[at][j])
					}
				}
			}
			estimates, sums = append(estimates, plain), append(sums, exact)
			return y
		}
	}
	if faults := noiseFaults(publisher(false), 1.5*s.Norm(), 1); len(faults) > 0 {
		t.Errorf("found %v", faults)
	}
	if faults := noiseFaults(publisher(true), 1.5*s.Norm(), 1); len(faults) == 0 {
		t.Error("a mechanism that remembers nothing passes as one that does")
	}
}

// Nothing is remembered across a turn without a release, a sum of another run, or a release that
// nobody gave a turn: there an estimate is the noisy sum itself.
func TestBandsBeginAnew(t *testing.T) {
	const dim = 3
	row := []float32{0.5, 0.25, 0}
	for name, between := range map[string]func(m *Correlated, s *clip.Sum) *clip.Sum{
		"a turn is missing":  func(m *Correlated, s *clip.Sum) *clip.Sum { m.turn = 7; return s },
		"a turn is repeated": func(m *Correlated, s *clip.Sum) *clip.Sum { m.turn = 4; return s },
		"another run":        func(m *Correlated, _ *clip.Sum) *clip.Sum { m.Follow(5); return emptySum(1, dim) },
		"no turn":            func(m *Correlated, s *clip.Sum) *clip.Sum { return s },
	} {
		m, s := newCorrelated(1e-30, strategy(1, 0.5, 0.5)), emptySum(1, dim)
		for turn := range 5 {
			sumOf(t, s, row)
			m.nextRelease(turn, s, random.ForTest(1))
		}
		s = between(m, s)
		sumOf(t, s, nil)
		must(0, m.Privatize(0, s, random.ForTest(1), func(Noisy) {}))
		m.held = max(m.held, 1)
		if f := m.exactly(dim); f[0] != 0 || f[1] != 0 {
			t.Errorf("%s: a sum of before counts, found %v", name, f)
		}
	}
	// And with the turn that follows it does.
	m, s := newCorrelated(1e-30, strategy(1, 0.5, 0.5)), emptySum(1, dim)
	for turn := range 5 {
		sumOf(t, s, row)
		m.nextRelease(turn, s, random.ForTest(1))
	}
	sumOf(t, s, nil)
	x := m.nextRelease(5, s, random.ForTest(1))
	if f := m.exactly(dim); f[0] == 0 || x[0] > 1e-6 || x[0] < -1e-6 {
		t.Errorf("the next turn: found %v and the estimate %v, expected sums of before and 0", f, x)
	}
}

// Without noise estimates are the sums, whatever was before.
func TestEstimatesAreTheSums(t *testing.T) {
	m, s := newCorrelated(1e-30, strategy(1, 0.9, 0.7, 0.3, 0.3, 0.2)), emptySum(1, 2*chunkLen+5)
	for turn := range 20 {
		row := make([]float32, s.Dim())
		row[turn*37] = 0.5
		sumOf(t, s, row)
		x := m.nextRelease(turn, s, random.ForTest(1))
		for i, v := range x {
			if want := float64(row[i]); v-want > 1e-5 || want-v > 1e-5 {
				t.Fatalf("turn %d, coordinate %d: found %v, expected %v", turn, i, v, want)
			}
		}
	}
}

// Sums that could leave 62 bits once their coefficients multiply them are refused, before anything
// is handed out, and the next release begins anew.
func TestShiftedSumsNeverOverflow(t *testing.T) {
	m, s := newCorrelated(1, strategy(1, 1)), emptySum(1, 2)
	huge := int64(1) << 52
	add := func(v int64) {
		sumOf(t, s, []float32{0.1, 0})
		must(0, s.Merge(func(values []int64) error { values[0] = v; return nil }))
	}
	add(huge - 1)
	m.Follow(0)
	must(0, m.Privatize(0, s, random.ForTest(1), func(Noisy) {}))
	for _, v := range []int64{huge, -2 * huge, 1 << 61, -1 << 63} {
		add(v)
		m.Follow(1)
		err := m.Privatize(1, s, random.ForTest(1), func(Noisy) { t.Error("values left") })
		if !errors.Is(err, ErrRange) || strings.Contains(fmt.Sprint(err), fmt.Sprint(max(v, -v-1))) {
			t.Errorf("%d: found %v, expected an error that does not tell the sum", v, err)
		}
	}
	other := newCorrelated(1, strategy(1, 1)) // where the sum that is remembered is the large one
	for turn, v := range []int64{huge - 1, 1 << 42} {
		add(v)
		other.Follow(turn)
		if err := other.Privatize(turn, s, random.ForTest(1), func(Noisy) {}); errors.Is(err, ErrRange) != (turn > 0) {
			t.Errorf("turn %d: found %v", turn, err)
		}
	}
	pool := kernel.NewPool(2) // each of whose threads reads several parts, the large value in an early one
	defer pool.Close()
	parts, wide := must(NewCorrelated(must(NewGaussian(1, pool)), strategy(1, 1))), emptySum(1, 64*chunkLen)
	must(0, wide.Merge(func(values []int64) error { values[0] = 1 << 61; return nil }))
	if err := parts.Privatize(0, wide, random.ForTest(1), func(Noisy) {}); !errors.Is(err, ErrRange) {
		t.Errorf("a large value in the first of many parts: found %v", err)
	}
	add(5)
	m.nextRelease(2, s, random.ForTest(1))
	if f := m.exactly(2); f[0] != 5<<StrategyDigits {
		t.Errorf("after a refusal: found %v", f)
	}
	if room := m.Room(60000); room != 60000<<StrategyDigits || m.Room(1<<62) < 1<<61 {
		t.Errorf("room %d", room)
	}
}

// A plan refuses a band that is longer than the turns of a record are apart, and strategies are
// dyadic, within 0 and 1, and begin with 1.
func TestStrategyAndPlanAreChecked(t *testing.T) {
	for name, s := range map[string]Strategy{
		"one band": strategy(1), "more digits": {[]int64{1 << 11, 3}, 11}, "above 1": {[]int64{4, 5}, 2},
		"negative": {[]int64{4, -1}, 2}, "another first": {[]int64{3, 1}, 2}, "none": {},
	} {
		if _, err := NewCorrelated(must(NewGaussian(1, nil)), s); !errors.Is(err, ErrPlan) {
			t.Errorf("%s: found %v", name, err)
		}
	}
	for _, base := range []*Gaussian{must(NewGaussian(MaxNoiseMultiplier/1.4, nil)), must(NewScheduled(&LinearNoise{0.5}, 1, 9, nil))} {
		if _, err := NewCorrelated(base, strategy(1, 1)); !errors.Is(err, ErrPlan) {
			t.Errorf("more noise than there is, or another in each step: found %v", err)
		}
	}
	for separation, sampler := range map[int]Sampler{
		1: data.Poisson{SamplingProbability: 0.1}, 0: data.Full{}, 3: (&Cyclic{Blocks: 3}).Sampler(1, 30), 4: (&Cyclic{Blocks: 4}).Sampler(1, 30), 9: (&Cyclic{Blocks: 9}).Sampler(1, 30),
	} {
		p := Plan{Records: 30, Sampler: sampler, Policy: clip.Flat{ClipNorm: 1}, Mechanism: newCorrelated(1, strategy(1, 0.5, 0.5, 0.1))}
		if _, err := NewDoor(p, 3, new(MemoryJournal), nil, nil); (err == nil) != (separation >= 4) {
			t.Errorf("%d turns apart: found %v", separation, err)
		}
		if e := p.Mechanism.Event(3); e != (accountant.Gaussian{NoiseMultiplier: 1}) {
			t.Errorf("found the event %v", e)
		}
	}
	norm := strategy(1, 1, 1).Norm() // a float64 next to the root of 3 that is rounded down
	if !(norm > 1.7320508 && norm < 1.7320509) || norm*norm < 3 {
		t.Errorf("found the norm %v", norm)
	}
	for _, sigma := range []float64{2, 1.1, 1.3, 1.7} {
		m := newCorrelated(sigma, strategy(1, 1, 1))
		// Estimates take 1, -1, 0, 1, -1, 0 times the noise of steps 5, 4, …, 0: together twice as much.
		if math.FMA(sigma, norm, -m.noise()) > 0 || fmt.Sprint(m) == "" || m.Deviation(0, 0.5) < sigma*norm/2 || !(math.Abs(m.Deviation(5, 0.5)/m.noise()-1) < 1e-12) {
			t.Errorf("found noise of multiplier %v and %v in step 5, expected at least %v·%v and as much", m.noise(), m.Deviation(5, 0.5), sigma, norm)
		}
	}
}

// Noise of a step, on one thread: independent, and correlated over 8 steps.
func BenchmarkPrivatize(b *testing.B) {
	for _, dim := range []int{26010, 550570} {
		pool := kernel.NewPool(1)
		defer pool.Close()
		base := must(NewGaussian(1, pool))
		for name, m := range map[string]Mechanism{"independent": base, "8 bands": must(NewCorrelated(must(NewGaussian(1, pool)), strategy(1, 0.5, 0.4, 0.3, 0.3, 0.25, 0.2, 0.2)))} {
			b.Run(fmt.Sprint(dim, "/", name), func(b *testing.B) {
				sum, src, turn := must(clip.NewSum(clip.Flat{ClipNorm: 1}, dim, pool)), random.ForTest(1), 0
				for b.Loop() {
					sum.Reset()
					if r, ok := m.(Remembering); ok {
						r.Follow(turn)
						turn++
					}
					must(0, m.Privatize(0, sum, src, func(Noisy) {}))
				}
			})
		}
	}
}
