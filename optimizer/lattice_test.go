package optimizer

import (
	"math"
	"math/rand/v2"
	"testing"

	"dpsgd/clip"
	"dpsgd/internal/random"
)

// The spacing is a power of two in (C·2^-31, C·2^-30].
func TestLatticeSpacing(t *testing.T) {
	for _, bound := range []float64{0x1p-512, clip.MinClipNorm, 0.01, 0.1, 1, math.Nextafter(2, 0), 2, 100, clip.MaxClipNorm, 0x1p512} {
		grid, err := latticeFor(bound)
		if err != nil {
			t.Fatal(err)
		}
		if f, _ := math.Frexp(grid.spacing); f != 0.5 {
			t.Errorf("C = %g: spacing %g is no power of two", bound, grid.spacing)
		}
		if r := bound / grid.spacing; r < 0x1p30 || r >= 0x1p31 {
			t.Errorf("C = %g: spacing is C/%g, want C/2^30 to C/2^31", bound, r)
		}
	}
}

// index is the number of the lattice point next to x, saturated: the integer that AddNoise adds noise to.
func (l lattice) index(x float64) int64 {
	const most = 0x1p61
	return int64(max(-most, min(most, math.RoundToEven(x/l.spacing))))
}

// addNoise is the noise of a mechanism with this source, in place and without a sum: chunk by chunk, block by block.
func (l lattice) addNoise(values []float64, deviation float64, src *random.Source) {
	var w workspace
	var stream *random.Source
	for from := 0; from < len(values); from += blockLen {
		if from%chunkLen == 0 {
			stream = src.Split()
		}
		block := values[from:min(from+blockLen, len(values))]
		copy(block, l.withNoise(block, deviation, stream, &w))
	}
}

// Without noise, what is left is the rounding of the sum. A block of any length is treated alike.
func TestLatticeRounding(t *testing.T) {
	grid := lattice{0x1p-30}
	cases := []struct{ x, want float64 }{
		{0, 0}, {0x1p-30, 1}, {-0x1p-30, -1}, {0x1.8p-31, 1}, {-0x1.8p-31, -1}, {0x0.8p-31, 0}, {1, 1 << 30},
		{1.5 * 0x1p-30, 2}, {2.5 * 0x1p-30, 2}, // ties to even
		{1e300, 1 << 61}, {-1e300, -1 << 61}, // saturated
	}
	for n := range len(cases) + 1 {
		var values []float64
		for _, c := range cases[:n] {
			values = append(values, c.x)
		}
		grid.addNoise(values, 0, random.Seeded(39))
		for i, c := range cases[:n] {
			if values[i] != c.want*grid.spacing || values[i] != float64(grid.index(c.x))*grid.spacing {
				t.Errorf("%g of %d values is rounded to %g points, want %g", c.x, n, values[i]/grid.spacing, c.want)
			}
		}
	}
}

// The noise is rounded up with a probability equal to its fractional part, so that its mean is that of the normal
// number: on a lattice of 1 with a deviation of 0.01, where nearly all of it is fraction, the mean over 10^6 draws is
// within 4.417 standard errors of 0 (false failure 1e-5); so is the share of the points -1 and 1, E|N|/2 = 0.00399
// each.
func TestNoiseIsRoundedAtRandom(t *testing.T) {
	const n, deviation = 1_000_000, 0.01
	values := make([]float64, n)
	lattice{1}.addNoise(values, deviation, random.Seeded(40))
	var up, down float64
	for _, v := range values {
		switch v {
		case 1:
			up++
		case -1:
			down++
		case 0:
		default:
			t.Fatalf("noise of deviation %g is rounded to %g", deviation, v)
		}
	}
	p := deviation / math.Sqrt(2*math.Pi)
	for name, count := range map[string]float64{"up": up, "down": down} {
		if se := math.Sqrt(p * (1 - p) / n); math.Abs(count/n-p) > limit*se {
			t.Errorf("share rounded %s is %.5f, want %.5f ± %.2g", name, count/n, p, limit*se)
		}
	}
	if se := math.Sqrt(2 * p / n); math.Abs(up-down)/n > limit*se {
		t.Errorf("mean is %g, want 0 ± %.2g", (up-down)/n, limit*se)
	}
}

// The deviation is that of the argument, on a lattice coarse enough to see its own part too: rounding at random adds
// the mean of frac·(1-frac), 1/6 in squared units of the lattice. Within 0.62 % (false failure 1e-5).
func TestAddNoiseHasTheDeviationAsked(t *testing.T) {
	const n, deviation = 1_000_000, 3.0
	values := make([]float64, n)
	lattice{0.25}.addNoise(values, deviation, random.Seeded(41))
	want := deviation*deviation + 0.0625/6
	if got := dot(values, values) / n; math.Abs(got-want) > limit*math.Sqrt(2.0/n)*want {
		t.Errorf("variance is %g, want %g within 0.62 %%", got, want)
	}
}

