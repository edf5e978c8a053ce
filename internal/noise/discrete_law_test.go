package noise

import (
	"fmt"
	"math"
	"testing"

	"dpsgd/internal/random"
	"dpsgd/internal/slow"
)

// lawFalseFailure is the probability with which each statistical test here rejects the right law.
// The sources are seeded: a test that passes today passes tomorrow.
const lawFalseFailure = 1e-6

// lawDraws is the size of the tests of the laws; the environment variable DPSGD_DRAWS sets another
// one.
func lawDraws(t *testing.T) int { return slow.Number(t, "DPSGD_DRAWS", 400_000, 4_000_000) }

// pValue is that of Pearson's chi-square test of n draws against chance, over the integers from
// -reach to reach and what lies beyond.
func pValue(n, reach int, draw func() int64, chance func(n int) float64) float64 {
	counts, expected := make([]int, 2*reach+2), make([]float64, 2*reach+2)
	beyond := 2*reach + 1
	for range n {
		if x := draw(); x >= int64(-reach) && x <= int64(reach) {
			counts[int(x)+reach]++
		} else {
			counts[beyond]++
		}
	}
	expected[beyond] = float64(n)
	for i := range beyond {
		expected[i] = float64(n) * chance(i-reach)
		expected[beyond] -= expected[i]
	}
	return chiSquare(counts, expected)
}

func laplaceChance(scale float64) func(n int) float64 {
	a := math.Exp(-1 / scale)
	return func(n int) float64 { return (1 - a) / (1 + a) * math.Exp(-math.Abs(float64(n))/scale) }
}

func roundedChance(scale float64) func(n int) float64 {
	return func(n int) float64 {
		if n == 0 {
			return -math.Expm1(-0.5 / scale)
		}
		return math.Exp(-(math.Abs(float64(n))-0.5)/scale) * -math.Expm1(-1/scale) / 2
	}
}

func gaussianChance(sigma float64) func(n int) float64 {
	total := 0.0
	for n := -math.Ceil(40 * sigma); n <= 40*sigma; n++ {
		total += math.Exp(-n * n / (2 * sigma * sigma))
	}
	return func(n int) float64 { return math.Exp(-float64(n*n)/(2*sigma*sigma)) / total }
}

// The integers have the laws that are written at their functions. As many draws tell a law that is
// 5 % wider from them.
func TestLaws(t *testing.T) {
	n := lawDraws(t)
	for name, law := range map[string]struct {
		draw   func(Ratio, *random.Source) int64
		chance func(scale float64) func(n int) float64
	}{
		"discrete Laplace":  {Laplace, laplaceChance},
		"rounded Laplace":   {RoundedLaplace, roundedChance},
		"discrete Gaussian": {Gaussian, gaussianChance},
	} {
		for i, scale := range []Ratio{{1, 1}, {7, 2}, {1, 3}, {50, 1}, {3<<20 + 12345, 1 << 20}} {
			t.Run(fmt.Sprintf("%s %d/%d", name, scale.Num, scale.Den), func(t *testing.T) {
				t.Parallel()
				src := random.ForTest(uint64(i))
				reach := int(20*scale.Float64()) + 20
				draw := func() int64 { return law.draw(scale, src) }
				if p := pValue(n, reach, draw, law.chance(scale.Float64())); p < lawFalseFailure {
					t.Errorf("p-value %v of %d draws", p, n)
				}
				if scale.Float64() < 0.5 {
					return // next to all are 0
				}
				if p := pValue(n, reach, draw, law.chance(scale.Float64()*1.05)); p > lawFalseFailure {
					t.Errorf("p-value %v of %d draws for noise that is 5 %% larger", p, n)
				}
			})
		}
	}
}

// Each coin falls as often as it says, over all sizes of the exponent.
func TestExpCoin(t *testing.T) {
	src := random.ForTest(9)
	n := lawDraws(t) / 4
	for _, c := range []struct{ a, b, den uint64 }{
		{0, 5, 7}, {1, 1, 1}, {1, 1, 3}, {5, 1, 2}, {1, 1 << 40, 1 << 41}, {1 << 62, 1 << 20, 1 << 63}, {1 << 40, 1 << 40, 1 << 63},
		{1, 1, math.MaxUint64}, {math.MaxUint64, 1, math.MaxUint64}, {math.MaxUint64, math.MaxUint64, 1},
	} {
		want := math.Exp(-float64(c.a) * float64(c.b) / float64(c.den))
		got := 0
		for range n {
			if ExpCoin(c.a, c.b, c.den, src) {
				got++
			}
		}
		// Normal, two-sided: 4.9 deviations for 1e-6, and a hundred of a rare event.
		if off := math.Abs(float64(got) - want*float64(n)); off > 4.9*math.Sqrt(float64(n)*want*(1-want))+1e-9*float64(n) {
			t.Errorf("exp(-%d·%d/%d): %d of %d, expected %v", c.a, c.b, c.den, got, n, want*float64(n))
		}
	}
}

