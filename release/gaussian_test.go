package release

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/noise"
	"dpsgd/internal/random"
)

func gaussian(noiseMultiplier float64, seed uint64, pool *kernel.Pool) Mechanism {
	return seeded{must(NewGaussian(noiseMultiplier, pool)), random.ForTest(seed)}
}

// seeded is a mechanism whose noise is a function of a seed.
type seeded struct {
	Mechanism
	src *random.Source
}

func (m seeded) Privatize(step int, sum *clip.Sum, _ *random.Source, consume func(Noisy)) error {
	return m.Mechanism.Privatize(step, sum, m.src, consume)
}

// published is everything that a mechanism hands out for a sum, each coordinate exactly once.
func published(t testing.TB, m Mechanism, step int, sum *clip.Sum) []float64 {
	t.Helper()
	values, times := make([]float64, sum.Dim()), make([]int, sum.Dim())
	var mu sync.Mutex
	busy := map[int]bool{} // workers
	err := m.Privatize(step, sum, random.New(), func(n Noisy) {
		mu.Lock()
		if busy[n.Worker()] {
			t.Errorf("worker %d is at two blocks at a time", n.Worker())
		}
		busy[n.Worker()] = true
		mu.Unlock()
		for i, v := range n.Values() {
			values[n.From()+i] = v
			times[n.From()+i]++
		}
		if want := m.Deviation(step, sum.Lattice().Bound); !(math.Abs(n.Deviation()/want-1) <= 1e-15) {
			t.Errorf("block at %d has deviation %v, expected %v", n.From(), n.Deviation(), want)
		}
		mu.Lock()
		busy[n.Worker()] = false
		mu.Unlock()
	})
	must(0, err)
	for i, k := range times {
		if k != 1 {
			t.Fatalf("coordinate %d of %d is handed out %d times, expected once", i, len(times), k)
		}
	}
	return values
}

func TestGaussianPassesTheBattery(t *testing.T) {
	for i, c := range []struct{ noiseMultiplier, bound float64 }{{1, 1}, {0.5, 0.01}, {4, 100}, {1.1, 0.3}} {
		t.Run(fmt.Sprintf("sigma=%g C=%g", c.noiseMultiplier, c.bound), func(t *testing.T) {
			pool := kernel.NewPool(2)
			defer pool.Close()
			m := gaussian(c.noiseMultiplier, uint64(20+i), pool)
			publish := func(step int, sum *clip.Sum) []float64 { return published(t, m, step, sum) }
			for _, fault := range noiseFaults(publish, c.noiseMultiplier, c.bound) {
				t.Error(fault)
			}
		})
	}
}

