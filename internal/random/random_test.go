package random

import (
	"crypto/aes"
	"crypto/cipher"
	crand "crypto/rand"
	"encoding"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// The golden words pin the stream of Seeded: weights initialised from a config's seed must be the
// same in every release. Source of the numbers: OpenSSL 3.0.19, `openssl enc -aes-256-ctr` over
// zeros with iv 0 and the key SHA-256("dpsgd/internal/random.Seeded v1\x00" || seed as 8
// little-endian bytes).
func TestSeededStreamIsPinned(t *testing.T) {
	golden := map[uint64][]uint64{
		0:                    {0x795c114f0ad7cd47, 0x4d71cffb88f75123, 0x5fcad72dee9487e1, 0xa1362d2239b658c7},
		1:                    {0x0c5f3e6bd25f97d2, 0x1f00c26867615f19, 0xdb2b43f355506fc6, 0xf164a243f6903bb8},
		42:                   {0x1aec6699eef973a0, 0x7027fe27fe6f1cc3, 0x48306ec1d3aedf1a, 0x134bfccec7b6d244},
		18446744073709551615: {0x6fe87a56b42328c3, 0x298698a10e1b395e, 0x6fe6b3741f5d7537, 0xea103c650cb1f2e5},
	}
	for seed, want := range golden {
		public, test := Seeded(seed), ForTest(seed)
		for i, w := range want {
			if got, same := public.Uint64(), test.Uint64(); got != w || same != w {
				t.Errorf("word %d of seed %d is %#016x, and %#016x in tests, want %#016x", i, seed, got, same, w)
			}
		}
	}
}

// Fill and Uint64 read one stream: any way of cutting it gives the same words, across buffer ends
// too.
func TestFillReadsTheWordsOfUint64(t *testing.T) {
	const n = 3*bufferWords + 17
	want := make([]uint64, n)
	one := ForTest(7)
	for i := range want {
		want[i] = one.Uint64()
	}
	for _, piece := range []int{1, 3, bufferWords - 1, bufferWords, bufferWords + 1, n} {
		t.Run(fmt.Sprint(piece), func(t *testing.T) {
			src, got := ForTest(7), make([]uint64, n)
			for at := 0; at < n; at += piece {
				src.Fill(got[at:min(at+piece, n)])
			}
			if !slices.Equal(got, want) {
				t.Error("the stream depends on how it is cut")
			}
		})
	}
}

// No two sources share a word: 64 sources, 1,000 words each. A false failure has probability
// 64000²/2^65 < 1e-9.
func TestSourcesShareNoWord(t *testing.T) {
	sources := map[string]*Source{}
	for i := range 16 {
		sources[fmt.Sprint("New ", i)] = New()
		sources[fmt.Sprint("ForTest ", i)] = ForTest(uint64(i))
	}
	parent := ForTest(99)
	for i := range 16 {
		child := parent.Split()
		sources[fmt.Sprint("Split ", i)] = child
		sources[fmt.Sprint("Split of split ", i)] = child.Split()
	}
	origin := map[uint64]string{}
	for name, src := range sources {
		for range 1000 {
			w := src.Uint64()
			if other, seen := origin[w]; seen {
				t.Fatalf("%s and %s both drew %#x", name, other, w)
			}
			origin[w] = name
		}
	}
}

// The key of a split is the next 256 bits of its parent, all of them and in their order, and its
// stream begins at zero: the other key tests hold for it too.
func TestSplitUsesAllBitsOfItsKey(t *testing.T) {
	parent, twin := ForTest(12), ForTest(12)
	for i := range 3 {
		var key [32]byte
		for word := range 4 {
			binary.LittleEndian.PutUint64(key[8*word:], twin.Uint64())
		}
		child, want := parent.Split(), keyed(key)
		for word := range 1000 {
			if got, want := child.Uint64(), want.Uint64(); got != want {
				t.Fatalf("word %d of split %d is %#x, expected %#x", word, i, got, want)
			}
		}
	}
}

// Nothing of the kind that a checkpoint could call, and no exported field that an encoder could
// walk.
func TestSourceCannotBeSaved(t *testing.T) {
	var src any = New()
	switch src.(type) {
	case encoding.BinaryMarshaler, encoding.BinaryAppender, encoding.TextMarshaler, json.Marshaler, gob.GobEncoder:
		t.Errorf("%T can be serialised; a resumed run would repeat its noise", src)
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Source]()) {
		if field.IsExported() {
			t.Errorf("Source has the exported field %s, which encoders would write", field.Name)
		}
	}
}

