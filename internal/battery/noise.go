// Package battery has the statistical tests of secret draws: the noise of a mechanism, and the
// samples of Poisson sampling. Each names every statement that a mechanism or a sampler breaks.
//
// The tests of packages release and data run it on the program's own mechanisms and samplers, and on
// broken twins, one for each statement; `train selftest` runs it on those of a configuration. Every statement rejects the right law with a probability of at most [FalseFailure].
package battery

import (
	"fmt"
	"math"
	"slices"

	"dpsgd/clip"
	"dpsgd/internal/noise"

	"gonum.org/v1/gonum/floats"
)

// FalseFailure bounds the probability of each statement to be broken by draws of the right law.
const FalseFailure = 1e-5

// Limit is how many standard deviations a normal statistic may be off: beyond it lies a
// probability of [FalseFailure].
const Limit = 4.41717

// What [Noise] looks at.
const (
	Steps = 5
	Dim   = 200_000 // coordinates of a step: more than 48 chunks of 4,096, the last one not full

	ksLimit  = 0.00247         // sqrt(-ln(1e-5/2)/2 / 10^6): Kolmogorov's distribution for all 10^6 draws
	chunkLen = 8 * noise.Block // coordinates that share a stream of noise in package release
)

// NoiseStatements is how many statements [Noise] makes.
const NoiseStatements = 5 + Steps*(Steps-1)/2 + 9

// Publisher is a mechanism under test: a known sum in, the published values out.
type Publisher func(step int, sum *clip.Sum) []float64

// Known returns a sum of [Dim] coordinates, each of another value, and these values.
func Known(bound float64) (*clip.Sum, []float64) {
	sum, err := clip.NewSum(clip.Flat{ClipNorm: bound}, Dim, nil)
	if err != nil {
		panic(err)
	}
	row, values := make([]float32, Dim), make([]float64, Dim)
	for i := range row {
		row[i] = float32(bound * math.Sin(float64(i)) / 400)
		values[i] = math.RoundToEven(float64(row[i])/sum.Lattice().Spacing) * sum.Lattice().Spacing
	}
	batch := clip.Batch{SquaredNorms: []float64{0}, Parts: []clip.Part{clip.Stored(row, Dim)}}
	if err := sum.Add(batch, 1); err != nil {
		panic(err)
	}
	return sum, values
}

// Noise publishes known sums in [Steps] steps and returns what is wrong with the noise: Gaussian, of
// standard deviation noiseMultiplier·bound, fresh in every coordinate, on the lattice of the sums.
func Noise(mechanism Publisher, noiseMultiplier, bound float64) []string {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	check := func(name string, got, want, se float64) {
		if !(math.Abs(got-want) <= Limit*se) {
			fault("%s is %.6g, want %.6g ± %.2g", name, got, want, Limit*se)
		}
	}
	draws := make([][]float64, Steps) // in standard deviations
	residues := make([]float64, 16)   // of the outputs, as numbers of lattice points
	for step := range draws {
		sum, clean := Known(bound)
		spacing := sum.Lattice().Spacing
		values := mechanism(step, sum)
		for i, v := range values {
			n := v / spacing
			if n != math.Trunc(n) {
				fault("output %d of step %d, %g, is no multiple of %g", i, step, v, spacing)
				break
			}
			residues[int64(n)&15]++
			draws[step] = append(draws[step], (v-clean[i])/(noiseMultiplier*bound))
		}
		if len(draws[step]) != Dim {
			return append(faults, "some values are missing")
		}
	}

	// Scale and shape of 10^6 draws. The standard error of the variance is sqrt(2/n): 0.62 % at the
	// limit.
	all := slices.Concat(draws...)
	n := float64(len(all))
	check("mean", floats.Sum(all)/n, 0, 1/math.Sqrt(n))
	check("variance", floats.Dot(all, all)/n, 1, math.Sqrt(2/n))
	slices.Sort(all)
	var distance float64
	for i, z := range all {
		p := math.Erfc(-z/math.Sqrt2) / 2
		distance = max(distance, math.Abs(p-(float64(i)+0.5)/n))
	}
	if distance > ksLimit {
		fault("KS distance from the normal distribution is %.5f, want at most %.5f", distance, ksLimit)
	}
	// Of 10^6 draws, 63 are expected beyond 4 deviations; fewer than 31 or more than 104 has
	// probability 1e-5.
	beyond := 0
	for _, z := range all {
		if math.Abs(z) > 4 {
			beyond++
		}
	}
	if beyond < 31 || beyond > 104 {
		fault("%d of %d draws lie beyond 4 deviations, want 31 to 104", beyond, len(all))
	}

	// Independence between steps, between coordinates, between chunks and so between workers.
	for i := range draws {
		for j := range i {
			check(fmt.Sprintf("correlation of steps %d and %d", j, i), floats.Dot(draws[i], draws[j])/Dim, 0, 1/math.Sqrt(Dim))
		}
	}
	for _, lag := range []int{1, 2, 4, 8, noise.Block - 1, noise.Block, chunkLen, 2 * chunkLen, Dim / 2} {
		var r, pairs float64
		for _, z := range draws {
			r += floats.Dot(z[lag:], z[:len(z)-lag])
			pairs += float64(len(z) - lag)
		}
		check(fmt.Sprintf("correlation of coordinates %d apart", lag), r/pairs, 0, 1/math.Sqrt(pairs))
	}

	// The low bits of the output do not know the sum: their 16 values are equally frequent. The
	// chi-squared quantile with 15 degrees of freedom at 1 - 1e-5 is 50.5.
	var chi2 float64
	for _, count := range residues {
		chi2 += (count - n/16) * (count - n/16) / (n / 16)
	}
	if chi2 > 50.5 {
		fault("chi-squared of the low bits is %.1f, want at most 50.5", chi2)
	}
	return faults
}