// The battery has power: each mechanism that is wrong in a way that others have been is caught.
func TestBatteryRejectsBrokenMechanisms(t *testing.T) {
	const sigma, bound = 1.0, 0.5
	spacing := func() float64 { s, _ := known(bound); return s.Lattice().Spacing }()
	// withNoise is the right mechanism but for what change makes of its noise.
	withNoise := func(change func(i int, v float64) float64) publisher {
		right := gaussian(sigma, 30, nil)
		return func(step int, sum *clip.Sum) []float64 {
			_, clean := known(bound)
			noisy := published(t, right, step, sum)
			for i, v := range noisy {
				noisy[i] = clean[i] + spacing*math.Round(change(i, v-clean[i])/spacing)
			}
			return noisy
		}
	}
	scaled := func(factor float64) publisher {
		return withNoise(func(_ int, v float64) float64 { return factor * v })
	}
	normals := func(n int, src *random.Source) []float64 {
		draw, z := rand.New(src), make([]float64, n)
		for i := range z {
			z[i] = draw.NormFloat64()
		}
		return z
	}
	src := random.ForTest(31)
	for name, twin := range map[string]publisher{
		"variance x 1.0625":                  scaled(math.Sqrt(1.0625)),
		"variance / 1.0625":                  scaled(1 / math.Sqrt(1.0625)),
		"half the noise":                     scaled(0.5),
		"0.8 of the noise":                   scaled(0.8),
		"no noise":                           scaled(0),
		"C omitted":                          scaled(1 / bound),
		"C squared":                          scaled(bound),
		"twice":                              scaled(math.Sqrt2),
		"noise of a mean, for a batch of 64": scaled(1.0 / 64),
		"a thousandth":                       scaled(1e-3),
		"mean + 0.0375 sigma":                withNoise(func(_ int, v float64) float64 { return v + 0.0375*sigma*bound }),
		"cut at 4 sigma": withNoise(func(_ int, v float64) float64 {
			return max(-4*sigma*bound, min(4*sigma*bound, v))
		}),
		"lattice sixteen times as coarse": func(step int, sum *clip.Sum) []float64 {
			noisy := published(t, gaussian(sigma, src.Uint64(), nil), step, sum)
			for i, v := range noisy {
				noisy[i] = math.Round(v/(16*spacing)) * 16 * spacing
			}
			return noisy
		},
		"the same noise in every step": func(step int, sum *clip.Sum) []float64 {
			return published(t, gaussian(sigma, 32, nil), step, sum)
		},
		"the same noise in every chunk": func(step int, sum *clip.Sum) []float64 {
			z := normals(chunkLen, src)
			return withNoise(func(i int, _ float64) float64 { return sigma * bound * z[i%chunkLen] })(step, sum)
		},
		"the same noise in every block": func(step int, sum *clip.Sum) []float64 {
			z := normals(batteryDim, src)
			return withNoise(func(i int, _ float64) float64 {
				return sigma * bound * z[i/chunkLen*noise.Block+i%noise.Block]
			})(step, sum)
		},
		"one number for all coordinates": func(step int, sum *clip.Sum) []float64 {
			z := normals(1, src)
			return withNoise(func(int, float64) float64 { return sigma * bound * z[0] })(step, sum)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if len(noiseFaults(twin, sigma, bound)) == 0 {
				t.Error("the battery accepts it")
			}
		})
	}
	// The frame itself is not what is caught.
	if faults := noiseFaults(scaled(1), sigma, bound); len(faults) > 0 {
		t.Errorf("the battery rejects the right noise: %q", faults)
	}
}

// Every coordinate of a vector of any length has noise of the right size, and new noise in every
// release: the sum of the squares of 64 draws is chi-squared with 64 degrees of freedom, below 15
// or above 170 with probability 1e-11, and there are 35,000 coordinates.
func TestEveryCoordinateHasNoise(t *testing.T) {
	var lengths []int
	for _, around := range []int{20, noise.Block, chunkLen, 2 * chunkLen} {
		for n := max(1, around-9); n <= around+9; n += 3 {
			lengths = append(lengths, n)
		}
	}
	for n := 1; n <= 17; n++ {
		lengths = append(lengths, n)
	}
	pool := kernel.NewPool(2)
	defer pool.Close()
	for _, dim := range lengths {
		const sigma, bound, releases = 0.7, 3.0, 64
		m := gaussian(sigma, uint64(dim), pool)
		squares := make([]float64, dim)
		for step := range releases {
			for i, v := range published(t, m, step, emptySum(bound, dim)) {
				squares[i] += v * v / (sigma * bound * sigma * bound)
			}
		}
		for i, s := range squares {
			if s < 15 || s > 170 {
				t.Fatalf("coordinate %d of %d: the squares of %d draws sum to %.3g", i, dim, releases, s)
			}
		}
	}
}

func emptySum(bound float64, dim int) *clip.Sum {
	return must(clip.NewSum(clip.Flat{ClipNorm: bound}, dim, nil))
}

// For one state of the source the noise does not depend on the number of threads.
func TestNoiseDoesNotDependOnThreads(t *testing.T) {
	const dim = 5*chunkLen + 77
	publish := func(threads int) (all []float64) {
		pool := kernel.NewPool(threads)
		defer pool.Close()
		m := gaussian(1, 5, pool)
		for step := range 3 {
			all = append(all, published(t, m, step, emptySum(1, dim))...)
		}
		return all
	}
	want := publish(1)
	for _, threads := range []int{2, 3, 4} {
		if !slices.Equal(publish(threads), want) {
			t.Errorf("%d threads make other noise than 1", threads)
		}
	}
}

