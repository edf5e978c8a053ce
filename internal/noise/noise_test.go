package noise

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/internal/slow"
)

var deviations = []float64{0.3, 1, 50, 0x1p20, 1.7 * 0x1p20, 0x1p26, kernel.MaxRoundedDeviation}

// edgeRadii are the radius words of the range that the error bound holds for at which something
// changes: its ends, the two forms of the logarithm, powers of two and the middles between them,
// and their neighbours.
func edgeRadii() []uint64 {
	const least, most, sqrtHalf = 1 << 45, math.MaxUint64 - 1<<34, 0xb504f333f9de6485
	words := []uint64{least, most}
	for shift := range 19 {
		words = append(words, 1<<63>>shift, sqrtHalf>>shift, math.MaxUint64<<(34+shift)-1)
	}
	var edges []uint64
	for _, w := range words {
		for _, near := range []uint64{w - 2, w - 1, w, w + 1, w + 2} {
			if least <= near && near <= most {
				edges = append(edges, near)
			}
		}
	}
	return edges
}

// edgeAngles lists words around every quarter and eighth of a turn, and words of few bits next to
// an axis.
func edgeAngles() []uint64 {
	var edges []uint64
	for eighth := range uint64(8) {
		for _, offset := range []uint64{0, 1, 2, 3, 1 << 10, 1 << 40} {
			edges = append(edges, eighth<<61+offset, eighth<<61-offset)
		}
	}
	return edges
}

// pairs calls check with words for the two of a pair and the exact normals of a continuation of
// them: the lowest, the highest, or one in between. Edges meet edges and random words; 10,000 pairs
// are random, or 100,000 where slow evidence is asked for.
func pairs(check func(radius, angle uint64, x, y *big.Float)) {
	r := rand.New(rand.NewPCG(31, 32))
	one := func(radius, angle uint64) {
		u, theta := expansionOf(radius, corner(r)), expansionOf(angle, corner(r))
		for u.significant() < leastDigits {
			u.extend(r.Uint64())
		}
		x, y := boxMuller(u, theta, quarterOf(angle), leastDigits+guardDigits)
		check(radius, angle, x, y)
	}
	radii, angles := edgeRadii(), edgeAngles()
	random, met := 10_000, 1
	if slow.Asked() {
		random, met = 100_000, 4
	}
	for i := range random {
		radius := r.Uint64() >> (i % 2 * r.IntN(20)) // all magnitudes in the range, and some below it
		one(radius, r.Uint64())
	}
	for i := range met * len(radii) * len(angles) {
		one(radii[i%len(radii)], angles[i/len(radii)%len(angles)])
	}
	for _, radius := range radii {
		one(radius, r.Uint64())
	}
	for _, angle := range angles {
		one(r.Uint64(), angle)
	}
	for range 1000 { // outside the range, near its ends and far from them
		one(1<<45>>r.IntN(46)-1, r.Uint64())
		one(math.MaxUint64-1<<34>>r.IntN(35)+1, r.Uint64())
	}
}

func corner(r *rand.Rand) uint64 { return []uint64{0, allOnes, r.Uint64()}[r.IntN(3)] }

// half counts the pairs of a block: the distance of the values of a pair.
const half = kernel.NormalsBlock / 2

// normals computes the normals that [kernel.AddRoundedNormals] rounds: at a deviation of 2^60,
// where it is certain of nothing, rounding and scaling move them by at most 2^-61.
func normals(z []float64, words []uint64) {
	clear(z)
	kernel.AddRoundedNormals(z, z, make([]float64, len(z)), words, make([]uint8, len(z)/kernel.NormalsBlock), 0x1p60, 0x1p-60)
}

// What [kernel.AddRoundedNormals] says about the words that it does not doubt: its normals are
// within 2^-46 of the exact ones, whatever bits follow, and so are products with a deviation in
// units of that; and its integers are the exact ones. The first is the proved bound: the margin of
// four times as much is not used.
func TestCertainValuesAreExact(t *testing.T) {
	var worst float64
	var certain, doubtful int
	pairs(func(radius, angle uint64, exactX, exactY *big.Float) {
		words := slices.Concat(slices.Repeat([]uint64{radius}, half), slices.Repeat([]uint64{angle}, half))
		var z, got, sum, rest [kernel.NormalsBlock]float64
		for i := range rest { // of all sizes to 1/2, which is among them
			rest[i] = math.Copysign(math.Ldexp(1, -1-int(radius%60)), float64(int64(angle)))
		}
		if radius >= 1<<45 && radius < math.MaxUint64-1<<34+1 {
			normals(z[:], words)
			for _, deviation := range []float64{1, 1.7 * 0x1p20} { // the error bound knows no scale
				e := max(distance(z[0], deviation, exactX), distance(z[half], deviation, exactY))
				if worst = max(worst, e); e >= 0x1p-46 {
					t.Fatalf("radius %#x, angle %#x, deviation %g: off by 2^%.2f deviations", radius, angle, deviation, math.Log2(e))
				}
			}
		}
		for _, deviation := range deviations {
			var doubts [1]uint8
			kernel.AddRoundedNormals(got[:], sum[:], rest[:], words, doubts[:], deviation, 1)
			if doubts[0]&1 == 1 {
				doubtful++
				continue
			}
			certain++
			for lane, exact := range map[int]*big.Float{0: exactX, half: exactY} {
				if want, _ := nearest(exact, rest[lane], deviation, leastDigits); got[lane] != want {
					t.Fatalf("radius %#x, angle %#x, deviation %g: %.0f is called certain, exact is %.0f",
						radius, angle, deviation, got[lane], want)
				}
			}
		}
	})
	t.Logf("largest error 2^%.2f deviations; %d pairs certain, %d in doubt", math.Log2(worst), certain, doubtful)
}

