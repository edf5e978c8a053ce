package pld

import (
	"errors"
	"math"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/internal/tiny"
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
		tiny.Check(t, l.Add(e, 5))
		// A Gaussian release, which is the same in both, stands beside it.
		tiny.Check(t, l.Add(accountant.Gaussian{NoiseMultiplier: 4}, 1))
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
			if !(math.Abs(reversedP-p) <= 1e-9) || !(math.Abs(reversedQ-q) <= 1e-9) {
				t.Errorf("%s: the loss is above %g with %v and %v, and below minus that with %v and %v in the other direction", name, loss, p, q, reversedP, reversedQ)
			}
			a, b := added.Pair.Above(loss)
			asymmetric = asymmetric || !(math.Abs(a-p) <= 1e-3) || !(math.Abs(b-q) <= 1e-3)
		}
		if !asymmetric {
			t.Errorf("%s: both directions are the same one", name)
		}
	}
}

// What nobody knows the worst direction of is refused.
func TestDiscreteGaussianOfSeveralIsRefused(t *testing.T) {
	for _, c := range []struct {
		r accountant.Relation
		e accountant.DiscreteGaussian
	}{
		{accountant.AddOrRemoveOne, accountant.DiscreteGaussian{NoiseMultiplier: 4}},
		{accountant.ReplaceOne, accountant.DiscreteGaussian{NoiseMultiplier: 4, Sensitivity: 1}},
		{accountant.ZeroOut, accountant.DiscreteGaussian{NoiseMultiplier: 1e9, Sensitivity: 1}},
	} {
		if g, err := tiny.Must(NewExact(c.r))(t).Guarantee(accounttest.Ledger(t, accountant.Entry{Event: c.e, Count: 1}), 1e-6); !errors.Is(err, accountant.ErrUnsupported) {
			t.Errorf("%v under %v: %v, %v", c.e, c.r, g, err)
		}
	}
}

// What is the same as another event, or nearly so, costs the same: a count with discrete Laplace
// noise is randomized response, noise on a fine lattice is that on the line, and next to no noise
// is none.
func TestDiscreteEventsCostWhatTheyAreLike(t *testing.T) {
	a := tiny.Must(NewExact(accountant.AddOrRemoveOne))(t)
	epsilon := func(e accountant.Event) float64 {
		return accounttest.Epsilon(t, a, accounttest.Ledger(t, accountant.Entry{Event: e, Count: 30}), 1e-6)
	}
	for _, tt := range []struct {
		e, like accountant.Event
		slack   float64
	}{
		{accountant.DiscreteLaplace{Scale: 4, Sensitivity: 1}, accountant.ApproxDP{Epsilon: 0.25}, 1e-9},
		{accountant.DiscreteLaplace{Scale: 4, Sensitivity: 1 << 30}, accountant.Laplace{Scale: 4}, 1e-3},
		{accountant.DiscreteLaplace{Scale: 1e-3, Sensitivity: 2}, accountant.ApproxDP{Epsilon: 1e3}, 1e-9},
		{accountant.DiscreteGaussian{NoiseMultiplier: 30, Sensitivity: 100}, accountant.Gaussian{NoiseMultiplier: 30}, 2e-3},
		{accountant.DiscreteGaussian{NoiseMultiplier: 1e-6, Sensitivity: 1}, accountant.NonPrivate{}, 0},
		{accountant.BoundedRange{Range: 800}, accountant.ApproxDP{Epsilon: 800}, 1e-9},
	} {
		if got, want := epsilon(tt.e), epsilon(tt.like); got != want && !(got >= want*(1-1e-9) && got <= want*(1+tt.slack)) {
			t.Errorf("%v costs %v, %v %v", tt.e, got, tt.like, want)
		}
	}
}
