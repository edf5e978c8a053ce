package kernel

import (
	"math"
	bigmath "math/big"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// edgeWords are the words at which something changes: ends, halves, powers of two, borders of quarter turns and of
// the two forms of the logarithm, and their neighbours.
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

// noiseWords are edge words as radii and as angles, in all pairs, and random ones of all magnitudes.
func noiseWords() []uint64 {
	var words []uint64
	edges := edgeWords()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 40_000 {
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
		words[i/4*8+i%4], words[i/4*8+4+i%4] = w, w
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

// Every kernel makes the same normals of the same words, to the last bit.
func TestNormalsAgreeBitForBit(t *testing.T) {
	words := noiseWords()
	want := make([]float64, len(words))
	portableNormals(want, words)
	for _, k := range supportedKernels() {
		t.Run(k.name, func(t *testing.T) {
			got := make([]float64, len(words))
			k.normals(got, words)
			sameBits(t, got, want)
		})
	}
}

// Normals may be made where their words are.
func TestNormalsInPlace(t *testing.T) {
	words := noiseWords()
	want := make([]float64, len(words))
	portableNormals(want, words)
	for _, k := range supportedKernels() {
		t.Run(k.name, func(t *testing.T) {
			got := make([]float64, len(words))
			same := unsafe.Slice((*uint64)(unsafe.Pointer(&got[0])), len(got))
			copy(same, words)
			k.normals(got, same)
			sameBits(t, got, want)
		})
	}
}

func TestNoiseRefusesWrongLengths(t *testing.T) {
	eight, nine, words := make([]float64, 8), make([]float64, 9), make([]uint64, 9)
	for name, call := range map[string]func(){
		"no multiple of 8":       func() { Normals(nine, words) },
		"fewer words":            func() { Normals(eight, words[:0]) },
		"shorter velocity":       func() { Momentum{}.Step(make([]float32, 8), make([]float32, 7), eight) },
		"shorter sum to descend": func() { Descend(make([]float32, 9), eight, 1, 1, 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}

// Every kernel makes the same step, to the last bit, for any number of parameters, and touches no more of them.
func TestUpdatesAgreeBitForBit(t *testing.T) {
	const spare = 5
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 40 {
		p, v, sum := make([]float32, n+spare), make([]float32, n+spare), make([]float64, n+spare)
		for i := range p {
			p[i], v[i], sum[i] = float32(r.NormFloat64()), float32(r.NormFloat64()), 100*r.NormFloat64()
		}
		for _, m := range []Momentum{
			{PerBatch: 1.0 / 3, Decay: 0.01, Mu: 0.9, Rate: 0.1},
			{PerBatch: 1.0 / 3, Decay: 0.01, Mu: 0.9, Rate: 0.1, Nesterov: true},
		} {
			wantP, wantV := slices.Clone(p), slices.Clone(v)
			portableMomentum(wantP[:n], wantV[:n], sum[:n], m)
			plain := slices.Clone(p)
			portableDescend(plain[:n], sum[:n], m.PerBatch, m.Decay, m.Rate)
			for _, k := range supportedKernels() {
				gotP, gotV := slices.Clone(p), slices.Clone(v)
				k.momentum(gotP[:n], gotV[:n], sum[:n], m)
				if !slices.Equal(gotP, wantP) || !slices.Equal(gotV, wantV) {
					t.Errorf("%s: %+v of %d parameters is not that of the portable kernel", k.name, m, n)
				}
				gotP = slices.Clone(p)
				k.descend(gotP[:n], sum[:n], m.PerBatch, m.Decay, m.Rate)
				if !slices.Equal(gotP, plain) {
					t.Errorf("%s: plain step of %d parameters is not that of the portable kernel", k.name, n)
				}
			}
		}
	}
}

// The extremes of the radius, from u = 2^-64 with -ln u = 64·ln 2 to u = 1-h with -ln u = h + h²/2 + …
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
		if got := exponential(c.word); math.Abs(got-c.want) > 1e-15*c.want {
			t.Errorf("exponential(%#x) = %.17g, want %.17g", c.word, got, c.want)
		}
	}
	if r := math.Sqrt(2 * exponential(0)); r < 9.41 || r > 9.43 {
		t.Errorf("the tail reaches %.3f standard deviations, want 9.42", r)
	}
}

// Against the standard library on random words: relative error of the logarithm, absolute error of the rotation.
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
		if got := exponential(w); math.Abs(got-want) > 5e-16*want {
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

// Near an axis the angle keeps all its bits: one step of the word moves the small coordinate by 2π·2^-64.
func TestSincosNearAxes(t *testing.T) {
	const step = 2 * math.Pi * 0x1p-64
	for quarter := range uint64(4) {
		sin, cos := sincos(quarter<<62 + 1)
		want := [4][2]float64{{step, 1}, {1, -step}, {-step, -1}, {-1, step}}[quarter]
		if math.Abs(sin-want[0]) > 1e-30 || math.Abs(cos-want[1]) > 1e-30 {
			t.Errorf("one step past quarter %d: (%g, %g), want (%g, %g)", quarter, sin, cos, want[0], want[1])
		}
	}
}

// The arithmetic alone, without the random words:
//
//	go test -run '^$' -bench 'Normals|Momentum' ./internal/kernel
func BenchmarkNormals(b *testing.B) {
	words := noiseWords()[8000:][:512]
	for _, k := range supportedKernels() {
		b.Run(k.name, func(b *testing.B) {
			dst := make([]float64, len(words))
			for b.Loop() {
				k.normals(dst, words)
			}
			perValue(b, len(dst))
		})
	}
}

func BenchmarkMomentum(b *testing.B) {
	p, v, sum := make([]float32, 512), make([]float32, 512), make([]float64, 512)
	for _, k := range supportedKernels() {
		b.Run(k.name, func(b *testing.B) {
			for b.Loop() {
				k.momentum(p, v, sum, Momentum{PerBatch: 1, Mu: 0.9, Rate: 0.1})
			}
			perValue(b, len(p))
		})
	}
}

func perValue(b *testing.B, values int) {
	b.ReportMetric(1e9*b.Elapsed().Seconds()/float64(b.N)/float64(values), "ns/value")
}
