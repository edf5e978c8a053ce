// Package noise adds Gaussian noise whose law on the integers is exact.
//
// # The law
//
// Let D be the deviation, a float64 taken as the real number that it is. Every coordinate gets an independent integer
//
//	N = ⌊D·Z + 1/2⌋, Z standard normal: P[N = n] = Φ((n+1/2)/D) - Φ((n-1/2)/D) for every integer n,
//
// but for a set of draws of probability below 2^-4040 a coordinate. Not approximately: no error of a logarithm or a
// cosine, no finite number of radii, no last tail value enters the probabilities.
//
// Proof. Let U and Θ be independent and uniform in (0, 1). By Box and Muller (Annals of Mathematical Statistics 29, 1958)
//
//	X = sqrt(-2 ln U)·cos 2πΘ and Y = sqrt(-2 ln U)·sin 2πΘ
//
// are independent standard normals, if all of this is real arithmetic. The binary digits of U and Θ are independent fair
// bits. They are drawn as far as they are needed: 64 of each, then more, until every continuation of them has the same
// integer next to D·X and the same next to D·Y. That integer is then N for the infinite expansions too, without their
// being known. ⌊x+1/2⌋ is the nearest integer except when x is half-way, which has probability 0. It remains to be sure
// when the integers are certain. [kernel.AddRoundedNormals] proves it of all but one pair in some 100,000 from bounds of
// every rounding in it, and says which pairs it cannot vouch for; those are computed again from more digits, with an
// error bound of their own, in exact.go. Digits end at 4096 significant ones: see there for what is left.
//
// # What follows for privacy
//
// Let f be the vector of integers that noise is added to. ⌊x + 1/2⌋ commutes with adding an integer, so f + N =
// ⌊f + D·Z + 1/2⌋ in every coordinate: a function of the Gaussian mechanism's output f + D·Z, that of the real numbers, and of
// nothing else. What is done with it here, rounding to float64 above 2^53 and scaling, is a function of f + N. So
// whatever holds for the Gaussian mechanism with noise of deviation D on f (RDP, exact accounting, composition,
// amplification by sampling) holds for these sums. [Excess] is what the draws without a certain integer add.
//
// # What is assumed
//
//   - The words of the source are uniform and independent: [random.Source] is AES-256 in counter mode.
//   - float64 is IEEE 754's binary64, rounded to nearest, with fused multiplication and addition, in Go and in AVX2.
//   - The sum is of integers, its sensitivity is that of integers, and D is the deviation in their unit.
//   - The observer has no clock: a block with a pair that is computed again takes some 10 µs longer, which happens
//     more often where the noise is large, or close to half-way between integers.
package noise

import (
	"fmt"
	"math"

	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
)

// Block is the number of values that are worked on together: calls whose lengths are multiples of it waste no words.
const Block = 512

// Adder is what a thread needs to add noise. The zero value is ready; it is not safe for concurrent use.
type Adder struct {
	words      [Block]uint64
	sum, noisy [Block]float64
	doubts     [Block / kernel.NormalsBlock]uint8
}

// Add writes spacing·(sum + N) to dst, with N independent and of the law above for every value. sum holds integers in
// float64, dst is as long and may be sum. deviation is in (0, [kernel.MaxRoundedDeviation]], spacing a power of two. It
// panics otherwise.
//
// A result is the same with every kernel, for a given state of src. No word of src is used twice; a length that is not
// a multiple of [Block] takes the words of the next multiple of 8 and leaves what it does not need of them unused.
func (a *Adder) Add(dst, sum []float64, deviation, spacing float64, src *random.Source) {
	if len(dst) != len(sum) {
		panic(fmt.Sprintf("noise: %d values for the noisy sum of %d", len(dst), len(sum)))
	}
	if !(deviation > 0 && deviation <= kernel.MaxRoundedDeviation) {
		panic(fmt.Sprintf("noise: deviation is %g, must be above 0 and at most %g", deviation, kernel.MaxRoundedDeviation))
	}
	if fraction, _ := math.Frexp(spacing); fraction != 0.5 {
		panic(fmt.Sprintf("noise: spacing is %g, must be a power of two", spacing))
	}
	for len(sum) > 0 {
		n := min(len(sum), Block)
		padded := (n + kernel.NormalsBlock - 1) / kernel.NormalsBlock * kernel.NormalsBlock
		copy(a.sum[:], sum[:n])
		clear(a.sum[n:padded])
		src.Fill(a.words[:padded])
		a.block(padded, deviation, spacing, src)
		copy(dst, a.noisy[:n])
		dst, sum = dst[n:], sum[n:]
	}
}

// block makes the first n of noisy from those of sum and words. Words of src serve the pairs in doubt, in their order.
func (a *Adder) block(n int, deviation, spacing float64, src uniform) {
	const pairs = kernel.NormalsBlock / 2
	doubts := a.doubts[:n/kernel.NormalsBlock]
	kernel.AddRoundedNormals(a.noisy[:n], a.sum[:n], a.words[:n], doubts, deviation, spacing)
	for i, doubt := range doubts {
		for j := 0; doubt != 0 && j < pairs; j++ {
			if doubt>>j&(1|1<<pairs) == 0 {
				continue
			}
			x, y := i*kernel.NormalsBlock+j, i*kernel.NormalsBlock+j+pairs
			nx, ny := exactPair(a.words[x], a.words[y], deviation, src)
			a.noisy[x] = spacing * (a.sum[x] + nx)
			a.noisy[y] = spacing * (a.sum[y] + ny)
		}
	}
}

// Excess returns what noise on so many coordinates in all, over a whole run, adds to ε and to δ beyond the Gaussian
// mechanism's: nothing to ε, and coordinates·2^-3900 to δ, for ε up to 90. That is less than any float64 can say, so the
// smallest positive one is returned for it, an upper bound for any number of coordinates.
//
// If the law of a coordinate is within η = 2^-4040 of the one stated, in total variation, that of a run is
// within coordinates·η of its ideal, however steps depend on earlier ones. An (ε, δ) of the ideal then is one of the run
// with δ + (1 + e^ε)·coordinates·η, and (1 + e^90)·2^-4040 < 2^-3900.
func Excess(coordinates float64) (epsilon, delta float64) {
	if coordinates > 0 {
		return 0, math.SmallestNonzeroFloat64
	}
	return 0, 0
}
