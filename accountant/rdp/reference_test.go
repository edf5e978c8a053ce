package rdp

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/accountant/internal/pair"
	"dpsgd/accountant/pld"
	"dpsgd/internal/tiny"
)

// covered says where the rows of a kind are tested.
var covered = map[string]string{
	"orders": "lists that other rows name", "rdp_poisson_gaussian": "rdp",
	"eps_rdp": "rdp", "calibrate_sigma": "rdp",
	"eps_pld": "pld", "delta_at_eps": "pld", "replace_one_poisson": "pld",
	"group_dpsgd": "pld", "truncated_poisson": "pld", "mixed_composition": "pld",
	"gaussian_eps": "pld", "gaussian_delta": "pld",
	"laplace": "pld, rdp, mechanism", "published": "pld, rdp",
	"randomized_response": "pld, rdp, mechanism, composition",
	"gdp":                 "gdp", "zcdp": "zcdp", "rdp_sample_wor": "rdp",
	"eps_sample_wor": "rdp", "rdp_tree": "rdp", "rdp_repeat_select": "rdp",
	"gaussian_mechanism": "mechanism", "composition_basic": "composition", "composition_advanced": "composition",
	"composition_optimal": "composition", "composition_heterogeneous": "composition", "group_rdp": "composition",
	"group_eps_delta": "composition", "shuffle": "composition",
	"pate_gnmax": "pate", "pate_lnmax": "pate", "pate_threshold": "pate",
}

// Every kind is covered.
func TestReferenceKinds(t *testing.T) {
	rows := 0
	for kind, lines := range accounttest.Lines(t) {
		if covered[kind] == "" {
			t.Errorf("%d rows of kind %s are tested nowhere", len(lines), kind)
		}
		rows += len(lines)
	}
	t.Logf("%d rows of %d kinds are covered", rows, len(covered))
}

// referenceRDP returns the accountants over the named lists of orders.
func referenceRDP(t *testing.T) map[string]*Accountant {
	t.Helper()
	accountants := map[string]*Accountant{}
	for _, row := range accounttest.Rows[accounttest.Row](t, "orders") {
		var orders []float64
		tiny.Check(t, json.Unmarshal(row.Orders, &orders))
		accountants[row.Name] = newRDP(t, orders)
	}
	return accountants
}

func TestReferenceDivergences(t *testing.T) {
	for _, row := range accounttest.Rows[accounttest.Row](t, "rdp_poisson_gaussian") {
		d := tiny.Must(divergenceOf(accountant.PoissonSampled{SamplingProbability: row.Q, Event: accountant.Gaussian{NoiseMultiplier: row.Sigma}}, accountant.AddOrRemoveOne, nil))(t)
		got := d(row.Alpha)
		if e := accounttest.Relative(got, row.Value); !(e < relativeError) { // the project asks for 1e-9
			t.Errorf("%s: q=%v σ=%v α=%v: %v, want %v (relative error %.1e)", row.ID, row.Q, row.Sigma, row.Alpha, got, row.Value, e)
		}
		if row.ValueReverse > got {
			t.Errorf("%s: the other direction is larger, %v > %v", row.ID, row.ValueReverse, got)
		}
	}
}

func TestReferenceEpsilons(t *testing.T) {
	accountants := referenceRDP(t)
	for _, row := range accounttest.Rows[accounttest.Row](t, "eps_rdp") {
		var name string
		tiny.Check(t, json.Unmarshal(row.Orders, &name))
		got := accounttest.Epsilon(t, accountants[name], row.Ledger(t), row.Delta)
		if e := math.Abs(got - row.Value); !(e <= 1e-10*row.Value) { // the project asks for 1e-6
			t.Errorf("%s: epsilon %v, want %v (difference %.1e)", row.ID, got, row.Value, e)
		}
	}
}