// Every residue is equally likely, also where n does not divide 2^64.
func TestBelow(t *testing.T) {
	src := random.ForTest(10)
	for _, n := range []uint64{1, 2, 3, 7, 1000} {
		chance := func(x int) float64 {
			if x < 0 || uint64(x) >= n {
				return 0
			}
			return 1 / float64(n)
		}
		if n == 1 {
			if x := Below(1, src); x != 0 {
				t.Errorf("below 1: %d", x)
			}
			continue
		}
		if p := pValue(200_000, int(n), func() int64 { return int64(Below(n, src)) }, chance); p < lawFalseFailure {
			t.Errorf("below %d: p-value %v", n, p)
		}
	}
	// A quarter of the words is rejected. Were it not, of every three numbers in a row the first
	// would come twice as often as the others.
	var residues [3]float64
	for range 200_000 {
		residues[Below(3<<62, src)%3]++
	}
	for r, n := range residues {
		if !(math.Abs(n-200_000./3) <= 4.9*math.Sqrt(200_000*2./9)) {
			t.Errorf("below 3·2^62: %v of 200000 are %d modulo 3", n, r)
		}
	}
}

// A ratio is never less than the number, and more by 2^-20 at most, or by 2^-30 of it.
func TestRatioUp(t *testing.T) {
	for _, x := range []float64{1e-300, 1e-9, 0.1, 1, 1.5, 1e3 / 3, 2047.9999, 1e6 + 0.3, 1<<31 - 1, 1e12 / 7} {
		r, err := RatioUp(x, MaxScale)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Float64(); !(got >= x && got <= x+0x1p-20+x*0x1p-30 || r.Den == 1 && got-x < 1) || r.Num < 1 {
			t.Errorf("%v became %v = %v", x, r, got)
		}
		if r.Den > 1 && r.Num >= 1<<31 {
			t.Errorf("%v became %v, whose numerator is above 2^31", x, r)
		}
	}
	for _, x := range []float64{0, -1, math.NaN(), math.Inf(1), MaxScale * 2} {
		if r, err := RatioUp(x, MaxScale); err == nil {
			t.Errorf("%v became %v", x, r)
		}
	}
}

// At the largest scales nothing overflows: half of the draws are beyond ln 2 scales, and both signs
// come.
func TestLargestScales(t *testing.T) {
	src := random.ForTest(11)
	for name, c := range map[string]struct {
		draw   func(Ratio, *random.Source) int64
		scale  Ratio
		median float64 // of the absolute value, in scales
	}{
		"discrete Laplace":  {Laplace, Ratio{MaxScale, 1}, math.Ln2},
		"rounded Laplace":   {RoundedLaplace, Ratio{MaxScale, 1}, math.Ln2},
		"discrete Gaussian": {Gaussian, Ratio{MaxDeviation, 1}, 0.6744897501960817},
	} {
		const n = 100_000
		beyond, positive := 0, 0
		for range n {
			x := c.draw(c.scale, src)
			if !(math.Abs(float64(x)) <= c.median*float64(c.scale.Num)) {
				beyond++
			}
			if x > 0 {
				positive++
			}
		}
		const slack = 4.9 / 2 * 317 // deviations of n fair coins
		if !(math.Abs(float64(beyond)-n/2) <= slack) || !(math.Abs(float64(positive)-n/2) <= slack) {
			t.Errorf("%s: of %d draws %d beyond the median, %d positive", name, n, beyond, positive)
		}
	}
}

func BenchmarkLaws(b *testing.B) {
	src := random.ForTest(1)
	for name, draw := range map[string]func(Ratio, *random.Source) int64{"laplace": Laplace, "rounded": RoundedLaplace, "gaussian": Gaussian} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				draw(Ratio{50, 1}, src)
			}
		})
	}
}
