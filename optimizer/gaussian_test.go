package optimizer

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/internal/random"
)

func gaussian(t testing.TB, noiseMultiplier float64, seed uint64) *Gaussian {
	t.Helper()
	m, err := NewGaussian(noiseMultiplier, random.Seeded(seed))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func published(m Mechanism) publisher {
	return func(sum *clip.Sum) ([]float64, error) {
		noisy, err := m.Privatize(sum)
		if err != nil {
			return nil, err
		}
		return consumed(noisy), nil
	}
}

// consumed uses a Noisy up and returns what an update would have been given.
func consumed(n Noisy) []float64 {
	r, err := n.take()
	if err != nil {
		panic(err)
	}
	defer r.done()
	var w workspace
	values := make([]float64, 0, n.Len())
	for from := 0; from < n.Len(); from += blockLen {
		values = append(values, r.withNoise(from, min(from+blockLen, n.Len()), &w)...)
	}
	return values
}

// bare is a Noisy of multiples of 2^-40 that an update finds without noise.
func bare(values ...float64) Noisy {
	m, _ := NewGaussian(1, random.Seeded(1))
	r := m.idleRelease()
	*r.unnoised = unnoised{sum: clip.NewSum(1, len(values)), values: slices.Clone(values), grid: lattice{0x1p-40},
		streams: m.streamsFor(len(values))}
	return Noisy{length: len(values), release: r}
}

func TestGaussianPassesTheBattery(t *testing.T) {
	for i, c := range []struct{ noiseMultiplier, bound float64 }{{1, 1}, {0.5, 0.01}, {4, 100}, {1.1, 0.3}} {
		t.Run(fmt.Sprintf("sigma=%g C=%g", c.noiseMultiplier, c.bound), func(t *testing.T) {
			m := gaussian(t, c.noiseMultiplier, uint64(20+i))
			for _, fault := range noiseFaults(published(m), c.noiseMultiplier, c.bound) {
				t.Error(fault)
			}
		})
	}
}

// The battery has power: each mechanism that is wrong in a way that others have been is caught.
func TestBatteryRejectsBrokenMechanisms(t *testing.T) {
	const sigma, bound = 1.0, 0.5
	// withNoise is the right mechanism but for what change makes of its noise.
	withNoise := func(change func(i int, noise float64) float64) publisher {
		right := published(gaussian(t, sigma, 30))
		grid, _ := latticeFor(bound)
		return func(sum *clip.Sum) ([]float64, error) {
			clean, b, err := sum.Release()
			if err != nil {
				return nil, err
			}
			noisy, err := right(clip.NewSum(b, len(clean)))
			for i, v := range noisy {
				noisy[i] = float64(grid.index(clean[i])+grid.index(change(i, v))) * grid.spacing
			}
			return noisy, err
		}
	}
	scaled := func(factor float64) publisher {
		return withNoise(func(_ int, v float64) float64 { return factor * v })
	}
	src := random.Seeded(31)
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
		"mean + 0.0375 sigma":                withNoise(func(_ int, v float64) float64 { return v + 0.0375*sigma*bound }),
		"lattice sixteen times as coarse": withNoise(func(_ int, v float64) float64 {
			return math.Round(v*0x1p27) * 0x1p-27
		}),
		"the same noise in every step": func(sum *clip.Sum) ([]float64, error) {
			return published(gaussian(t, sigma, 32))(sum)
		},
		"the same noise in every chunk": func(sum *clip.Sum) ([]float64, error) {
			noise := make([]float64, chunkLen)
			random.Normals(noise, src)
			return withNoise(func(i int, _ float64) float64 { return sigma * bound * noise[i%chunkLen] })(sum)
		},
		"one number for all coordinates": func(sum *clip.Sum) ([]float64, error) {
			noise := make([]float64, 1)
			random.Normals(noise, src)
			return withNoise(func(int, float64) float64 { return sigma * bound * noise[0] })(sum)
		},
		"noise on the lattice, sum not": func(sum *clip.Sum) ([]float64, error) {
			clean, b, err := sum.Release()
			if err != nil {
				return nil, err
			}
			noisy, err := published(gaussian(t, sigma, src.Uint64()))(clip.NewSum(b, len(clean)))
			for i := range noisy {
				noisy[i] += clean[i]
			}
			return noisy, err
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

func TestEventDescribesTheNoise(t *testing.T) {
	if got, want := gaussian(t, 1.25, 1).Event(), (accountant.Gaussian{NoiseMultiplier: 1.25}); got != want {
		t.Errorf("Event() = %#v, want %#v", got, want)
	}
}

func TestNewGaussianRefuses(t *testing.T) {
	src := random.Seeded(1)
	for _, sigma := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 2 * MaxNoiseMultiplier} {
		if _, err := NewGaussian(sigma, src); err == nil {
			t.Errorf("NewGaussian(%g) gives no error", sigma)
		}
	}
	if _, err := NewGaussian(1, nil); err == nil {
		t.Error("NewGaussian without a source gives no error")
	}
	for _, sigma := range []float64{1e-12, MaxNoiseMultiplier} {
		if _, err := NewGaussian(sigma, src); err != nil {
			t.Error(err)
		}
	}
}

// One sum, one release, one draw of noise; a sum with something wrong in it gives none.
func TestPrivatizeTakesASumOnce(t *testing.T) {
	m := gaussian(t, 1, 2)
	sum := clip.NewSum(1, 3)
	if noisy, err := m.Privatize(sum); err != nil || noisy.Len() != 3 {
		t.Fatalf("Privatize gives %d values, error %v, want 3 and none", noisy.Len(), err)
	}
	if noisy, err := m.Privatize(sum); !errors.Is(err, clip.ErrReleased) || noisy.Len() != 0 {
		t.Errorf("second Privatize gives %d values, error %v, want 0 and %v", noisy.Len(), err, clip.ErrReleased)
	}
	broken := clip.NewSum(1, 2)
	if err := broken.Add([]float32{float32(math.NaN()), 0}); err == nil {
		t.Fatal("a NaN was added")
	}
	if noisy, err := m.Privatize(broken); !errors.Is(err, clip.ErrNotFinite) || noisy.Len() != 0 {
		t.Errorf("Privatize of a broken sum gives %d values, error %v, want 0 and %v", noisy.Len(), err, clip.ErrNotFinite)
	}
	for _, bound := range []float64{math.SmallestNonzeroFloat64, math.MaxFloat64} {
		if _, err := m.Privatize(clip.NewSum(bound, 2)); err == nil {
			t.Errorf("bound %g has no lattice, but there is no error", bound)
		}
	}
}

// The noise is scaled for the sum as rounded: σ·(C + g·√d), which for d = 10^4 is a hundred points of the lattice more
// than σ·C.
func TestNoiseIsScaledByTheInflatedBound(t *testing.T) {
	const sigma, bound, dim = 2.0, 1.5, 10_000
	got, err := published(gaussian(t, sigma, 4))(clip.NewSum(bound, dim))
	if err != nil {
		t.Fatal(err)
	}
	want := make([]float64, dim)
	lattice{0x1p-30}.addNoise(want, sigma*(bound+0x1p-30*100), random.Seeded(4))
	if !slices.Equal(got, want) {
		t.Error("the noise is not that of σ·(C + g·√d)")
	}
	clear(want)
	lattice{0x1p-30}.addNoise(want, sigma*bound, random.Seeded(4))
	if slices.Equal(got, want) {
		t.Error("the noise is that of σ·C: rounding the sum is not paid for")
	}
}

// Two mechanisms made as production makes them share no noise: correlation over 10^5 coordinates within its limit.
func TestFreshMechanismsAreIndependent(t *testing.T) {
	const dim = 100_000
	var runs [2][]float64
	for i := range runs {
		m, err := NewGaussian(1, random.New())
		if err != nil {
			t.Fatal(err)
		}
		if runs[i], err = published(m)(clip.NewSum(1, dim)); err != nil {
			t.Fatal(err)
		}
	}
	if r := dot(runs[0], runs[1]) / math.Sqrt(dim); math.Abs(r) > limit {
		t.Errorf("correlation of two runs is %.2f standard errors, want at most %g", r, limit)
	}
}

func ExampleGaussian() {
	mechanism, err := NewGaussian(1.1, random.New())
	if err != nil {
		panic(err)
	}
	sum := clip.NewSum(0.1, 1000) // a logical batch without examples: noise alone
	noisy, err := mechanism.Privatize(sum)
	fmt.Println(noisy.Len(), err, mechanism.Event())
	_, err = mechanism.Privatize(sum)
	fmt.Println(err)
	// Output:
	// 1000 <nil> Gaussian(σ=1.1)
	// optimizer: clip: sum already released
}
