package account

import (
	"maps"
	"math"
	"slices"
	"sort"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
)

// PerDoubling is how many totals of Total there are from a number of steps to twice that number.
const PerDoubling = 4

// Total is number j of the totals that a run of first steps can be extended to: the least whole
// number that is at least first·2^(j/4). The list is fixed before the first release, as the
// argument at [Choice] needs it; it is short, so that a choice costs little.
func Total(first, j int) int {
	return int(math.Ceil(float64(first) * math.Exp2(float64(j)/PerDoubling)))
}

// Claimed returns the ledger whose ε at δ a run may state for every set of results. It is l if the
// run released all that it planned, and if its plan is not known (p is nil).
//
// The ε of k releases holds for a number k that is fixed in advance. Whoever stops a run after k of
// n may have looked at them, so that k is a function of the results. What such a run shows is a
// function of what all n would have shown: its first k results, for a rule that sees these alone.
// So it has the guarantee of the n releases, by post-processing (Dwork, Roth 2014, Proposition
// 2.1), whatever the rule is. The ε of the k releases holds only for a rule that looks at no
// result. A run that ends because one more release would pass its budget is stopped by such a rule:
// its plan is counted up to there.
//
// A run that was killed repeats the releases that no checkpoint holds. In earlier versions it ended
// with more than n where its budget had room. When it is killed may be a function of results too.
// More than n releases are paid for as extensions are, from the list n+1, n+2, n+4, n+8, …: number
// j of the list costs what its releases cost at δ/2^j, which holds for runs with more than n. Where
// the run has a budget, no run makes more releases than fit it, so these are the alternative.
func (a Accountants) Claimed(l *accountant.Ledger, p *checkpoints.Planned, delta float64) (*accountant.Ledger, error) {
	choices := Choices(l)
	if p == nil || p.Releases == nil || l.Count() == choices {
		return l, nil
	}
	planned, err := after(p.Releases, choices)
	if err != nil {
		return nil, err
	}
	ended, err := wholeEpochs(l)
	if err != nil {
		return nil, err
	}
	whole, err := wholeEpochs(planned)
	if err != nil {
		return nil, err
	}
	made, all := Counts(ended), Counts(whole)
	if maps.Equal(made, all) {
		return l, nil
	}
	repeated := false // a release that the plan has once, such as that of a mean
	for e, n := range made {
		repeated = repeated || n > all[e]
	}
	claim := planned
	if more := ended.Count() - whole.Count(); more > 0 {
		if claim, err = beyond(l, planned, more); err != nil {
			return nil, err
		}
	} else if repeated {
		now, _, err := a.Spent(l, delta)
		if err != nil {
			return nil, err
		}
		if all, _, err := a.Spent(planned, delta); err != nil || all.Epsilon < now.Epsilon {
			claim = l
		}
	}
	if p.Epsilon == 0 || choices > 0 || a.fits(claim, p.Epsilon, delta) {
		return claim, nil
	}
	return a.upTo(p.Epsilon, l, lastOf(l, planned), delta), nil
}

// wholeEpochs returns a ledger with all steps of its last epoch. They cost nothing, and a run that
// went on within an epoch has them in its ledger.
func wholeEpochs(l *accountant.Ledger) (*accountant.Ledger, error) {
	step, left := RestOfEpoch(l)
	if left == 0 {
		return l, nil
	}
	return l.With(step, left)
}

// RestOfEpoch returns how many steps are left of the last epoch of balls in bins, and their event; 0
// where there is no such epoch, or all of it was made.
func RestOfEpoch(l *accountant.Ledger) (step accountant.Event, left int) {
	turns, step := l.Turns()
	if bins, ok := step.(accountant.BallsInBins); ok && turns%bins.Bins != 0 {
		left = bins.Bins - turns%bins.Bins
	}
	return step, left
}

// after returns a plan that was extended choices times: with more steps, and with the choices. Its
// last entry holds the steps, all of which are alike in a plan that can be extended.
func after(planned *accountant.Ledger, choices int) (*accountant.Ledger, error) {
	entries := planned.Entries()
	if choices == 0 || len(entries) == 0 {
		return planned, nil
	}
	steps := entries[len(entries)-1]
	all, err := planned.With(steps.Event, Total(steps.Count, choices)-steps.Count)
	if err == nil {
		err = all.Add(Choice, choices)
	}
	return all, err
}

