package rdp

import (
	"math"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
)

// Every accountant must give the answers of this file, with or without the shared reference values:
// each kind of event, under each relation that it is defined for, released once and often. The
// shared values have more of them.

// renyiGolden are answers of the Rényi accountant at one order: D_α of one release, and epsilon
// of count releases at δ = 1e-5.
//
// Computed with mpmath 1.4.1 at 40 digits from the definitions: quad of P^α Q^(1-α), the larger
// direction, for samples of Gaussian and Laplace releases; the closed forms of Mironov 2017,
// Table II; the sum of Theorem 27 of Wang, Balle, Kasiviswanathan 2019; Theorems 2 and 6 of
// Papernot, Steinke 2022 with this order as their only one; and then
//
//	count*D + log(1 - 1/α) - log(δ*α)/(α - 1)
var renyiGolden = []struct {
	relation   accountant.Relation
	event      accountant.Event
	order      float64
	divergence float64
	count      int
	epsilon    float64
}{
	{accountant.AddOrRemoveOne, accountant.Gaussian{NoiseMultiplier: 4}, 8, 0.25, 3, 1.9641091678455334471},
	{accountant.ReplaceOne, accountant.Gaussian{NoiseMultiplier: 4}, 8, 1, 3, 4.2141091678455334471},
	{accountant.AddOrRemoveOne, accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 1.1}}, 8, 0.00058407033552025122492, 1000, 1.798179503365784672},
	{accountant.ZeroOut, accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 1.1}}, 4.5, 0.00030303934941345499825, 1000, 2.9113957977593930196},
	{accountant.ReplaceOne, accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 2}}, 8, 0.00040316524838260548713, 1000, 1.6172744162281389342},
	{accountant.AddOrRemoveOne, accountant.PoissonSampledGroup{SamplingProbability: 0.01, GroupSize: 3, Event: accountant.Gaussian{NoiseMultiplier: 2}}, 8, 0.0010907093326166333572, 300, 1.5413219676305234543},
	{accountant.AddOrRemoveOne, accountant.Laplace{Scale: 3}, 8, 0.24437186655487579525, 8, 3.1690841002845398091},
	{accountant.ReplaceOne, accountant.Laplace{Scale: 3}, 8, 0.5768711044848314611, 8, 5.8290780037241851359},
	{accountant.AddOrRemoveOne, accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Laplace{Scale: 1}}, 8, 0.00034972691023110891821, 1000, 1.5638360780766423653},
	{accountant.ReplaceOne, accountant.FixedSizeSampled{DatasetSize: 1000, BatchSize: 10, Event: accountant.Gaussian{NoiseMultiplier: 4}}, 8, 0.00046841626107201985884, 500, 1.4483172983815433765},
	{accountant.ReplaceOne, accountant.FixedSizeSampled{DatasetSize: 1000, BatchSize: 100, Event: accountant.Gaussian{NoiseMultiplier: 2}}, 8, 1.478554782562137017, 1, 2.6926639504076704641},
	{accountant.AddOrRemoveOne, accountant.TruncatedPoissonSampled{DatasetSize: 1000, SamplingProbability: 0.01, MaxBatchSize: 15, Event: accountant.Gaussian{NoiseMultiplier: 1.5}}, 8, 1.3496731871244318672, 500, 676.05070273006146705},
	{accountant.ReplaceOne, accountant.RandomizedResponse{NoiseProbability: 0.5, Buckets: 4}, 8, 1.5422952682589468208, 3, 5.8409949726223739095},
	{accountant.AddOrRemoveOne, accountant.ApproxDP{Epsilon: 0.5}, 8, 0.43235370675646487364, 4, 2.9435239948713929417},
	{accountant.AddOrRemoveOne, accountant.ZCDP{Rho: 0.05}, 8, 0.4, 5, 3.2141091678455334471},
	{accountant.ZeroOut, accountant.TreeAggregation{NoiseMultiplier: 3, Steps: 4}, 8, 1.3333333333333333333, 2, 3.8807758345122001138},
	{accountant.AddOrRemoveOne, accountant.SelfComposed{Event: accountant.Gaussian{NoiseMultiplier: 4}, Count: 3}, 8, 0.75, 1, 1.9641091678455334471},
	{accountant.AddOrRemoveOne, accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.SelfComposed{Event: accountant.Gaussian{NoiseMultiplier: 2.2}, Count: 4}}, 8, 0.00058407033552025122492, 1000, 1.798179503365784672},
	{accountant.AddOrRemoveOne, accountant.RepeatAndSelect{Event: accountant.SelfComposed{Event: accountant.Gaussian{NoiseMultiplier: 10}, Count: 20}, Mean: 5, Shape: 1}, 8, 2.8322791798848251472, 1, 4.0463883477303585943},
	{accountant.AddOrRemoveOne, accountant.RepeatAndSelect{Event: accountant.SelfComposed{Event: accountant.Gaussian{NoiseMultiplier: 10}, Count: 20}, Mean: 5, Shape: 0.5}, 8, 2.4526060148494621433, 1, 3.6667151826949955904},
	{accountant.AddOrRemoveOne, accountant.RepeatAndSelect{Event: accountant.SelfComposed{Event: accountant.Gaussian{NoiseMultiplier: 10}, Count: 20}, Mean: 5, Shape: math.Inf(1)}, 8, 4.7402803172784455827, 1, 5.9543894851239790298},
}

func TestRenyiGolden(t *testing.T) {
	for _, row := range renyiGolden {
		a := rdpUnder(t, row.relation, []float64{row.order})
		d, err := a.Divergence(row.event, row.order)
		if err != nil || !(accounttest.Relative(d, row.divergence) < 1e-11) {
			t.Errorf("%v under %v: divergence %v, %v, want %v", row.event, row.relation, d, err, row.divergence)
		}
		l := accounttest.Ledger(t, accountant.Entry{Event: row.event, Count: row.count})
		if e := accounttest.Epsilon(t, a, l, 1e-5); !(accounttest.Relative(e, row.epsilon) < 1e-11) {
			t.Errorf("%d × %v under %v: epsilon %v, want %v", row.count, row.event, row.relation, e, row.epsilon)
		}
		// At one order δ is a function of ε, and back.
		if g, err := a.Delta(l, row.epsilon); err != nil || !(accounttest.Relative(g.Delta, 1e-5) < 1e-8) {
			t.Errorf("%d × %v under %v: delta %v at epsilon %v, %v, want 1e-5", row.count, row.event, row.relation, g.Delta, row.epsilon, err)
		}
	}
}
