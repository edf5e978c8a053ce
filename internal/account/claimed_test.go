package account

import (
	"errors"
	"math"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/checkpoints"
	"dpsgd/internal/tiny"
)

// A ledger that holds a release without noise has no ε to report, whoever is asked.
func TestNoGuaranteeIsNoNumber(t *testing.T) {
	for _, name := range []string{Exact, PLD, RDP} {
		l := new(accountant.Ledger)
		for _, e := range []accountant.Event{accountant.Gaussian{NoiseMultiplier: 1}, accountant.NonPrivate{}} {
			tiny.Check(t, l.Add(e, 1))
		}
		if spent, err := SpentBy(name, l, 1e-5); !errors.Is(err, ErrNoGuarantee) {
			t.Errorf("by %s it is %v (%v), expected an error that matches %v", name, spent.Epsilon, err, ErrNoGuarantee)
		}
	}
}

// A claim, and that of the accountant which stands in, is under the relation of the ledger. What was
// made costs by itself, at what its own choices leave of δ, and is told where it is less.
func TestClaimIsOfItsLedger(t *testing.T) {
	fixed := tiny.Ledger(t, accountant.FixedSizeSampled{DatasetSize: 100, BatchSize: 10, Event: accountant.Gaussian{NoiseMultiplier: 1}}, 5)
	if c, err := ClaimBy(Exact, fixed, nil, 1e-5); err != nil || c.Relation != accountant.ReplaceOne || c.EpsilonRDP == nil {
		t.Errorf("found %+v (%v), expected both answers under %v", c, err, accountant.ReplaceOne)
	}
	made := Question{View: View{Accountant: RDP}, Ledger: coins(t, 9), Delta: 1e-5}
	made.Relation, made.Made = accountant.ReplaceOne, &Made{coins(t, 5), 4}
	want := tiny.Must(made.by(RDP)(coins(t, 5)))(t)
	made.Delta = 4e-5
	if c := answer(t, made).Made; c.Epsilon != want.Epsilon {
		t.Errorf("found ε = %v of what was made, expected %v", c.Epsilon, want.Epsilon)
	}
	less, more := Spent{Guarantee: accountant.Guarantee{Epsilon: 1}}, Spent{Guarantee: accountant.Guarantee{Epsilon: 2}}
	if c := NewClaim(more, less, fixed); c.Released == nil || c.Released.Epsilon != 1 || NewClaim(less, more, fixed).Released != nil {
		t.Errorf("found %+v, expected that 1 of 2 was released", c)
	}
}

const coinLoss = 0.3

// coin is the answer to a question of two answers whose odds of the truth are e^coinLoss.
func coin() accountant.Event {
	return accountant.RandomizedResponse{NoiseProbability: 2 / (1 + math.Exp(coinLoss)), Buckets: 2}
}

// excess is the least δ with which a claim of ε = claim(k) after k of n coins holds for every set
// of results, whoever stops after how many coins, for whatever he saw; he may stop from the
// first-th on. It is exact. The loss after k coins of which h are heads is L = coinLoss·(2h-k), and
// the best rule is that of optimal stopping, which backward induction finds: V_k =
// max((1-e^(claim(k)-L))₊, E[V_k+1]).
func excess(n, first int, claim func(k int) float64) float64 {
	heads := math.Exp(coinLoss) / (1 + math.Exp(coinLoss))
	value := make([]float64, n+2)
	for k := n; k >= 0; k-- {
		now := make([]float64, k+1)
		for h := range now {
			if k < n {
				now[h] = heads*value[h+1] + (1-heads)*value[h]
			}
			if k >= first {
				now[h] = max(now[h], 1-math.Exp(claim(k)-coinLoss*float64(2*h-k)))
			}
		}
		value = now
	}
	return value[0]
}

func coins(t *testing.T, n int) *accountant.Ledger {
	t.Helper()
	return tiny.Ledger(t, coin(), n)
}

// A run that goes on within an epoch of balls in bins has the rest of that epoch in its ledger, which
// costs nothing: it claims what its plan costs, also where it was extended. A step of one more epoch
// is beyond the plan.
func TestClaimsCountWholeEpochs(t *testing.T) {
	bin := accountant.BallsInBins{Bins: 20, Event: accountant.Gaussian{NoiseMultiplier: 2}}
	a := tiny.Must(New(Exact, accountant.ZeroOut))(t)
	epsilon := func(epochs, choices int) float64 {
		l := tiny.Must(tiny.Ledger(t, bin, 20*epochs).With(Choice, choices))(t)
		cost, _, err := a.Spent(l, 1e-5)
		tiny.Check(t, err)
		return cost.Epsilon
	}
	for _, test := range []struct {
		made, choices int
		want          float64
	}{{44, 0, epsilon(3, 0)}, {60, 0, epsilon(3, 0)}, {61, 0, epsilon(4, 6)}, {80, 2, epsilon(4, 2)}, {71, 2, epsilon(4, 2)}, {81, 2, epsilon(5, 8)}} {
		l := tiny.Must(tiny.Ledger(t, bin, test.made).With(Choice, test.choices))(t)
		claim, _, err := a.Claim(l, &checkpoints.Planned{Releases: tiny.Ledger(t, bin, 50)}, 1e-5)
		if err != nil || claim.Epsilon != test.want {
			t.Errorf("%+v: found ε = %v (%v) of 50 planned steps", test, claim.Epsilon, err)
		}
	}
}