func TestFloat64StaysInside(t *testing.T) {
	for _, c := range []struct {
		word uint64
		want float64
	}{
		{0, 0x1p-65}, // ln of it is finite: 9.49 standard deviations
		{1, 1.5 * 0x1p-64},
		{1 << 63, 0.5},
		{math.MaxUint64, 1 - 0x1p-53}, // not 1
	} {
		if got := unit(c.word); got != c.want {
			t.Errorf("unit(%#x) = %g, want %g", c.word, got, c.want)
		}
	}
}

// Uniformity of 10^6 values: Kolmogorov-Smirnov distance below 0.00247, exceeded with probability
// 1e-5.
func TestFloat64IsUniform(t *testing.T) {
	src, u := ForTest(1), make([]float64, 1e6)
	for i := range u {
		u[i] = src.Float64()
	}
	slices.Sort(u)
	var d float64 // largest distance from the distribution function
	for i, v := range u {
		d = max(d, v-float64(i)/1e6, float64(i+1)/1e6-v)
	}
	if limit := 0.00247; d > limit { // sqrt(-ln(1e-5/2)/2) / 10^3, Kolmogorov's distribution
		t.Errorf("KS distance from uniform is %.5f, want at most %.5f", d, limit)
	}
}

func ExampleSource() {
	r := rand.New(Seeded(1)) // a Source serves math/rand/v2
	fmt.Println(r.IntN(6) < 6)
	// Output: true
}

// countingReader stands for the operating system's randomness: it gives the bytes of a key and
// counts them.
type countingReader struct {
	key  [32]byte
	read int
}

func (r *countingReader) Read(p []byte) (int, error) {
	n := copy(p, r.key[min(r.read, len(r.key)):])
	for i := range p[n:] {
		p[n+i] = 0xee
	}
	r.read += len(p)
	return len(p), nil
}

// withSystem runs New on another system's randomness.
func withSystem(system io.Reader) *Source {
	former := crand.Reader
	defer func() { crand.Reader = former }()
	crand.Reader = system
	return New()
}

// New takes exactly 256 bits from the operating system, and its stream is AES-256-CTR under that
// key, every bit of it: no key is shorter than it looks, constant, or made from a seed. A false
// failure has probability 256·2^-64.
func TestNewUsesAllBitsOfTheSystemsKey(t *testing.T) {
	system := &countingReader{}
	for i := range system.key {
		system.key[i] = byte(17*i + 3)
	}
	src := withSystem(system)
	if system.read != 32 {
		t.Errorf("New reads %d bytes from the system, want 32", system.read)
	}
	block, err := aes.NewCipher(system.key[:])
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, 8*1000)
	cipher.NewCTR(block, make([]byte, aes.BlockSize)).XORKeyStream(want, want)
	for i := range 1000 {
		if got, want := src.Uint64(), binary.LittleEndian.Uint64(want[8*i:]); got != want {
			t.Fatalf("word %d is %#x, AES-256-CTR has %#x", i, got, want)
		}
	}
	first := withSystem(&countingReader{key: system.key}).Uint64()
	for bit := range 256 {
		other := &countingReader{key: system.key}
		other.key[bit/8] ^= 1 << (bit % 8)
		if withSystem(other).Uint64() == first {
			t.Errorf("bit %d of the key does not matter", bit)
		}
	}
}

// Words in bulk, as noise is made of them:
//
//	go test -run '^$' -bench . ./internal/random
func BenchmarkFill(b *testing.B) {
	src := New()
	dst := make([]uint64, 512)
	b.SetBytes(8 * int64(len(dst)))
	for b.Loop() {
		src.Fill(dst)
	}
}

// Both keystreams give the same words. A Source that nobody keyed gives none.
func TestKeystreamsAgree(t *testing.T) {
	key := [32]byte{1, 2, 3, 31: 99}
	want := make([]uint64, 3*bufferWords)
	rest := standard(key)
	rest(want[:bufferWords])
	rest(want[bufferWords:])
	got := make([]uint64, len(want))
	keyed(key).Fill(got)
	if !slices.Equal(got, want) {
		t.Error("the words are not those of the standard library's cipher")
	}
	defer func() {
		if recover() == nil {
			t.Error("a Source without a key gave a word, expected a panic")
		}
	}()
	new(Source).Uint64()
}
