package accountants

import (
	"math"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/internal/tiny"
)

// Every accountant must give the answers of this file, with or without the shared reference values:
// each kind of event, under each relation that it is defined for, released once and often. The
// shared values have more of them.

// profileGolden are answers of "exact" and "pld": epsilon at delta, or δ at epsilon where that
// is above 0, the larger of both directions.
type profileGolden struct {
	relation accountant.Relation
	ledger   []accountant.Entry
	delta    float64
	epsilon  float64
	want     float64
	slack    float64 // of exact, relative
	err      float64 // of want, relative, where it is above 1e-11
}

// One release of each kind. Computed with mpmath 1.4.1 at 30 digits:
//
//	P[x beyond c] - exp(ε)*Q[x beyond c],   log P(c)/Q(c) = ε,
//
// with erfc and exp for the tails and bisection for c and for epsilon.
var singleReleases = []profileGolden{
	{accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 1.5}}, Count: 1}}, 1e-6, 0, 0.90404060804206496, 1e-9, 0},
	{accountant.ZeroOut, []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 1.5}}, Count: 1}}, 0, 1, 3.85335668676561151e-7, 1e-9, 0},
	{accountant.ReplaceOne, []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 1.5}}, Count: 1}}, 1e-6, 0, 1.0054213219267828, 1e-9, 0},
	{accountant.ReplaceOne, []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 1.5}}, Count: 1}}, 0, 1, 1.05515029020294532e-6, 1e-9, 0},
	{accountant.ReplaceOne, []accountant.Entry{{Event: accountant.FixedSizeSampled{DatasetSize: 1000, BatchSize: 100, Event: accountant.Gaussian{NoiseMultiplier: 1.5}}, Count: 1}}, 1e-6, 0, 3.84607408959007076, 1e-9, 0},
	{accountant.ReplaceOne, []accountant.Entry{{Event: accountant.FixedSizeSampled{DatasetSize: 1000, BatchSize: 100, Event: accountant.Gaussian{NoiseMultiplier: 1.5}}, Count: 1}}, 0, 1, 0.00249338508068667072, 1e-9, 0},
	{accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.PoissonSampledGroup{SamplingProbability: 0.1, GroupSize: 4, Event: accountant.Gaussian{NoiseMultiplier: 3}}, Count: 1}}, 1e-6, 0, 1.0517644430144172, 1e-9, 0},
	{accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.PoissonSampledGroup{SamplingProbability: 0.1, GroupSize: 4, Event: accountant.Gaussian{NoiseMultiplier: 3}}, Count: 1}}, 0, 0.5, 0.000388014281186091752, 1e-9, 0},
	{accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.TruncatedPoissonSampled{DatasetSize: 1000, SamplingProbability: 0.01, MaxBatchSize: 15, Event: accountant.Gaussian{NoiseMultiplier: 1.5}}, Count: 1}}, 1e-6, 0, 0.524854346160389097, 1e-9, 0},
	{accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.Laplace{Scale: 2}, Count: 1}}, 0.01, 0, 0.479899328292997118, 1e-9, 0},
	{accountant.ReplaceOne, []accountant.Entry{{Event: accountant.Laplace{Scale: 2}, Count: 1}}, 0.01, 0, 0.979899328292997118, 1e-9, 0},
	{accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Laplace{Scale: 1}}, Count: 1}}, 0.01, 0, 0.113490125940104529, 1e-9, 0},
	{accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 0.9, Event: accountant.Laplace{Scale: 1}}, Count: 1}}, 0, 0.5, 0.18392148193376149, 1e-9, 0},
	{accountant.ReplaceOne, []accountant.Entry{{Event: accountant.RandomizedResponse{NoiseProbability: 0.5, Buckets: 4}, Count: 1}}, 0.3, 0, 0.955511445027436361, 1e-9, 0},
}

// Gaussian releases are one of noise (Σ 1/σ²)^(-1/2), ⌈log₂(steps+1)⌉ of them for a tree
// (Balle, Wang 2018, Theorem 8, with mpmath 1.4.1).
var gaussianReleases = []profileGolden{
	{accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.Gaussian{NoiseMultiplier: 10}, Count: 25}}, 1e-5, 0, 1.99309140441511963, 1e-9, 0},
	{accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.Gaussian{NoiseMultiplier: 10}, Count: 25}}, 0, 1, 0.00682959498311457538, 1e-9, 0},
	{accountant.ReplaceOne, []accountant.Entry{{Event: accountant.Gaussian{NoiseMultiplier: 10}, Count: 25}}, 1e-5, 0, 4.37717809568122463, 1e-9, 0},
	{accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.SelfComposed{Event: accountant.Gaussian{NoiseMultiplier: 10}, Count: 5}, Count: 5}}, 1e-5, 0, 1.99309140441511963, 1e-9, 0},
	{accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.Gaussian{NoiseMultiplier: 4}, Count: 1}, {Event: accountant.Gaussian{NoiseMultiplier: 3}, Count: 2}, {Event: accountant.Gaussian{NoiseMultiplier: 4}, Count: 2}}, 1e-5, 0, 2.62976176503904552, 1e-9, 0},
	{accountant.ZeroOut, []accountant.Entry{{Event: accountant.TreeAggregation{NoiseMultiplier: 5, Steps: 3}, Count: 4}}, 1e-5, 0, 2.28838656464943182, 1e-9, 0},
	{accountant.ZeroOut, []accountant.Entry{{Event: accountant.TreeAggregation{NoiseMultiplier: 5, Steps: 4}, Count: 4}}, 1e-5, 0, 2.87592536654229299, 1e-9, 0},
}