// distance returns |deviation·z - deviation·exact| in deviations, the first product rounded and the
// second not.
func distance(z, deviation float64, exact *big.Float) float64 {
	product := new(big.Float).Mul(exact, big.NewFloat(deviation))
	product.Sub(product, big.NewFloat(float64(deviation*z)))
	e, _ := product.Quo(product, big.NewFloat(deviation)).Float64()
	return math.Abs(e)
}

// reference computes what Add promises, pair by pair: integers of the expansions that begin with
// the words of src. Words that follow come from src for the pairs that have a value in doubt and
// from anywhere for the others.
func reference(sum, rest []float64, deviation, spacing float64, src *random.Source) []float64 {
	anywhere := rand.NewPCG(41, 42)
	var out []float64
	for len(sum) > 0 {
		n := min(len(sum), 512)
		words := make([]uint64, (n+2*half-1)/(2*half)*2*half)
		src.Fill(words)
		noisy, rests, doubts := make([]float64, len(words)), make([]float64, len(words)), make([]uint8, len(words)/(2*half))
		copy(rests, rest[:n])
		kernel.AddRoundedNormals(noisy, noisy, rests, words, doubts, deviation, 1)
		for i := 0; i < len(words); i += 2 * half {
			for x := i; x < i+half; x++ {
				var more source = anywhere
				if doubts[i/(2*half)]>>(x-i)&1 != 0 {
					more = src
				}
				noisy[x], noisy[x+half] = exactPair(words[x], words[x+half], rests[x], rests[x+half], deviation, more)
			}
		}
		for i, s := range sum[:n] {
			out = append(out, (s+noisy[i])*spacing)
		}
		sum, rest = sum[n:], rest[n:]
	}
	return out
}

// lengths lists lengths around the multiples of the kernel's and the package's blocks.
func lengths() []int {
	var all []int
	for _, r := range [][2]int{{0, 40}, {511, 530}, {1024, 1033}} {
		for n := r[0]; n <= r[1]; n++ {
			all = append(all, n)
		}
	}
	return all
}

// Every value of a vector of any length gets its noise, with few and with many values in doubt, and
// nothing beyond the end is touched.
func TestAddIsTheReference(t *testing.T) {
	var a Adder
	for _, n := range lengths() {
		for _, deviation := range []float64{0.1, 0x1p20, 0x1p39} {
			sum, rest := make([]float64, n), make([]float64, n)
			for i := range sum {
				sum[i], rest[i] = float64(1000*i-7), float64(i%17-8)/16
			}
			want := reference(sum, rest, deviation, 0x1p-20, random.ForTest(uint64(n)))
			got := make([]float64, n+1)
			a.Add(got[:n], sum, rest, deviation, 0x1p-20, random.ForTest(uint64(n)))
			if !slices.Equal(got[:n], want) || got[n] != 0 {
				t.Fatalf("%d values, deviation %g: not the noise of the reference", n, deviation)
			}
		}
	}
}

// Nothing leaves without noise, and no noise is used twice: not in a vector, not in the next one,
// not after another length. At a deviation of 2^38, two of the 22,000 right values here agree with
// probability 5e-4, and one is zero with probability 4e-8; the source is seeded, so the test does
// not change its mind.
func TestAddNeverRepeatsNoise(t *testing.T) {
	var a Adder
	src := random.ForTest(51)
	seen := map[float64]string{}
	for _, n := range append(lengths(), lengths()[:41]...) {
		noise := make([]float64, n)
		a.Add(noise, slices.Clone(noise), make([]float64, len(noise)), 0x1p38, 1, src)
		for i, v := range noise {
			place := fmt.Sprintf("value %d of %d", i, n)
			if where, ok := seen[math.Abs(v)]; ok || v == 0 {
				t.Fatalf("%s has noise %.0f, like %s", place, v, where)
			}
			seen[math.Abs(v)] = place
		}
	}
}