// What a run claims that somebody stops, or kills and repeats, holds whatever he looked at. The ε
// of what it released by then does not: the best rule passes its δ by a multiple.
func TestClaimsHoldForWhoeverStops(t *testing.T) {
	const planned, killed, delta = 24, 64, 0.01
	pld := tiny.Must(accountants.New(PLD, accountant.ReplaceOne))(t)
	a := tiny.Must(WithRDP(pld))(t)
	epsilon := func(l *accountant.Ledger) float64 {
		cost, _, err := a.Spent(l, delta)
		tiny.Check(t, err)
		return cost.Epsilon
	}
	var now, claims []float64
	for k := range killed + 1 {
		l := coins(t, k)
		claimed := tiny.Must(a.Claimed(l, &checkpoints.Planned{Releases: coins(t, planned)}, delta))(t)
		now, claims = append(now, epsilon(l)), append(claims, epsilon(claimed))
		if claims[k] < now[k] {
			t.Errorf("after %d releases the claim is %v, expected no less than %v of these", k, claims[k], now[k])
		}
	}
	if claims[planned] != now[planned] {
		t.Errorf("a run that made all its releases claims %v, expected %v", claims[planned], now[planned])
	}
	for _, test := range []struct {
		what     string
		n, first int
	}{{"stopped", planned, 1}, {"killed", killed, planned + 1}} {
		of := func(list []float64) float64 {
			return excess(test.n, test.first, func(k int) float64 { return list[k] })
		}
		if old, new := of(now), of(claims); old < 2*delta || new > delta {
			t.Errorf("%s: with ε of what was released δ is %.4f, with the claim %.4f; expected at least %v and at most %v", test.what, old, new, 2*delta, delta)
		}
	}
}

// A budget ends a run, so a claim never passes it: neither that of a run that repeated releases,
// nor that of one whose plan another accountant finds dearer. An extended run is claimed to the end
// of its extension. Where a release of which the plan has one was repeated, the dearer one is
// claimed: what was made or what was planned.
func TestClaimsStayWithinTheBudget(t *testing.T) {
	a := tiny.Must(New(RDP, accountant.ZeroOut))(t)
	step := accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 1}}
	of := func(n, choices int) *accountant.Ledger {
		l, err := new(accountant.Ledger).With(step, n)
		if err == nil && choices > 0 {
			l, err = l.With(Choice, choices)
		}
		tiny.Check(t, err)
		return l
	}
	epsilon := func(n, choices int) float64 {
		cost, _, err := a.Spent(of(n, choices), 1e-5)
		tiny.Check(t, err)
		return cost.Epsilon
	}
	for _, test := range []struct {
		made, choices int
		planned       int
		budget        float64
		want          float64
	}{
		{10, 0, 40, 0, epsilon(40, 0)},
		{40, 0, 40, 0, epsilon(40, 0)},
		{0, 0, 40, 0, 0},
		{41, 0, 40, 0, epsilon(41, 1)},
		{42, 0, 40, 0, epsilon(42, 2)},
		{43, 0, 40, 0, epsilon(44, 3)},
		{43, 0, 40, 100, epsilon(44, 3)},
		{43, 0, 40, epsilon(44, 0), epsilon(44, 0)}, // no run passes 44 releases
		{43, 0, 40, epsilon(43, 0), epsilon(43, 0)},
		{10, 0, 40, epsilon(30, 0), epsilon(30, 0)},
		{41, 1, 40, epsilon(40, 0), epsilon(48, 1)}, // 40·2^(1/4), rounded up
		{48, 1, 40, epsilon(40, 0), epsilon(48, 1)},
		{49, 1, 40, 0, epsilon(49, 2)},
		{43, 0, 0, epsilon(44, 0), epsilon(44, 0)}, // nobody knows what was planned but the budget
	} {
		l := tiny.Must(a.Claimed(of(test.made, test.choices), &checkpoints.Planned{Epsilon: test.budget, Releases: of(test.planned, 0)}, 1e-5))(t)
		cost, _, err := a.Spent(l, 1e-5)
		if err != nil || cost.Epsilon != test.want {
			t.Errorf("%+v: claimed are %v: ε = %v (%v), expected %v", test, l.Entries(), cost.Epsilon, err, test.want)
		}
	}
	for noise, dearer := range map[float64]int{0.5: 0, 100: 1} {
		once := accountant.Gaussian{NoiseMultiplier: noise}
		both := []*accountant.Ledger{tiny.Must(of(1, 0).With(once, 2))(t), tiny.Must(of(5, 0).With(once, 1))(t)}
		if l := tiny.Must(a.Claimed(both[0], &checkpoints.Planned{Releases: both[1]}, 1e-5))(t); l != both[dearer] {
			t.Errorf("claimed are %v of %v that were made and %v that were planned", l.Entries(), both[0].Entries(), both[1].Entries())
		}
	}
}
