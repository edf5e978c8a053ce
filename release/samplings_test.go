package release

import (
	"math"
	"testing"

	"dpsgd/accountant"
	"dpsgd/internal/random"
)

// Every sampling of the table draws distinct records that are there, each as often as the event
// says that it tells the accountant, and is valid for every batch size up to the records.
//
// A count of draws falls outside ±6 standard deviations with a chance of 2e-9; 50 records are
// looked at.
func TestSamplings(t *testing.T) {
	chances := map[string]float64{"poisson": 10. / 50, "full": 1}
	for _, kind := range Samplings() {
		chance, ok := chances[kind.Name]
		if !ok || kind.New().Name() != kind.Name {
			t.Fatalf("%s has no row in this test, or calls itself %s", kind.Name, kind.New().Name())
		}
		const n, draws = 50, 4000
		s := kind.New().Sampler(10, n)
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", kind.Name, err)
		}
		noise := accountant.Gaussian{NoiseMultiplier: 1}
		want := accountant.Event(accountant.PoissonSampled{SamplingProbability: chance, Event: noise})
		if chance == 1 {
			want = noise // nothing amplifies
		}
		if e := s.Sampled(noise); e != want {
			t.Errorf("%s: found event %v, expected %v", kind.Name, e, want)
		}
		counts, src, sample := [n]int{}, random.New(), []int(nil)
		for range draws {
			sample = s.Sample(sample, n, src)
			seen := [n]bool{}
			for _, i := range sample {
				if i < 0 || i >= n || seen[i] {
					t.Fatalf("%s: found record %d twice or out of range", kind.Name, i)
				}
				seen[i] = true
				counts[i]++
			}
		}
		deviation := math.Sqrt(draws * chance * (1 - chance))
		for i, c := range counts {
			if math.Abs(float64(c)-draws*chance) > 6*deviation {
				t.Errorf("%s: record %d came %d times in %d draws, expected %v ± %v", kind.Name, i, c, draws, draws*chance, 6*deviation)
			}
		}
		if s.Excess(n) > n*0x1p-124 {
			t.Errorf("%s: found an excess of %g", kind.Name, s.Excess(n))
		}
	}
}