// beyond returns the claim of a run that made more releases than planned, by the number more.
func beyond(l, planned *accountant.Ledger, more int) (*accountant.Ledger, error) {
	number, total := 1, 1
	for ; total < more; total *= 2 {
		number++
	}
	all, err := l.With(lastOf(l, planned), total-more)
	if err == nil {
		err = all.Add(Choice, number)
	}
	return all, err
}

// lastOf returns the last event of planned that is no choice, or that of l if planned is empty.
func lastOf(l, planned *accountant.Ledger) (last accountant.Event) {
	for _, entry := range slices.Concat(l.Entries(), planned.Entries()) {
		if entry.Event != Choice {
			last = entry.Event
		}
	}
	return last
}

// fits reports whether a ledger is within a budget, to a relative 1e-9: the program that planned
// may have been an older one, whose ε differs in the tenth digit.
func (a Accountants) fits(l *accountant.Ledger, epsilon, delta float64) bool {
	cost, _, err := a.Spent(l, delta)
	return err == nil && cost.Epsilon <= epsilon*(1+1e-9)
}

// upTo returns l with as many further releases of step as fit the budget epsilon at delta.
func (a Accountants) upTo(epsilon float64, l *accountant.Ledger, step accountant.Event, delta float64) *accountant.Ledger {
	with := func(n int) *accountant.Ledger {
		longer, err := l.With(step, n)
		if err != nil {
			return l // n is beyond what can be counted
		}
		return longer
	}
	most := 1
	for most < 1<<40 && a.fits(with(most), epsilon, delta) {
		most *= 2
	}
	n := sort.Search(most, func(n int) bool { return !a.fits(with(n), epsilon, delta) })
	return with(max(0, n-1))
}

// Claim is the cost that a run may state for every set of results, and that of its releases by now.
type Claim struct {
	Spent
	Ledger *accountant.Ledger // whose cost Spent is
	// Released is the cost of the releases by now, or nil where its ε is not below the claimed one.
	// It holds only if the decision to stop looked at no result.
	Released *Answer
}

// ClaimBy returns the [Claim] of a run with ledger l and plan p by the named accountant. p is nil
// if the plan is not known.
func ClaimBy(name string, l *accountant.Ledger, p *checkpoints.Planned, delta float64) (Claim, error) {
	a, err := New(name, l.Relation())
	if err != nil {
		return Claim{}, err
	}
	c, _, err := a.Claim(l, p, delta)
	if err == nil && math.IsInf(c.Epsilon, 1) {
		err = ErrInfinite
	}
	return c, err
}

// ClaimedBy returns the [Accountants.Claimed] of a run with ledger l and plan p by the named accountant.
func ClaimedBy(name string, l *accountant.Ledger, p *checkpoints.Planned, delta float64) (*accountant.Ledger, error) {
	a, err := New(name, l.Relation())
	if err != nil {
		return nil, err
	}
	return a.Claimed(l, p, delta)
}

// Claim returns the cost of [Accountants.Claimed]. Refusal is as in [Accountants.Spent].
func (a Accountants) Claim(l *accountant.Ledger, p *checkpoints.Planned, delta float64) (c Claim, refusal, err error) {
	claimed, err := a.Claimed(l, p, delta)
	if err != nil {
		return c, nil, err
	}
	spent, refusal, err := a.Spent(claimed, delta)
	now := spent
	if err == nil && claimed != l {
		now, _, err = a.Spent(l, delta)
	}
	return NewClaim(spent, now, claimed), refusal, err
}

// NewClaim returns a claim about l, with Released set if the releases by now cost less.
func NewClaim(claim, now Spent, l *accountant.Ledger) Claim {
	c := Claim{Spent: claim, Ledger: l}
	if now.Epsilon < claim.Epsilon {
		released := now.Answer()
		c.Released = &released
	}
	return c
}
