// Package noise adds Gaussian noise whose law on the integers is exact.
//
// # The law
//
// Let D be the deviation, a float64 taken as the real number that it is, and f the number that
// noise is added to, an integer and a rest in [-1/2, 1/2]. Every coordinate becomes, independently,
//
//	f + N = ⌊f + D·Z + 1/2⌋, Z standard normal:
//	P[f+N = n] = Φ((n+1/2-f)/D) - Φ((n-1/2-f)/D) for every integer n,
//
// but for a set of draws of probability below 2^-4040 a coordinate. No error of a logarithm or a
// cosine, no finite set of radii and no last tail value enters the probabilities.
//
// Proof. Let U and Θ be independent and uniform in (0, 1). By Box and Muller (Annals of
// Mathematical Statistics 29, 1958), X = sqrt(-2 ln U)·cos 2πΘ and Y = sqrt(-2 ln U)·sin 2πΘ are
// independent standard normals, if all of this is real arithmetic. The binary digits of U and Θ are
// independent fair bits. They are drawn as far as they are needed: 64 of each, then more, until
// every continuation of them has the same integer nearest to f + D·X, and to f + D·Y. These are
// then the integers of the infinite expansions, which nobody needs to know. (The nearest is ⌊x+1/2⌋
// but half-way, which has probability 0.) When an integer is certain, [kernel.AddRoundedNormals]
// proves from bounds of its rounding errors for all but 2^-19 + 2^-42·D of the pairs; for these,
// exact.go does with more digits, up to 4096.
//
// # What follows for privacy
//
// Rounding commutes with adding an integer, so that f + N, which is computed from the rest of f, is
// ⌊f + D·Z + 1/2⌋ in every coordinate: a function of f + D·Z, the output of the real Gaussian
// mechanism, and of nothing else. What is done with it here, rounding to float64 above 2^53 and
// scaling, is a function of f + N. So whatever holds for the Gaussian mechanism with deviation D on
// f (RDP, exact accounting, composition, amplification by sampling) holds for these sums. [Excess]
// bounds what the draws without a certain integer add.
//
// # What is assumed
//
//   - The words of the source are uniform and independent: [random.Source] is AES-256 in counter
//     mode.
//   - float64 is IEEE 754's binary64, rounded to nearest, with fused multiplication and addition,
//     in Go and in vectors.
//   - D is at least σ times its sensitivity: the caller sees to both.
//   - The observer has no clock: a pair that is computed again takes 20 µs longer, and is more
//     often far out.
package noise

import (
	"fmt"
	"math"
	"math/bits"

	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
)

// Block is the number of values that are worked on together.
const Block = 512

// Adder holds the buffers of one thread that adds noise. The zero value is ready; it is not safe
// for concurrent use.
type Adder struct {
	words  [Block]uint64
	doubts [Block / kernel.NormalsBlock]uint8
	end    [3][kernel.NormalsBlock]float64 // the last values of sum and rest, padded, and the noisy ones
}

// Add writes spacing·(f + N) to dst, with an independent N of the law above for every f = sum +
// rest. sum holds integers in float64, rest numbers from -1/2 to 1/2, and dst overlaps neither: all
// unchecked. It panics unless the lengths are equal, spacing is a power of two and deviation is in
// (0, [kernel.MaxRoundedDeviation]].
//
// For a given state of src the result is the same with every kernel. No word of src is used twice;
// those for the values that are missing from a multiple of 16 at the end are drawn and discarded.
func (a *Adder) Add(dst, sum, rest []float64, deviation, spacing float64, src *random.Source) {
	if len(dst) != len(sum) || len(rest) != len(sum) {
		panic(fmt.Sprintf("noise: room for %d noisy values and %d rests, expected %d of each", len(dst), len(rest), len(sum)))
	}
	if !(deviation > 0 && deviation <= kernel.MaxRoundedDeviation) {
		panic(fmt.Sprintf("noise: deviation is %g, must be above 0 and at most 2^40", deviation))
	}
	if fraction, _ := math.Frexp(spacing); fraction != 0.5 {
		panic(fmt.Sprintf("noise: spacing is %g, must be a power of two", spacing))
	}
	a.add(dst, sum, rest, deviation, spacing, src)
}

// words is a source of uniform words: Fill gives 64 digits for every value, Uint64 more for the
// pairs in doubt.
type words interface {
	source
	Fill(dst []uint64)
}

// source returns 64 further digits of a number in doubt from each call of Uint64.
type source interface{ Uint64() uint64 }

func (a *Adder) add(dst, sum, rest []float64, deviation, spacing float64, src words) {
	const size = kernel.NormalsBlock
	for len(sum) > 0 {
		n := min(len(sum), Block)
		whole := n / size * size
		src.Fill(a.words[:(n+size-1)/size*size])
		a.addGroups(dst[:whole], sum[:whole], rest[:whole], a.words[:whole], deviation, spacing, src)
		if whole < n {
			a.end = [3][size]float64{} // zeros behind the vector get noise that nobody sees
			bare, lack, noisy := a.end[0][:], a.end[1][:], a.end[2][:]
			copy(bare, sum[whole:n])
			copy(lack, rest[whole:n])
			a.addGroups(noisy, bare, lack, a.words[whole:whole+size], deviation, spacing, src)
			copy(dst[whole:n], noisy)
		}
		dst, sum, rest = dst[n:], sum[n:], rest[n:]
	}
}

// addGroups writes spacing·(f + N) to dst, for f = sum + rest and N made of words. Further digits
// of the pairs in doubt are the next words of src, pair by pair.
func (a *Adder) addGroups(dst, sum, rest []float64, words []uint64, deviation, spacing float64, src source) {
	const size, pairs = kernel.NormalsBlock, kernel.NormalsBlock / 2 // whose values are so far apart
	doubts := a.doubts[:len(sum)/size]
	kernel.AddRoundedNormals(dst, sum, rest, words, doubts, deviation, spacing)
	for i, doubt := range doubts {
		for ; doubt != 0; doubt &= doubt - 1 {
			x := i*size + bits.TrailingZeros8(doubt)
			y := x + pairs
			nx, ny := exactPair(words[x], words[y], rest[x], rest[y], deviation, src)
			dst[x], dst[y] = spacing*(sum[x]+nx), spacing*(sum[y]+ny)
		}
	}
}

// Excess returns what noise on so many coordinates, summed over all releases of a run, adds to the
// ε and δ of the Gaussian mechanism: 0 to ε, and less than coordinates·2^-3900 to δ if ε is at most
// 90. No float64 is that small; the smallest positive one is returned, an upper bound for any
// number of coordinates.
//
// A run whose noise is within η = 2^-4040 of the law in every coordinate, in total variation, is
// within coordinates·η of the ideal run, however its steps depend on earlier ones. Where that is
// (ε, δ)-private, the run is so with δ + (1 + e^ε)·coordinates·η, and (1 + e^90)·2^-4040 < 2^-3900.
func Excess(coordinates float64) (epsilon, delta float64) {
	return 0, max(0, min(coordinates, math.SmallestNonzeroFloat64))
}
