package release

import (
	"math"
	"testing"

	"dpsgd/clip"
	"dpsgd/data"
)

// The added δ covers the sampler's distance from its law, (1+e^ε)·T·n·2^-124 for Poisson samples,
// and the noise: above zero, and below any float above it. It is at most 1, and covers the noise
// alone where nothing is sampled.
func TestClaimAddsDelta(t *testing.T) {
	const dim, releases, records = 1000, 100_000, 60_000
	plan := Plan{Unit: "one example", Records: records, Policy: clip.Flat{ClipNorm: 1}, Mechanism: gaussian(t, 1, 1, nil)}
	for _, epsilon := range []float64{0, 1, 8, 30} {
		plan.Sampler = data.Poisson{SamplingProbability: 0.01}
		want := (1 + math.Exp(epsilon)) * releases * records * 0x1p-124
		if got := plan.Claim(dim, releases, epsilon).AddedDelta; !(got >= want*(1-1e-12) && got <= want*(1+1e-12)) {
			t.Errorf("ε = %g: adds %g to δ, expected %g", epsilon, got, want)
		}
		plan.Sampler = data.Full{}
		if got := plan.Claim(dim, releases, epsilon).AddedDelta; got != math.SmallestNonzeroFloat64 {
			t.Errorf("ε = %g, without sampling: adds %g to δ, expected the least float above 0", epsilon, got)
		}
	}
	plan.Sampler = data.Poisson{SamplingProbability: 0.01}
	for _, epsilon := range []float64{500, 1000, math.Inf(1)} {
		if got := plan.Claim(dim, releases, epsilon).AddedDelta; got != 1 {
			t.Errorf("ε = %g: adds %g to δ, expected 1", epsilon, got)
		}
	}
	if got := plan.Claim(0, 0, 1).AddedDelta; got != 0 {
		t.Errorf("no releases add %g to δ", got)
	}
}