// Chunk k has the k-th stream that was split off the source, and goes on with it in the next
// release: two threads never take words from one stream.
func TestEveryChunkHasItsOwnStream(t *testing.T) {
	const chunks = 3
	m, src := gaussian(1, 5, nil), random.ForTest(5)
	streams := []*random.Source{src.Split(), src.Split(), src.Split()}
	for step := range 2 {
		sum := emptySum(1, chunks*chunkLen)
		found := published(t, m, step, sum)
		deviation := m.Deviation(step, 1) / sum.Lattice().Spacing
		for k, stream := range streams {
			var adder noise.Adder
			want := make([]float64, chunkLen)
			for i := 0; i < chunkLen; i += noise.Block {
				adder.Add(want[i:i+noise.Block], make([]float64, noise.Block), make([]float64, noise.Block), deviation, sum.Lattice().Spacing, stream)
			}
			if !slices.Equal(found[k*chunkLen:(k+1)*chunkLen], want) {
				t.Errorf("release %d: chunk %d does not have the noise of its stream", step, k)
			}
		}
	}
}

// Noise is added to the integers themselves: the same noise on two sums differs by their exact
// difference.
func TestNoiseIsAddedToTheSum(t *testing.T) {
	sum, clean := known(0.7)
	with := published(t, gaussian(2, 9, nil), 0, sum)
	without := published(t, gaussian(2, 9, nil), 0, emptySum(0.7, batteryDim))
	for i := range with {
		if with[i]-without[i] != clean[i] {
			t.Fatalf("coordinate %d: the values differ by %v, the sums by %v", i, with[i]-without[i], clean[i])
		}
	}
}

// finest returns a sum on a lattice finer than the noise's, whose coordinates are all at the same
// fraction of the noise's spacing, and that spacing.
func finest(dim int, fraction float64) (*clip.Sum, float64) {
	sum := emptySum(1, dim)
	sum.Refine(1000)
	spacing := coarse(sum.Lattice())
	row := make([]float32, dim)
	for i := range row {
		row[i] = float32(fraction * spacing)
	}
	must(0, sum.Add(clip.Batch{SquaredNorms: []float64{0}, Parts: []clip.Part{clip.Stored(row, dim)}}, 1))
	return sum, spacing
}

// Noise is added before a sum is rounded to the lattice of the noise: every multiple of its spacing
// has the probability that normal noise around the sum gives its half spacing on both sides. Noise
// around the rounded sum, which one record can move by more than the bound, is rejected. A count is
// further off than 5.5 deviations with probability 4e-8; the source is seeded.
func TestNoiseIsAddedBeforeRounding(t *testing.T) {
	const dim, fraction = 200_000, 0.3
	sum, spacing := finest(dim, fraction)
	counts := map[float64]float64{}
	for _, v := range published(t, gaussian(0x1p-20, 7, nil), 0, sum) { // of one spacing
		counts[v/spacing]++
	}
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	worst := func(centre float64) (worst float64) {
		for n := -3.0; n <= 3; n++ {
			p := phi(n+0.5-centre) - phi(n-0.5-centre)
			worst = max(worst, math.Abs(counts[n]-dim*p)/math.Sqrt(dim*p*(1-p)))
		}
		return worst
	}
	if found := worst(fraction); found > 5.5 {
		t.Errorf("a count is %.1f deviations off the law of rounded noise", found)
	}
	if found := worst(0); found < 10 {
		t.Errorf("noise around the rounded sum is accepted: no count is more than %.1f deviations off", found)
	}
}