func TestReferenceCalibrations(t *testing.T) {
	accountants := referenceRDP(t)
	for _, row := range accounttest.Rows[accounttest.Row](t, "calibrate_sigma") {
		event := func(sigma float64) accountant.Event {
			return accountant.PoissonSampled{SamplingProbability: row.Q, Event: accountant.Gaussian{NoiseMultiplier: sigma}}
		}
		target := accountant.Guarantee{Epsilon: row.Eps, Delta: row.Delta}
		got, err := accountant.CalibrateNoiseMultiplier(accountants["opacus"], event, row.Steps, target)
		if err != nil || got < row.ValueRDP*(1-1e-9) || got > row.ValueRDP*(1+1e-6) {
			t.Errorf("%s: σ = %v, %v, want %v or up to 1e-6 more", row.ID, got, err, row.ValueRDP)
		}
		exact, err := accountant.CalibrateNoiseMultiplier(tiny.Must(pld.NewExact(accountant.AddOrRemoveOne))(t), event, row.Steps, target)
		if err != nil || !(math.Abs(exact-row.Value) <= 1e-8*row.Value) {
			t.Errorf("%s: σ = %v by the exact accountant, %v, want %v", row.ID, exact, err, row.Value)
		}
		best, err := accountant.CalibrateNoiseMultiplier(newRDP(t, DefaultOrders()), event, row.Steps, target)
		if err != nil || best < row.Value || best > got*(1+1e-3) {
			t.Errorf("%s: σ = %v with the default orders, %v, want from the exact %v to about %v", row.ID, best, err, row.Value, got)
		}
	}
}

// ordersOf returns the named lists of orders.
func ordersOf(t *testing.T) map[string][]float64 {
	t.Helper()
	lists := map[string][]float64{}
	for name, a := range referenceRDP(t) {
		lists[name] = a.orders
	}
	return lists
}

// The divergences of one release are those of the reference rows, which have 1e-9 at least.
func TestReferenceDivergencesOfOtherKinds(t *testing.T) {
	check := func(row accounttest.Row, r accountant.Relation, e accountant.Event) {
		t.Helper()
		got, err := rdpUnder(t, r, DefaultOrders()).Divergence(e, row.Alpha)
		if err != nil || !(accounttest.Relative(got, row.Value) < 5e-12) || got < row.Value*(1-1e-15) {
			t.Errorf("%s: %v of order %v: %v, %v, want %v", row.ID, e, row.Alpha, got, err, row.Value)
		}
	}
	for kind, of := range map[string]func(row accounttest.Row){
		"laplace": func(row accounttest.Row) {
			check(row, accountant.AddOrRemoveOne, accountant.Laplace{Scale: row.Scale})
			check(row, accountant.ReplaceOne, accountant.Laplace{Scale: 2 * row.Scale})
		},
		"randomized_response": func(row accounttest.Row) {
			check(row, accountant.ReplaceOne, accountant.RandomizedResponse{NoiseProbability: row.Noise, Buckets: row.Buckets})
		},
		"rdp_tree": func(row accounttest.Row) {
			var steps int
			if err := json.Unmarshal(row.StepCounts, &steps); err != nil {
				// Several trees, each record in one of them: the longest costs the most.
				var counts []int
				tiny.Check(t, json.Unmarshal(row.StepCounts, &counts))
				steps = slices.Max(counts)
			}
			check(row, accountant.ZeroOut, accountant.TreeAggregation{NoiseMultiplier: row.Sigma, Steps: steps})
		},
		// Sigma is over the sensitivity of a replacement, which is twice the bound of a
		// contribution.
		"rdp_sample_wor": func(row accounttest.Row) {
			check(row, accountant.ReplaceOne, accountant.FixedSizeSampled{DatasetSize: row.N, BatchSize: row.Batch, Event: accountant.Gaussian{NoiseMultiplier: 2 * row.Sigma}})
		},
	} {
		for _, row := range accounttest.Rows[accounttest.Row](t, kind) {
			if row.Alpha != 0 {
				of(row)
			}
		}
	}
}

func TestReferenceFixedSizeEpsilons(t *testing.T) {
	orders := ordersOf(t)
	for _, row := range accounttest.Rows[accounttest.Row](t, "eps_sample_wor") {
		var name string
		tiny.Check(t, json.Unmarshal(row.Orders, &name))
		event := accountant.FixedSizeSampled{DatasetSize: row.N, BatchSize: row.Batch, Event: accountant.Gaussian{NoiseMultiplier: 2 * row.Sigma}}
		got := accounttest.Epsilon(t, rdpUnder(t, accountant.ReplaceOne, orders[name]), accounttest.Ledger(t, accountant.Entry{Event: event, Count: row.Steps}), row.Delta)
		if !(accounttest.Relative(got, row.Value) < 1e-10) {
			t.Errorf("%s: epsilon %v, want %v", row.ID, got, row.Value)
		}
	}
}

