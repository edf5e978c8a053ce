package noise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dpsgd/internal/kernel"
)

// tail is noise whose radius begins with known digits, so that it is far out: between the radii of
// U = word/unit and of U = (word+1)/unit.
type tail struct {
	deviations float64  // how far out
	first      []uint64 // words that U begins with
	word, unit float64  // their value, and 1
}

var tails = []tail{
	tailAt(7, 0x1p64), tailAt(8, 0x1p64), tailAt(9, 0x1p64), tailAt(12, 0x1p128),
}

func tailAt(deviations, unit float64) tail {
	word := math.Floor(unit * math.Exp(-deviations*deviations/2))
	first := []uint64{uint64(word)}
	if unit == 0x1p128 {
		first = []uint64{0, uint64(word)}
	}
	return tail{deviations, first, word, unit}
}

// begun is a source that begins with known words.
type begun struct {
	first []uint64
	then  *rand.PCG
}

func (b *begun) Uint64() uint64 {
	if len(b.first) == 0 {
		return b.then.Uint64()
	}
	w := b.first[0]
	b.first = b.first[1:]
	return w
}

// generator makes a pair of noise of two words and more of a source.
type generator func(radius, angle uint64, restX, restY, deviation float64, src source) (x, y float64)

// formerPair is the generator that this package replaced: normals of two words in float64, rounded
// up or down with 16 bits more.
func formerPair(radius, angle uint64, _, _, deviation float64, src source) (x, y float64) {
	words := [kernel.NormalsBlock]uint64{0: radius, half: angle}
	var z [kernel.NormalsBlock]float64
	normals(z[:], words[:])
	round := func(z float64) float64 {
		return math.Floor(math.FMA(z, deviation, (float64(src.Uint64()>>48)+0.5)*0x1p-16))
	}
	return round(z[0]), round(z[half])
}

// points draws noise along an axis, where x is deviation·r, and returns how often every lattice
// point of the tail is hit, and how often it should be: r is in a range by the part of U's range
// that belongs to it.
func (l tail) points(n int, deviation float64, generate generator) (counts []int, expected []float64) {
	place := func(point float64) float64 { // of U between the ends of its range, as the radius is point
		r := point / deviation
		return max(0, min(1, l.unit*math.Exp(-r*r/2)-l.word))
	}
	lowest := math.Round(deviation * math.Sqrt(-2*math.Log((l.word+1)/l.unit)))
	for point := lowest; place(point-0.5) > 0; point++ {
		expected = append(expected, float64(n)*(place(point-0.5)-place(point+0.5)))
	}
	counts = make([]int, len(expected))
	src := rand.NewPCG(81, 82)
	for range n {
		x, _ := generate(l.first[0], 0, 0, 0, deviation, &begun{l.first[1:], src})
		counts[max(0, min(len(counts)-1, int(x-lowest)))]++
	}
	return counts, expected
}

// Far out, every point of the lattice is hit as often as the law says, by more than 80 of 30,000
// draws on average; none of some 300 is left out, which the right noise does with probability
// 1e-10. The deviations are such that the range of one word covers that many: noise of that word
// alone would hit one or two.
func TestTailHitsEveryPoint(t *testing.T) {
	deviations := []float64{0x1p40, 0x1p29, 0x1p17, 0x1p36}
	for i, l := range tails {
		t.Run(fmt.Sprint(l.deviations), func(t *testing.T) {
			counts, expected := l.points(30_000, deviations[i], exactPair)
			if p := chiSquare(counts, expected); len(counts) < 250 || p < falseFailure {
				t.Errorf("%d points of the tail are hit as the law says with p = %.2g", len(counts), p)
			}
			if missed := slices.Index(counts[1:len(counts)-1], 0); missed >= 0 {
				t.Errorf("point %d of %d is never hit, %.0f expected", missed, len(counts), expected[missed+1])
			}
			if l.unit == 0x1p64 {
				counts, expected = l.points(1000, deviations[i], formerPair)
				if p := chiSquare(counts, expected); p > 1e-100 {
					t.Errorf("the former generator is accepted with p = %.2g", p)
				}
			}
		})
	}
}

// ringDistance draws pairs in all directions and returns the Kolmogorov-Smirnov distance between
// the places of their radii in the range of U and the uniform distribution.
func (l tail) ringDistance(n int, generate generator) float64 {
	src := rand.NewPCG(83, 84)
	places := make([]float64, n)
	for i := range places {
		x, y := generate(l.first[0], src.Uint64(), 0, 0, kernel.MaxRoundedDeviation, &begun{l.first[1:], src})
		r := math.Hypot(x, y) / kernel.MaxRoundedDeviation
		places[i] = l.unit*math.Exp(-r*r/2) - l.word
	}
	slices.Sort(places)
	var distance float64
	for i, p := range places {
		distance = max(distance, p-float64(i)/float64(n), float64(i+1)/float64(n)-p)
	}
	return distance
}

// Far out, pairs do not lie on rings: whatever the angle, all radii between two neighbouring words
// occur as the law says. The distance exceeds the limit with probability 1e-5 (Kolmogorov's
// distribution; a lattice of 2^-40 adds less than 0.002). The former generator is a ring, at a
// distance of nearly 1.
func TestTailHasNoRings(t *testing.T) {
	const n = 4000
	limit := math.Sqrt(-math.Log(falseFailure/2)/2/n) + 0.002
	for _, l := range tails {
		if d := l.ringDistance(n, exactPair); d > limit {
			t.Errorf("%g deviations: distance %.4f, want at most %.4f", l.deviations, d, limit)
		}
		if d := l.ringDistance(n, formerPair); d < 0.5 {
			t.Errorf("%g deviations: the former generator is at a distance of %.4f", l.deviations, d)
		}
	}
}

// farOut is a source whose blocks of words are radii 9 deviations out, along the axes.
type farOut struct{ *rand.PCG }

func (farOut) Fill(dst []uint64) {
	for i := range dst {
		dst[i] = 47
		if i%(2*half) >= half {
			dst[i] = uint64(i) << 62 // quarter turns
		}
	}
}

// The tail reaches the output at every place of vectors of all lengths: where all words are far
// out, so is one value of each pair, and further words tell the radii apart.
func TestTailOfVectors(t *testing.T) {
	const deviation = 0x1p38 // the range of the word has 6·10^8 points
	var a Adder
	src := farOut{rand.NewPCG(85, 86)}
	seen := map[float64]bool{}
	for _, n := range lengths() {
		sum, noisy := make([]float64, n), make([]float64, n)
		for i := range sum {
			sum[i] = float64(i) * 0x1p45
		}
		a.add(noisy, sum, make([]float64, n), deviation, 1, src)
		for i := range noisy {
			r := math.Abs(noisy[i]-sum[i]) / deviation
			if turned := i%2 == 1; (i%(2*half) < half) == turned { // on the other axis
				if r > 1e-9 {
					t.Fatalf("value %d of %d is %g deviations out, want 0", i, n, r)
				}
				continue
			}
			if r < 8.9985 || r > 9.0015 {
				t.Fatalf("value %d of %d is %g deviations out, want 9", i, n, r)
			}
			if seen[r] { // with probability 0.1 for 11,000 values; the source is seeded
				t.Fatalf("value %d of %d repeats a radius", i, n)
			}
			seen[r] = true
		}
	}
}
