package release

import (
	"fmt"
	"math"
	"slices"

	"dpsgd/clip"
	"dpsgd/internal/noise"
)

// The battery states what the noise of a mechanism must be, and names every statement that a
// mechanism breaks. Each limit is exceeded by the right mechanism with a probability of at most
// 1e-5.
const (
	batterySteps = 5
	batteryDim   = 200_000 // more than 48 chunks, the last one not full
	limit        = 4.417   // P(|Z| > 4.417) = 1e-5
	ksLimit      = 0.00247 // sqrt(-ln(1e-5/2)/2 / 10^6): Kolmogorov's distribution for all 10^6 draws
)

// publisher is a mechanism under test: a known sum in, the published values out.
type publisher func(step int, sum *clip.Sum) []float64

// known is a sum of which every coordinate is different, and its values.
func known(bound float64) (*clip.Sum, []float64) {
	sum, err := clip.NewSum(clip.Flat{ClipNorm: bound}, batteryDim, nil)
	if err != nil {
		panic(err)
	}
	row, values := make([]float32, batteryDim), make([]float64, batteryDim)
	for i := range row {
		row[i] = float32(bound * math.Sin(float64(i)) / 400)
		values[i] = math.RoundToEven(float64(row[i])/sum.Lattice().Spacing) * sum.Lattice().Spacing
	}
	batch := clip.Batch{SquaredNorms: []float64{0}, Parts: []clip.Part{clip.Stored(row, batteryDim)}}
	if err := sum.Add(batch, 1); err != nil {
		panic(err)
	}
	return sum, values
}

// noiseFaults publishes known sums in five steps and looks at the noise.
func noiseFaults(mechanism publisher, noiseMultiplier, bound float64) []string {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	check := func(name string, got, want, se float64) {
		if !(math.Abs(got-want) <= limit*se) {
			fault("%s is %.6g, want %.6g ± %.2g", name, got, want, limit*se)
		}
	}
	draws := make([][]float64, batterySteps) // in standard deviations
	residues := make([]float64, 16)          // of the outputs, as numbers of lattice points
	for step := range draws {
		sum, clean := known(bound)
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
		if len(draws[step]) != batteryDim {
			return append(faults, "some values are missing")
		}
	}

	// Scale and shape of 10^6 draws. The standard error of the variance is sqrt(2/n): 0.62 % at the
	// limit.
	all := slices.Concat(draws...)
	n := float64(len(all))
	check("mean", dot(all, nil)/n, 0, 1/math.Sqrt(n))
	check("variance", dot(all, all)/n, 1, math.Sqrt(2/n))
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
			check(fmt.Sprintf("correlation of steps %d and %d", j, i), dot(draws[i], draws[j])/batteryDim, 0, 1/math.Sqrt(batteryDim))
		}
	}
	for _, lag := range []int{1, 2, 4, 8, noise.Block - 1, noise.Block, chunkLen, 2 * chunkLen, batteryDim / 2} {
		var r, pairs float64
		for _, z := range draws {
			r += dot(z[lag:], z[:len(z)-lag])
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

// dot is the inner product of x and y, or the sum of x if y is nil.
func dot(x, y []float64) (s float64) {
	for i, v := range x {
		if y != nil {
			v *= y[i]
		}
		s += v
	}
	return s
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}
