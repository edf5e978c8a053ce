package books

import (
	"math"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/account"
)

// Answers of pure mechanisms: the loss of one is +ε or -ε, with odds e^ε for the first.
var (
	ofPlan = accountant.ApproxDP{Epsilon: 0.3}
	beyond = accountant.ApproxDP{Epsilon: 0.45}
)

// A run that stopped has made a part of a first plan, also of turns and epochs. Two runs make it
// together where no record sees more than it would have seen of the plan.
func TestPartsOfTurnsAreOfTheFirstPlan(t *testing.T) {
	for _, e := range []accountant.Event{
		accountant.CyclicSampled{Blocks: 4, Event: accountant.PoissonSampled{SamplingProbability: 0.1, Event: gradient}}, accountant.BallsInBins{Bins: 4, Event: gradient},
	} {
		runs := func(steps ...int) *accountant.Ledger {
			all := new(accountant.Ledger)
			for _, n := range steps {
				must(0, all.Join(times(t, e, n)))
			}
			return all
		}
		first := &checkpoints.First{Planned: runs(40)}
		l := checkpoints.Limit{Epsilon: 0.01, Delta: 1e-5} // less than anything else costs
		for _, test := range []struct {
			made  *accountant.Ledger
			first bool
		}{
			{runs(1), true}, {runs(17), true}, {runs(40), true}, {runs(41), false}, {runs(20, 20), true}, {runs(18, 22), false},
			{must(runs(17).With(beyond, 1)), false}, {must(runs(17).With(account.Choice, 1)), false},
		} {
			if found := must(used(l, first, test.made)); (found == l.Epsilon) != test.first {
				t.Errorf("%v: found that %v is used, expected that it is of the first plan: %t", test.made.Entries(), found, test.first)
			}
		}
	}
}

// deltaAt is E[(1 - e^(ε-L))₊] after a releases of the plan and b beyond it, all of them fixed.
func deltaAt(epsilon float64, a, b int) float64 {
	return worst(epsilon, max(a, b), func(n, m int) bool { return n <= a && m <= b })
}

func both(a, b int) *accountant.Ledger {
	return must(must(new(accountant.Ledger).With(ofPlan, a)).With(beyond, b))
}

// worst is the largest E[(1 - e^(ε-L))₊] over all rules that choose the next release, of the plan
// or beyond it, or to stop, by all that was seen, among what is admitted. It is exact: after a
// releases of the plan and b beyond it, with g and h answers of gain among them, L = 0.3·(2g-a) +
// 0.45·(2h-b), and backward induction over these four numbers finds the best rule.
func worst(epsilon float64, most int, admitted func(a, b int) bool) float64 {
	chance := func(e accountant.ApproxDP) float64 { return math.Exp(e.Epsilon) / (1 + math.Exp(e.Epsilon)) }
	p, q := chance(ofPlan), chance(beyond)
	type state struct{ a, b, g, h int }
	value := map[state]float64{}
	for n := 2 * most; n >= 0; n-- {
		for a := max(0, n-most); a <= min(n, most); a++ {
			b := n - a
			if !admitted(a, b) {
				continue
			}
			for g := range a + 1 {
				for h := range b + 1 {
					loss := ofPlan.Epsilon*float64(2*g-a) + beyond.Epsilon*float64(2*h-b)
					best := max(0, 1-math.Exp(epsilon-loss))
					if a < most && admitted(a+1, b) {
						best = max(best, p*value[state{a + 1, b, g + 1, h}]+(1-p)*value[state{a + 1, b, g, h}])
					}
					if b < most && admitted(a, b+1) {
						best = max(best, q*value[state{a, b + 1, g, h + 1}]+(1-q)*value[state{a, b + 1, g, h}])
					}
					value[state{a, b, g, h}] = best
				}
			}
		}
	}
	return value[state{}]
}

// A first plan has all of the limit by its own accounting. Whoever leaves it by what he saw, for
// whatever is admitted then, stays within δ. Where all is admitted that would cost no more if it
// had been fixed, he passes it.
func TestFirstPlanHoldsForWhoeverLeavesIt(t *testing.T) {
	const planned, most, delta = 9, 12, 0.02
	plan := both(planned, 0)
	_, exact, err := split(checkpoints.Limit{Subject: checkpoints.Subject{Data: "d"}, Epsilon: 100, Delta: delta}, plan)
	if err != nil {
		t.Fatal(err)
	}
	filter, err := chosen(plan, delta)
	if err != nil || !(filter > 1.1*exact) {
		t.Fatalf("found ε = %v by the filter (%v), expected more than the %v of a fixed plan by a tenth", filter, err, exact)
	}
	for _, epsilon := range []float64{exact, 1.02 * exact, 1.1 * exact} {
		l := checkpoints.Limit{Subject: checkpoints.Subject{Data: "d"}, Epsilon: epsilon, Delta: delta}
		first, _, err := split(l, plan)
		if err != nil || first == nil {
			t.Fatalf("found no first plan (%v), expected that %v fits %v", err, exact, epsilon)
		}
		fits, outside := map[[2]int]bool{}, 0
		for a := range most + 1 {
			for b := range most + 1 {
				cost := must(used(l, first, both(a, b)))
				if fits[[2]int{a, b}] = cost <= epsilon; cost <= epsilon && b > 0 {
					outside++
				}
			}
		}
		admitted := func(a, b int) bool { return fits[[2]int{a, b}] }
		found := worst(epsilon, most, admitted)
		wrong := worst(epsilon, most, func(a, b int) bool { return deltaAt(epsilon, a, b) <= delta })
		if rest := delta - deltaAt(epsilon, planned, 0); !(first.Rest <= rest+1e-12) || first.Rest < rest-1e-4*delta {
			t.Errorf("limit %v: %v of δ are left, expected %v", epsilon, first.Rest, rest)
		}
		if cost := must(used(l, first, both(0, 1))); first.Rest > 0 && cost != must(chosen(both(0, 1), first.Rest)) {
			t.Errorf("limit %v: found ε = %v beyond the plan, expected that at the δ that it leaves", epsilon, cost)
		}
		t.Logf("limit ε = %.4f, plan %.4f: rest of δ %.3g, %d states beyond the plan, worst δ %.4g; by the ε of fixed releases %.4g", epsilon, exact, first.Rest, outside, found, wrong)
		if !admitted(planned, 0) || admitted(planned+1, 0) && epsilon == exact {
			t.Errorf("limit %v: the plan is refused, or more than the plan admitted", epsilon)
		}
		if found > delta || !(wrong > 1.05*delta) || epsilon > exact && outside == 0 {
			t.Errorf("limit %v: worst δ is %v, and %v by the ε of fixed releases, expected at most %v and a twentieth more", epsilon, found, wrong, delta)
		}
	}
}

