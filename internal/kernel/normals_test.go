package kernel

import (
	"math"
	bigmath "math/big"
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

// edgeWords are the words at which something changes: ends, halves, powers of two, borders of
// quarter turns and of the two forms of the logarithm, and their neighbours.
func edgeWords() []uint64 {
	words := []uint64{0, sqrtHalf, sqrtHalf >> 1, 1<<61 - 1, 3 << 61, 5 << 61, 7 << 61, math.MaxUint32}
	for shift := range 64 {
		words = append(words, 1<<shift, math.MaxUint64>>shift, math.MaxUint64<<shift, sqrtHalf>>shift)
	}
	for _, w := range words {
		words = append(words, w-2, w-1, w+1, w+2)
	}
	return words
}

// noiseWords are edge words as radii and as angles, in all pairs, and random ones of all
// magnitudes.
func noiseWords() []uint64 {
	var words []uint64
	edges := edgeWords()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 20_000 {
		var block [NormalsBlock]uint64
		for j := range block {
			switch w := r.Uint64(); {
			case i%4 == 0:
				block[j] = edges[w%uint64(len(edges))]
			case i%4 == 1:
				block[j] = w >> (r.Uint64() % 64)
			case i%4 == 2:
				block[j] = ^(w >> (r.Uint64() % 64))
			default:
				block[j] = w
			}
		}
		words = append(words, block[:]...)
	}
	for i, w := range edges { // every edge as a radius and as an angle
		at := i/normalPairs*NormalsBlock + i%normalPairs
		words[at], words[at+normalPairs] = w, w
	}
	return words
}

func sameBits(t *testing.T, got, want []float64) {
	t.Helper()
	for i := range want {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
			t.Fatalf("value %d is %.17g, portable %.17g", i, got[i], want[i])
		}
	}
}

// The extremes of the radius, from u = 2^-64 with -ln u = 64·ln 2 to u = 1-h with
// -ln u = h + h²/2 + …
func TestExponentialExtremes(t *testing.T) {
	for _, c := range []struct {
		word uint64
		want float64
	}{
		{0, 64 * math.Ln2},
		{1, 64 * math.Ln2},
		{math.MaxUint64, 0x1p-64},
		{math.MaxUint64 - 1, 0x1p-64},
		{math.MaxUint64 - 2, 3 * 0x1p-64},
		{math.MaxUint64 - 1<<20, (1<<20 + 1) * 0x1p-64 * (1 + 0x1p-45)}, // h²/2,
		{1 << 63, math.Ln2},
	} {
		if got := exponential(c.word); !(math.Abs(got-c.want) <= 1e-15*c.want) {
			t.Errorf("exponential(%#x) = %.17g, want %.17g", c.word, got, c.want)
		}
	}
	if r := math.Sqrt(2 * exponential(0)); r < 9.41 || r > 9.43 {
		t.Errorf("the tail reaches %.3f standard deviations, want 9.42", r)
	}
}

// Against the standard library on random words: relative error of the logarithm, absolute error of
// the rotation.
func TestExponentialAndSincosAgreeWithMath(t *testing.T) {
	src := rand.New(rand.NewPCG(6, 6))
	for i := range 200_000 {
		w := src.Uint64() >> (i % 64)
		if i%2 == 1 {
			w = ^w
		}
		// The complement is exact where the float of u itself would round.
		want := -math.Log(float64(w|1) * 0x1p-64)
		if w > 1<<63 {
			want = -math.Log1p(-float64(-(w | 1)) * 0x1p-64)
		}
		if got := exponential(w); !(math.Abs(got-want) <= 5e-16*want) {
			t.Fatalf("exponential(%#x) = %.17g, want %.17g", w, got, want)
		}
		sin, cos := sincos(w)
		turns := new(bigmath.Float).SetMantExp(new(bigmath.Float).SetUint64(w), -64)
		angle, _ := turns.Mul(turns, bigmath.NewFloat(2*math.Pi)).Float64()
		if e := cmplx.Abs(complex(cos, sin) - cmplx.Rect(1, angle)); e > 2e-15 {
			t.Fatalf("sincos(%#x) is off by %g", w, e)
		}
	}
}

// Near an axis the angle keeps all its bits: one step of the word moves the small coordinate by
// 2π·2^-64.
func TestSincosNearAxes(t *testing.T) {
	const step = 2 * math.Pi * 0x1p-64
	for quarter := range uint64(4) {
		sin, cos := sincos(quarter<<62 + 1)
		want := [4][2]float64{{step, 1}, {1, -step}, {-step, -1}, {-1, step}}[quarter]
		if !(math.Abs(sin-want[0]) <= 1e-30) || !(math.Abs(cos-want[1]) <= 1e-30) {
			t.Errorf("one step past quarter %d: (%g, %g), want (%g, %g)", quarter, sin, cos, want[0], want[1])
		}
	}
}