// Compositions. Of samples of Gaussian releases and of mixed ones: the contour integral of
// package pld with numpy 1.24.2, quadrature and trapezoid sums of its own, the same to 1e-11
// with half the step and on a second contour. Of (ε, δ) and of randomized response: the sum over
// all outcomes (Kairouz, Oh, Viswanath 2015, Theorem 3.3), with mpmath 1.4.1. Of sampled Laplace
// releases, where the added record costs more than the removed one (1.30089): the mean
// of the δ of one release over the losses of two, by 40 Gauss-Legendre rules of 40 nodes.
var compositions = []profileGolden{
	{accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 1}}, Count: 10}}, 1e-5, 0, 0.3799022365808176, 1e-8, 0},
	{accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 0.04, Event: accountant.Gaussian{NoiseMultiplier: 1.5}}, Count: 2249}}, 1e-5, 0, 6.767044105816669, 1e-8, 0},
	{accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 4}}, Count: 10000}}, 0, 1.26, 3.645100717311833e-8, 1e-8, 0},
	{
		accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 0.001, Event: accountant.Gaussian{NoiseMultiplier: 1}}, Count: 1000}, {Event: accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 2}}, Count: 500}, {Event: accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 8}}, Count: 50}},
		1e-6, 0, 0.6530509109316098, 1e-8, 0,
	},
	{accountant.ReplaceOne, []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 1}}, Count: 1000}}, 1e-5, 0, 2.8434402592744594, 1e-8, 0},
	{accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.PoissonSampledGroup{SamplingProbability: 0.01, GroupSize: 5, Event: accountant.Gaussian{NoiseMultiplier: 2}}, Count: 1000}}, 1e-5, 0, 3.732440658718776, 1e-8, 0},
	{accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.TruncatedPoissonSampled{DatasetSize: 1000, SamplingProbability: 0.01, MaxBatchSize: 16, Event: accountant.Gaussian{NoiseMultiplier: 1}}, Count: 128}}, 1e-6, 0, 5.104804879529234, 1e-8, 0},
	{
		accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 0.005, Event: accountant.Gaussian{NoiseMultiplier: 0.8}}, Count: 100}, {Event: accountant.Gaussian{NoiseMultiplier: 8}, Count: 200}, {Event: accountant.Laplace{Scale: 10}, Count: 100}},
		1e-6, 0, 11.149200343853826, 1e-8, 0,
	},
	{accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.ApproxDP{Epsilon: 0.2, Delta: 1e-4}, Count: 10}}, 0.01, 0, 1.19115840238071744, 1e-3, 0},
	{accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.ApproxDP{Epsilon: 0.2, Delta: 1e-4}, Count: 10}}, 0, 1, 0.025707825263033442, 1e-3, 0},
	{accountant.ReplaceOne, []accountant.Entry{{Event: accountant.RandomizedResponse{NoiseProbability: 0.5, Buckets: 4}, Count: 3}}, 0.3, 0, 2.85318072957008458, 1e-3, 0},
	{accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 0.9, Event: accountant.Laplace{Scale: 1}}, Count: 3}}, 0.2, 0, 1.30865553, 1e-3, 3e-8},
	{accountant.AddOrRemoveOne, []accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 0.9, Event: accountant.Laplace{Scale: 1}}, Count: 3}}, 0, 1, 0.25580990, 1e-3, 3e-8},
}

// The golden values lie in the intervals, whose upper ends are a little above at most.
func TestProfileGolden(t *testing.T) {
	for _, rows := range [][]profileGolden{singleReleases, gaussianReleases, compositions} {
		for _, row := range rows {
			l := accounttest.Ledger(t, row.ledger...)
			for _, name := range []string{"exact", "pld"} {
				a := tiny.Must(New(name, row.relation))(t)
				ask := func() (accountant.Interval, error) {
					return a.(accountant.IntervalAccountant).EpsilonInterval(l, row.delta)
				}
				if row.delta == 0 {
					ask = func() (accountant.Interval, error) {
						return a.(accountant.IntervalAccountant).DeltaInterval(l, row.epsilon)
					}
				}
				slack := row.slack
				if name == "pld" {
					slack = 1e-3
				}
				least, most := row.want*(1-max(row.err, 1e-11)), row.want*(1+max(row.err, 1e-11))
				i, err := ask()
				if err != nil || !(i.Lower <= most && i.Upper >= least && i.Upper <= most*(1+slack)) {
					t.Errorf("%s under %v: %v at δ=%v, ε=%v: in %v, %v, want %v", name, row.relation, row.ledger, row.delta, row.epsilon, i, err, row.want)
				}
			}
		}
	}
}

// Losses that are bounded add up to no more than their greatest ones, which a small δ nearly
// needs: three binary answers, each true with probability 3/4, have, next to ε = 3 log 3,
//
//	δ(ε) = (3/4)³ (1 - e^(ε - 3 log 3)).
func TestEpsilonNextToTheGreatestLoss(t *testing.T) {
	l := accounttest.Ledger(t, accountant.Entry{Event: accountant.RandomizedResponse{NoiseProbability: 0.5, Buckets: 2}, Count: 3})
	for _, name := range []string{"exact", "pld"} {
		a := tiny.Must(New(name, accountant.ReplaceOne))(t)
		for _, delta := range []float64{1e-6, 1e-11, 1e-14} {
			want := 3*math.Log(3) + math.Log1p(-delta*64/27)
			if e := accounttest.Epsilon(t, a, l, delta); !(e >= want*(1-1e-15) && e <= want*(1+1e-6)) {
				t.Errorf("%s: epsilon %v at δ=%v, want %v", name, e, delta, want)
			}
		}
	}
}