// A plan that costs more by itself is refused with what it costs, and what room there is beside
// others is told.
func TestRefusalsSayWhatFits(t *testing.T) {
	l := checkpoints.Limit{Subject: checkpoints.Subject{Data: "d"}, Epsilon: 3, Delta: 1e-5}
	gaussian := func(n int) *accountant.Ledger {
		return must(new(accountant.Ledger).With(accountant.Gaussian{NoiseMultiplier: 4}, n))
	}
	known := Known{dir: t.TempDir(), DatasetsInfo: checkpoints.DatasetsInfo{Limits: []checkpoints.Limit{l}}}
	_, err := admit(known, known, l, request{Run: "r", Path: "r", Planned: gaussian(20)})
	_, exact, other := split(l, gaussian(20))
	if other != nil || err == nil || !strings.Contains(err.Error(), accountant.RoundUp(exact, 3)) {
		t.Errorf("found %v (%v), expected the plan's own ε = %v", err, other, exact)
	}
	if first, _, err := split(l, must(gaussian(2).With(account.Choice, 1))); first != nil || err != nil {
		t.Errorf("found the first plan %v (%v), expected none for a number of steps that results choose", first, err)
	}
	drawn := times(t, accountant.FixedSizeSampled{DatasetSize: 1000, BatchSize: 10, Event: accountant.Gaussian{NoiseMultiplier: 2}}, 5) // which replace-one alone is known for
	if first, _, err := split(l, drawn); first == nil || err != nil || must(used(l, nil, drawn)) > 2 {
		t.Errorf("found the first plan %v (%v), expected one for samples of a fixed size", first, err)
	}
	known.Members = []checkpoints.Member{
		{Run: "a", Registration: checkpoints.Registration{Path: "a", Data: checkpoints.Data{Name: "d"}}, Entries: 2, Ledger: gaussian(2)}}
	_, err = admit(known, known, l, request{Run: "r", Path: "r", Planned: gaussian(20)})
	if err == nil || !strings.Contains(err.Error(), "the first ") {
		t.Fatalf("found %v, expected how much fits", err)
	}
	n := 0
	for ; ; n++ {
		if _, err := admit(known, known, l, request{Run: "r", Path: "r", Planned: gaussian(n + 1)}); err != nil {
			break
		}
	}
	if want := "the first " + string(rune('0'+n)) + " of its 20 releases would fit"; n == 0 || n > 9 || !strings.Contains(err.Error(), want) {
		t.Errorf("found %v, expected %q", err, want)
	}
}

// Once something was released a limit is never raised, and not changed at all where its δ was split
// for a first plan. A run holds its ledger to both numbers with which it began.
func TestLimitsMayNotChange(t *testing.T) {
	on := checkpoints.Subject{Data: "d"}
	known := Known{dir: t.TempDir(), DatasetsInfo: checkpoints.DatasetsInfo{
		Limits:  []checkpoints.Limit{{Subject: on, Epsilon: 3, Delta: 1e-5}},
		First:   []checkpoints.First{{Subject: on, Planned: both(1, 0), Rest: 1e-6}},
		Members: []checkpoints.Member{{Run: "a", Registration: checkpoints.Registration{Path: "a", Data: checkpoints.Data{Name: "d"}}, Entries: 1, Ledger: both(1, 0)}},
	}}
	for l, refusal := range map[configs.Limit]string{{Epsilon: 3, Delta: 1e-5}: "", {Epsilon: 2, Delta: 1e-5}: "split", {Epsilon: 3, Delta: 1e-6}: "split", {Epsilon: 4, Delta: 1e-5}: "never raised", {Epsilon: 3, Delta: 1e-4}: "never raised"} {
		err := LimitState{Limit: checkpoints.Limit{Subject: on, Epsilon: l.Epsilon, Delta: l.Delta}}.refuseSetting(known)
		if (err == nil) != (refusal == "") || err != nil && !strings.Contains(err.Error(), refusal) {
			t.Errorf("%+v: found %v, expected a refusal with %q", l, err, refusal)
		}
		if err := known.refuseLostLimit("a", &configs.Config{Data: configs.Data{Limit: l}}, on); (err == nil) != (l.Epsilon >= 3 && l.Delta >= 1e-5) {
			t.Errorf("a run that began with %+v: found %v", l, err)
		}
	}
	known.Limits, known.First, known.Members[0].Entries = nil, nil, 0
	known.apart = map[string]string{"a": "its ledger"} // of a task, whose lock this machine may not see
	if err := (LimitState{Limit: checkpoints.Limit{Subject: on, Epsilon: 3, Delta: 1e-5}}).refuseSetting(known); err == nil {
		t.Error("a first limit is set while a task is at work")
	}
}
