package pld

import (
	"math"
	"testing"

	"dpsgd/accountant"
)

// Both directions of a sampled release are known, the record leaving and the record coming: the
// loss of the one is minus that of the other, with the two distributions exchanged. An accountant
// that looked at one of them alone would be no bound for the other.
func TestSampledReleasesHaveBothDirections(t *testing.T) {
	for name, e := range map[string]accountant.Event{
		"Gaussian":  accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 1}},
		"Laplace":   accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Laplace{Scale: 1}},
		"group":     accountant.PoissonSampledGroup{SamplingProbability: 0.1, GroupSize: 3, Event: accountant.Gaussian{NoiseMultiplier: 1}},
		"truncated": accountant.TruncatedPoissonSampled{SamplingProbability: 0.1, DatasetSize: 1000, MaxBatchSize: 200, Event: accountant.Gaussian{NoiseMultiplier: 1}},
	} {
		var l accountant.Ledger
		if err := l.Add(e, 5); err != nil {
			t.Fatal(err)
		}
		// A Gaussian release, which is the same in both, stands beside it.
		if err := l.Add(accountant.Gaussian{NoiseMultiplier: 4}, 1); err != nil {
			t.Fatal(err)
		}
		pairs, err := dominatingPairs(&l, accountant.AddOrRemoveOne)
		if err != nil || len(pairs.removed) != 2 || len(pairs.added) != 2 {
			t.Errorf("%s: found %d releases in one direction and %d in the other, %v, expected 2 in both", name, len(pairs.removed), len(pairs.added), err)
			continue
		}
		removed, added := pairs.removed[0], pairs.added[0]
		if removed.Count != 5 || added.Count != 5 {
			t.Errorf("%s: counts are %d and %d, expected 5", name, removed.Count, added.Count)
		}
		asymmetric := false
		for _, loss := range []float64{-0.09, -0.05, 0.01, 0.05, 0.09} {
			p, q := removed.Pair.Above(loss)
			reversedQ, reversedP := added.Pair.Below(-loss)
			if math.Abs(reversedP-p) > 1e-9 || math.Abs(reversedQ-q) > 1e-9 {
				t.Errorf("%s: the loss is above %g with %v and %v, and below minus that with %v and %v in the other direction", name, loss, p, q, reversedP, reversedQ)
			}
			a, b := added.Pair.Above(loss)
			asymmetric = asymmetric || math.Abs(a-p) > 1e-3 || math.Abs(b-q) > 1e-3
		}
		if !asymmetric {
			t.Errorf("%s: both directions are the same one", name)
		}
	}
}