// R12, the small case in full: on a lattice of 0.25 with noise of two points' deviation, two neighbouring sums that
// round to different points, 2 and 0, give the same set of outputs from -6 to 6. The rarest of these, four deviations
// out, has a probability of 6.7e-5: 500,000 draws miss it with probability exp(-33).
func TestNeighboursHaveTheSameSupport(t *testing.T) {
	const n, deviation, reach = 500_000, 0.5, 6
	support := func(x float64, seed uint64) map[float64]bool {
		values := make([]float64, n)
		for i := range values {
			values[i] = x
		}
		lattice{0.25}.addNoise(values, deviation, random.Seeded(seed))
		points := map[float64]bool{}
		for _, v := range values {
			if math.Abs(v) <= reach*0.25 {
				points[v] = true
			}
		}
		return points
	}
	a, b := support(0.4, 42), support(-0.1, 43)
	for v := -reach * 0.25; v <= reach*0.25; v += 0.25 {
		if !a[v] || !b[v] {
			t.Errorf("output %g: possible for one data set %t, for its neighbour %t", v, a[v], b[v])
		}
	}
	if len(a) != 2*reach+1 || len(b) != 2*reach+1 {
		t.Errorf("supports have %d and %d points, want %d", len(a), len(b), 2*reach+1)
	}
}

// ziggurat is the table of math/rand/v2's NormFloat64, which returns int32·ziggurat[i]. Marsaglia and Tsang, The
// Ziggurat Method for Generating Random Variables, Journal of Statistical Software 5(8), 2000: their zigset, with
// 128 strips of equal area 9.91256303526217e-3 up to 3.442619855899.
func ziggurat() (table [128]float32) {
	const scale, area = 1 << 31, 9.91256303526217e-3
	x := 3.442619855899
	table[0] = float32(area / math.Exp(-0.5*x*x) / scale)
	table[127] = float32(x / scale)
	for i := 126; i >= 1; i-- {
		x = math.Sqrt(-2 * math.Log(area/x+math.Exp(-0.5*x*x)))
		table[i] = float32(x / scale)
	}
	return table
}

// distinguisher is the attack on noise from the standard library: output y could have come from sum f if
// y = f + σ·int32·table entry, to the last bit of y, for some strip.
type distinguisher struct {
	table [128]float32
	sigma float64
}

func (d distinguisher) consistent(y, f float64) bool {
	for _, w := range d.table {
		n := math.Round((y - f) / d.sigma / float64(w))
		if math.Abs(n) <= 1<<31 && f+d.sigma*(n*float64(w)) == y {
			return true
		}
	}
	return false
}

// onLattice is the attack on noise that is on a lattice while the sum is not: y-f is a multiple of the spacing.
func onLattice(y, f float64) bool {
	grid, _ := latticeFor(1)
	n := (y - f) / grid.spacing
	return math.Abs(n-math.Round(n)) < 1e-3
}

// score is the share of right guesses which of two sums an output belongs to; when the attack says the same of both,
// the guess is worth one half.
func score(consistent func(y, f float64) bool, outputs [2][]float64, sums [2]float64) float64 {
	var right, all float64
	for truth, ys := range outputs {
		for _, y := range ys {
			own, other := consistent(y, sums[truth]), consistent(y, sums[1-truth])
			switch {
			case own == other:
				right += 0.5
			case own:
				right++
			}
			all++
		}
	}
	return right / all
}

// R12: the distinguishers win against the mechanisms that they were made for, and do not against ours: their score is
// at most 0.5 + 4.417 standard errors (false failure below 1e-5).
func TestDistinguishersFail(t *testing.T) {
	const sigma, n = 4.0, 5000
	sums := [2]float64{0.123456789, 0.987654321}
	outputs := func(draw func(f float64) float64) (ys [2][]float64) {
		for i, f := range sums {
			for range n {
				ys[i] = append(ys[i], draw(f))
			}
		}
		return ys
	}
	std, src := rand.New(random.Seeded(50)), random.Seeded(51)
	naive := outputs(func(f float64) float64 { return f + sigma*std.NormFloat64() })
	grid, _ := latticeFor(1)
	half := outputs(func(f float64) float64 {
		noise := make([]float64, 1)
		grid.addNoise(noise, sigma, src)
		return f + noise[0]
	})
	var ours [2][]float64
	for i, f := range sums {
		ours[i] = make([]float64, n)
		for j := range ours[i] {
			ours[i][j] = f
		}
		grid.addNoise(ours[i], sigma, src)
	}

	table := distinguisher{ziggurat(), sigma}.consistent
	if s := score(table, naive, sums); s < 0.99 {
		t.Errorf("the attack on NormFloat64 scores %.3f against it: it is not the attack", s)
	}
	if s := score(onLattice, half, sums); s < 0.99 {
		t.Errorf("the attack on unrounded sums scores %.3f against them: it is not the attack", s)
	}
	for name, attack := range map[string]func(y, f float64) bool{"NormFloat64": table, "unrounded sums": onLattice} {
		if s, most := score(attack, ours, sums), 0.5+limit*0.5/math.Sqrt(2*n); s > most {
			t.Errorf("the attack on %s scores %.4f against the mechanism, want at most %.4f", name, s, most)
		}
	}
}