func TestReferenceRepeatAndSelect(t *testing.T) {
	orders := ordersOf(t)
	for _, row := range accounttest.Rows[accounttest.Row](t, "rdp_repeat_select") {
		shape := math.Inf(1)
		if err := json.Unmarshal(row.Shape, &shape); err != nil && string(row.Shape) != `"poisson"` {
			t.Fatal(err)
		}
		one := accountant.SelfComposed{Event: accountant.PoissonSampled{SamplingProbability: row.Q, Event: accountant.Gaussian{NoiseMultiplier: row.Sigma}}, Count: row.Steps}
		event := accountant.RepeatAndSelect{Event: one, Mean: row.Mean, Shape: shape}
		got := accounttest.Epsilon(t, newRDP(t, orders["dp_accounting"]), accounttest.Ledger(t, accountant.Entry{Event: event, Count: 1}), row.Delta)
		if !(accounttest.Relative(got, row.Value) < 1e-9) {
			t.Errorf("%s: epsilon %v, want %v (relative error %.1e)", row.ID, got, row.Value, accounttest.Relative(got, row.Value))
		}
		if best := accounttest.Epsilon(t, newRDP(t, DefaultOrders()), accounttest.Ledger(t, accountant.Entry{Event: event, Count: 1}), row.Delta); best > row.Value {
			t.Errorf("%s: epsilon %v with the default orders, more than %v", row.ID, best, row.Value)
		}
	}
}

// What papers and other tools have printed, by the better conversion at the orders they used.
func TestReferencePublished(t *testing.T) {
	accountants := referenceRDP(t)
	checked := 0
	for _, row := range accounttest.Rows[accounttest.Row](t, "published") {
		if row.CheckImproved == 0 {
			continue
		}
		name := "opacus"
		if row.Orders != nil {
			tiny.Check(t, json.Unmarshal(row.Orders, &name))
		}
		l := accounttest.Ledger(t, accountant.Entry{Event: accountant.PoissonSampled{SamplingProbability: row.Q, Event: accountant.Gaussian{NoiseMultiplier: row.Sigma}}, Count: row.Steps})
		if got := accounttest.Epsilon(t, accountants[name], l, row.Delta); !(accounttest.Relative(got, row.CheckImproved) < 1e-9) {
			t.Errorf("%s: epsilon %v, want %v", row.ID, got, row.CheckImproved)
		}
		checked++
	}
	if checked < 12 {
		t.Errorf("%d rows have checks, want at least 12", checked)
	}
}

// Upper bounds are never below the exact epsilon of the pairs, nor far above.
func TestReferenceExactOfOtherPairs(t *testing.T) {
	check := func(row accounttest.Row, r accountant.Relation, e accountant.Event) {
		t.Helper()
		got := accounttest.Epsilon(t, rdpUnder(t, r, DefaultOrders()), accounttest.Ledger(t, accountant.Entry{Event: e, Count: row.Steps}), row.Delta)
		if !(got >= row.Value-row.ValueErr && got <= 1.4*row.Value) {
			t.Errorf("%s: epsilon %v, the exact one is %v", row.ID, got, row.Value)
		}
	}
	for _, row := range accounttest.Rows[accounttest.Row](t, "replace_one_poisson") {
		check(row, accountant.ReplaceOne, accountant.PoissonSampled{SamplingProbability: row.Q, Event: accountant.Gaussian{NoiseMultiplier: row.Sigma}})
	}
	for _, row := range accounttest.Rows[accounttest.Row](t, "group_dpsgd") {
		check(row, accountant.AddOrRemoveOne, accountant.PoissonSampledGroup{SamplingProbability: row.Q, GroupSize: row.K, Event: accountant.Gaussian{NoiseMultiplier: row.Sigma}})
	}
	for _, row := range accounttest.Rows[accounttest.Row](t, "truncated_poisson") {
		event := accountant.TruncatedPoissonSampled{DatasetSize: row.N, SamplingProbability: row.Q, MaxBatchSize: row.MaxBatch, Event: accountant.Gaussian{NoiseMultiplier: row.Sigma}}
		check(row, accountant.AddOrRemoveOne, event)
		check(row, accountant.ZeroOut, event)
		full, stays := pair.Truncation(event.DatasetSize, event.SamplingProbability, event.MaxBatchSize)
		if accounttest.Relative(full, row.TruncationChance) > 1e-11 || accounttest.Relative(stays, row.ConditionalChance) > 1e-11 {
			t.Errorf("%s: truncated with %v and sampled then with %v, want %v and %v",
				row.ID, full, stays, row.TruncationChance, row.ConditionalChance)
		}
	}
}

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