// A door's sums are as fine as the number of records leaves room for. Sums of clients who add noise
// themselves lie on the noise's lattice; others are refused.
func TestSumsAreAsFineAsTheRecordsAllow(t *testing.T) {
	shares := Shares{Clients: 3, Least: 3, ModulusBits: 40}
	for _, c := range []struct {
		mechanism Mechanism
		records   int
		digits    int
	}{
		{gaussian(1, 1, nil), 1000, 26}, {gaussian(1, 1, nil), 60_000, 25}, {gaussian(1, 1, nil), 1 << 30, 10},
		{distributed(1, shares, 1, nil), 1000, 0},
	} {
		p := Plan{Records: c.records, Sampler: data.Full{}, Policy: clip.Flat{ClipNorm: 1}, Mechanism: c.mechanism}
		d := must(NewDoor(p, 3, nil, nil, nil))
		if found := d.sum.Lattice().Digits; found != c.digits {
			t.Errorf("%s, %d records: found %d digits, expected %d", c.mechanism.Name(), c.records, found, c.digits)
		}
	}
	sum, _ := finest(3, 0.3)
	err := distributed(1, shares, 1, nil).Privatize(0, sum, random.ForTest(1), func(Noisy) { t.Error("a sum left") })
	if !errors.Is(err, ErrPlan) {
		t.Errorf("error is %v, expected %v", err, ErrPlan)
	}
}

func TestGaussianDescribesItself(t *testing.T) {
	m := gaussian(1.25, 1, nil)
	if got, want := m.Event(7), (accountant.Gaussian{NoiseMultiplier: 1.25}); got != accountant.Event(want) {
		t.Errorf("Event is %#v, want %#v", got, want)
	}
	if m.Name() != "Gaussian" || m.String() != "Gaussian noise of standard deviation σ·C on every coordinate of the sum, σ = 1.25" {
		t.Errorf("calls itself %q, %q", m.Name(), m.String())
	}
}

// What is claimed of the noise is never above what is added: its deviation is no less than σ·C,
// taken as real numbers, on the lattice and off it, though most products of floats are rounded down
// or up.
func TestDeviationIsRoundedUp(t *testing.T) {
	src := random.Seeded(6)
	atLeast := func(what string, got, sigma, bound float64) {
		t.Helper()
		exact := new(big.Float).SetPrec(200).SetFloat64(sigma)
		if exact.Mul(exact, new(big.Float).SetFloat64(bound)); new(big.Float).SetFloat64(got).Cmp(exact) < 0 {
			t.Errorf("σ = %v, C = %v: the deviation %s is %v, below σ·C", sigma, bound, what, got)
		}
		if product := sigma * bound; got > product*(1+1e-15) {
			t.Errorf("σ = %v, C = %v: the deviation %s is %v, far above σ·C", sigma, bound, what, got)
		}
	}
	for range 200 {
		sigma, bound := 0.5+3*src.Float64(), 0.1+src.Float64()
		m := must(NewGaussian(sigma, nil))
		atLeast("that is claimed", m.Deviation(0, bound), sigma, bound)
		sum := emptySum(bound, 1)
		l := sum.Lattice()
		must(0, m.Privatize(0, sum, random.New(), func(Noisy) {}))
		atLeast("of the integers", m.deviation*l.Spacing, sigma, bound)
	}
}

func TestNewGaussianRefuses(t *testing.T) {
	for _, sigma := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 2 * MaxNoiseMultiplier} {
		if _, err := NewGaussian(sigma, nil); !errors.Is(err, ErrPlan) {
			t.Errorf("NewGaussian(%g): error is %v, want %v", sigma, err, ErrPlan)
		}
	}
	for _, sigma := range []float64{1e-12, MaxNoiseMultiplier} {
		if _, err := NewGaussian(sigma, nil); err != nil {
			t.Error(err)
		}
	}
}

// Before cuts a block and changes nothing else about it: no value, no place, no noise.
func TestBeforeCutsBlocks(t *testing.T) {
	const dim = 1500
	var mu sync.Mutex
	must(0, gaussian(1, 1, nil).Privatize(0, emptySum(1, dim), nil, func(n Noisy) {
		mu.Lock()
		defer mu.Unlock()
		for _, end := range []int{0, 1, n.From(), n.From() + 1, 700, dim - 1, dim, dim + 1} {
			cut := n.Before(end)
			want := n.Values()[:max(0, min(len(n.Values()), end-n.From()))]
			if !slices.Equal(cut.Values(), want) || cut.From() != n.From() || cut.Worker() != n.Worker() || cut.Deviation() != n.Deviation() {
				t.Errorf("the block of %d values from %d, before %d, has %d values from %d", len(n.Values()), n.From(), end, len(cut.Values()), cut.From())
			}
		}
	}))
}
