package features

import (
	"math"

	"dpsgd/internal/setting"
)

// powerArgument is the argument by which a configuration evens out values that are never negative:
// a root lifts weak responses and dampens strong ones, as Perronnin, Sánchez and Mensink,
// "Improving the Fisher Kernel for Large-Scale Image Classification" (ECCV 2010, section 3.2),
// found for sums over a picture.
func powerArgument(power *float64) setting.Argument {
	return setting.Argument{Name: "power", Doc: "Values are raised to this power before they are normalised; 0.5 lifts weak responses, 1 leaves all as they are.",
		Format: setting.Number{Min: 0, Max: 1, OpenMin: true}, Value: power}
}

// raise raises values of at least 0 to a power.
func raise(values []float32, power float64) {
	switch power {
	case 1:
	case 0.5:
		for i, v := range values {
			values[i] = float32(math.Sqrt(float64(v)))
		}
	default:
		for i, v := range values {
			values[i] = float32(math.Pow(float64(v), power))
		}
	}
}

// raised is a transform whose values are raised to a power.
type raised struct {
	Prepared
	power float64
}

// Extractor implements [Prepared].
func (r raised) Extractor() func(dst, picture []float32) {
	extract := r.Prepared.Extractor()
	return func(dst, picture []float32) {
		extract(dst, picture)
		raise(dst, r.power)
	}
}