// The noise of a source is pinned, for every kernel: the hash was computed with the portable one,
// whose values TestAddIsTheReference holds against the definition. It changes when the order in
// which words are read does.
func TestAddIsTheSameWithEveryKernel(t *testing.T) {
	hash := fnv.New64a()
	var a Adder
	for seed, deviation := range deviations {
		noise := make([]float64, 20_003)
		a.Add(noise, slices.Clone(noise), make([]float64, len(noise)), deviation, 1, random.ForTest(uint64(seed)))
		fmt.Fprintf(hash, "%x", noise)
	}
	if got := hash.Sum64(); got != golden {
		t.Errorf("hash of the noise is %#x, want %#x", got, uint64(golden))
	}
}

const golden = 0x7da50b042ba7da42

// The scale is exact and a sum above 2^53 is rounded once.
func TestAddRoundsTheSumOnce(t *testing.T) {
	var a Adder
	zero, large := make([]float64, 100), slices.Repeat([]float64{0x1p60 + 0x1p10}, 100)
	a.Add(zero, slices.Clone(zero), make([]float64, 100), 0x1p20, 1, random.ForTest(61))
	a.Add(large, slices.Clone(large), make([]float64, 100), 0x1p20, 0x1p-40, random.ForTest(61))
	for i, noise := range zero {
		if want := math.Ldexp(float64(1<<60+1<<10+int64(noise)), -40); large[i] != want {
			t.Fatalf("value %d is %.17g, want %.17g", i, large[i], want)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	v, nan, inf := make([]float64, 9), math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		dst, sum, rest     []float64
		deviation, spacing float64
	}{
		"no deviation": {v, v, v, 0, 1}, "negative deviation": {v, v, v, -1, 1}, "NaN for a deviation": {v, v, v, nan, 1},
		"deviation too large": {v, v, v, 0x1p40 + 1, 1}, "infinite deviation": {v, v, v, inf, 1},
		"no spacing": {v, v, v, 1, 0}, "negative spacing": {v, v, v, 1, -1}, "spacing 3": {v, v, v, 1, 3},
		"NaN for a spacing": {v, v, v, 1, nan}, "shorter rest": {v, v, v[1:], 1, 1}, "shorter result": {v[1:], v, v, 1, 1},
		"longer rest": {v[1:], v[1:], v, 1, 1}, "longer result": {v, v[1:], v[1:], 1, 1},
		"empty, no deviation": {nil, nil, nil, 0, 1},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			new(Adder).Add(c.dst, c.sum, c.rest, c.deviation, c.spacing, random.ForTest(1))
		}()
	}
}

func TestAddAllocatesNothing(t *testing.T) {
	var a Adder
	src, sum, noisy := random.ForTest(1), make([]float64, 1000), make([]float64, 1000)
	if n := testing.AllocsPerRun(20, func() { a.Add(noisy, sum, sum, 50, 1, src) }); n != 0 {
		t.Errorf("%g allocations, want none", n)
	}
}

func TestExcess(t *testing.T) {
	if epsilon, delta := Excess(0); epsilon != 0 || delta != 0 {
		t.Errorf("without noise: (%g, %g)", epsilon, delta)
	}
	for _, n := range []float64{1, 1e10, 1e300} {
		epsilon, delta := Excess(n)
		stated := new(big.Float).SetMantExp(big.NewFloat(n), -3900)
		if epsilon != 0 || delta <= 0 || big.NewFloat(delta).Cmp(stated) < 0 || delta > 1e-300 {
			t.Errorf("%g coordinates: (%g, %g)", n, epsilon, delta)
		}
	}
}

// Noise on a vector, random words included, on one thread and on two:
//
//	go test -run '^$' -bench Add -cpu 1,2 ./internal/noise
func BenchmarkAdd(b *testing.B) {
	perValue(b, func(dst, sum []float64, src *random.Source) func() {
		a := new(Adder)
		return func() { a.Add(dst, sum, sum, 0x1p20, 0x1p-20, src) }
	})
}

// perValue measures blocks of noise, each thread with its own vectors and words.
func perValue(b *testing.B, start func(dst, sum []float64, src *random.Source) func()) {
	b.RunParallel(func(p *testing.PB) {
		block := start(make([]float64, Block), make([]float64, Block), random.New())
		for p.Next() {
			block()
		}
	})
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/Block, "ns/value")
}

func BenchmarkExactPair(b *testing.B) {
	src := rand.NewPCG(1, 2)
	for b.Loop() {
		exactPair(src.Uint64(), src.Uint64(), 0, 0, 0x1p20, src)
	}
}
