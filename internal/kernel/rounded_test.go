package kernel

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// roundedDeviations go from noise that is all zeros to the one that is most often in doubt.
var roundedDeviations = []float64{0x1p-1070, 0.01, 0.3, 1, 50, 0x1p20, 0x1.bp20, 0x1p37, MaxRoundedDeviation}

// radiusEdges are noiseWords with radii on both sides of the ends of the range in which normals are
// known.
func radiusEdges() []uint64 {
	words := noiseWords()
	r := rand.New(rand.NewPCG(9, 10))
	for block := range len(words) / NormalsBlock / 8 {
		for i := range normalPairs {
			end := []uint64{0, leastRadius, 1<<63 + (1<<63 - nearCentre)}[r.IntN(3)]
			words[block*NormalsBlock*8+i] = end + uint64(r.IntN(7)) - 3
		}
	}
	return words
}

func integers(n int) []float64 {
	sums := make([]float64, n)
	r := rand.New(rand.NewPCG(11, 12))
	for i := range sums {
		sums[i] = math.Trunc(math.Ldexp(r.Float64()-0.5, r.IntN(64))) // of both signs, and zeros of both
	}
	return sums
}

// rests returns numbers from -1/2 to 1/2, of all sizes and both signs, 1/2 among them: what
// integers leave of a sum.
func rests(n int) []float64 {
	rests := make([]float64, n)
	r := rand.New(rand.NewPCG(13, 14))
	for i := range rests {
		rests[i] = math.Ldexp([]float64{0, 0.5, -0.5, r.Float64() - 0.5}[r.IntN(4)], -r.IntN(30))
	}
	return rests
}

// Every kernel gives the same values and the same doubts, to the last bit, in place too.
func TestAddRoundedNormalsAgreesBitForBit(t *testing.T) {
	words := radiusEdges()
	sum := integers(len(words))
	for _, deviation := range roundedDeviations {
		want, wantDoubts := make([]float64, len(words)), make([]uint8, len(words)/NormalsBlock)
		portableAddRoundedNormals(want, sum, rests(len(sum)), words, wantDoubts, deviation, 0x1p-20)
		for _, k := range supportedKernels() {
			t.Run(fmt.Sprint(k.name, " ", deviation), func(t *testing.T) {
				got, doubts := slices.Clone(sum), make([]uint8, len(wantDoubts))
				k.addRoundedNormals(got, got, rests(len(got)), words, doubts, deviation, 0x1p-20)
				sameBits(t, got, want)
				if !bytes.Equal(doubts, wantDoubts) {
					t.Error("doubts are not those of the portable kernel")
				}
			})
		}
	}
}

// Any number of blocks is worked on, and nothing beyond them.
func TestAddRoundedNormalsOfFewBlocks(t *testing.T) {
	words := radiusEdges()[:8*NormalsBlock]
	sum, want, wantDoubts := integers(len(words)), make([]float64, len(words)), make([]uint8, 8)
	portableAddRoundedNormals(want, sum, rests(len(sum)), words, wantDoubts, 0x1p37, 1)
	for _, k := range supportedKernels() {
		for blocks := range 8 {
			n := blocks * NormalsBlock
			got, doubts := make([]float64, len(words)), make([]uint8, 8)
			k.addRoundedNormals(got[:n], sum[:n], rests(len(sum))[:n], words[:n], doubts[:blocks], 0x1p37, 1)
			sameBits(t, got, append(slices.Clone(want[:n]), make([]float64, len(words)-n)...))
			if !bytes.Equal(doubts[:blocks], wantDoubts[:blocks]) || slices.Max(doubts[blocks:]) != 0 {
				t.Errorf("%s: doubts of %d blocks are %x, want %x", k.name, blocks, doubts, wantDoubts)
			}
		}
	}
}

// The sentences of the documentation, value by value: the rounding, the scale, and what is in
// doubt.
func TestAddRoundedNormalsIsTheFormula(t *testing.T) {
	const spacing = 0x1p-20
	words := radiusEdges()
	sum, rest := integers(len(words)), rests(len(words))
	for _, deviation := range roundedDeviations {
		got, doubts := make([]float64, len(words)), make([]uint8, len(words)/NormalsBlock)
		AddRoundedNormals(got, sum, rest, words, doubts, deviation, spacing)
		for i := range words {
			if i%NormalsBlock >= normalPairs {
				continue
			}
			sin, cos := sincos(words[i+normalPairs])
			known := words[i] >= 1<<45 && words[i] < 1<<63+(1<<63-1<<34)
			for at, direction := range map[int]float64{i: cos, i + normalPairs: sin} {
				x := math.FMA(deviation*radius(words[i]), direction, rest[at])
				n := math.RoundToEven(x)
				if want := (sum[at] + n) * spacing; got[at] != want || got[at] == 0 && math.Signbit(got[at]) {
					t.Fatalf("deviation %g: value %d is %g, want %g", deviation, at, got[at], want)
				}
				known = known && math.Abs(x-n) <= math.FMA(-0x1p-44, deviation, 0.5-0x1p-50)
			}
			if doubt := doubts[i/NormalsBlock]>>(i%NormalsBlock)&1 == 1; doubt == known {
				t.Fatalf("deviation %g, pair %d, radius %#x: doubt is %t", deviation, i, words[i], doubt)
			}
		}
	}
}

// Whole numbers and rests make up what was split, exactly, on every kernel.
func TestSplit(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(15, 16))
		for _, n := range []int{0, 1, 7, 8, 9, 100} {
			for _, digits := range []int{0, 1, 24, 26} {
				x, whole, rest := make([]int64, n), make([]float64, n), make([]float64, n)
				for i := range x {
					x[i] = int64(r.Uint64()) >> (max(1, 11-digits) + r.IntN(30))
					if i%5 == 0 { // half-way
						x[i] = x[i]>>digits<<digits + 1<<digits>>1
					}
				}
				Split(whole, rest, x, digits)
				for i, v := range x {
					if back := int64(whole[i])<<digits + int64(math.Ldexp(rest[i], digits)); back != v || !(math.Abs(rest[i]) <= 0.5) || whole[i] != math.Trunc(whole[i]) {
						t.Fatalf("%d digits: %d becomes %v and %v", digits, v, whole[i], rest[i])
					}
				}
			}
		}
	})
}

// A zero in the sum does not show its sign, whatever the sign of the noise is.
func TestAddRoundedNormalsHidesTheSignOfZero(t *testing.T) {
	words, negative := noiseWords(), math.Copysign(0, -1)
	sum := slices.Repeat([]float64{negative}, len(words))
	for _, k := range supportedKernels() {
		got := make([]float64, len(words))
		k.addRoundedNormals(got, sum, make([]float64, len(sum)), words, make([]uint8, len(words)/NormalsBlock), 0.01, 1)
		for i, v := range got {
			if math.Float64bits(v) != 0 {
				t.Fatalf("%s: -0 becomes %g at %d", k.name, v, i)
			}
		}
	}
}
