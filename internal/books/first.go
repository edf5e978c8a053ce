package books

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/internal/account"
	"dpsgd/internal/statement"
)

// A plan that is fixed before anything was released need not pay for free choice. Where such a
// first plan A costs, by the exact accountant, ε at most and the filter would refuse it, the limit
// (ε, δ) is split there and then: δ₁ is the δ of A at ε, and δ₂ = δ - δ₁ is left for everything
// else. From then on releases are admitted
//
//	(a) while all of them, with those reserved, are among the events of A, each at most as often (of
//	    turns those count that one record sees, at most); or else
//	(b) while ε of all of them, those of A included, is at most the limit by rdp.Chosen at δ₂.
//
// Everything that is ever released is (ε, δ)-private together, whoever chooses, and stops, by what
// he saw. For two neighbouring data sets let L be the privacy loss of it, and (1 - e^(ε-L))₊ = E_a
// + E_b, by whether (a) holds in the end or only (b). E[E_b] ≤ δ₂ is the theorem at [rdp.Chosen]
// for the ε that is the limit. As to E_a, let L' be the loss of the releases before the first one
// that is not among the events of A. Where (a) holds in the end L' is L, so E_a ≤ (1 - e^(ε-L'))₊.
// For R, a part of A, and a number x let
//
//	G_R(x) = E[(1 - e^(ε - x - ΣR))₊],
//
// ΣR being the sum of independent losses of the dominating pairs of R. Whichever e of R is released
// next, chosen by all that was seen, the expectation of G_(R without e)(x + its loss) is G_R(x) at
// most: the pair dominates its mechanism given all before it (Zhu, Dong, Wang 2022,
// arXiv:2106.08567, Theorem 10), and of R it does not matter which is first. And G_R(x) ≥ (1 -
// e^(ε-x))₊, as what is left out is post-processing. So E[(1 - e^(ε-L'))₊] ≤ G_A(0) = δ₁, and both
// together are at most δ.
//
// The split is fixed with A before the first release: one that is chosen afterwards spends δ twice.

// firstOf returns the first plan that was fixed on the data of s; nil if there is none.
func (k Known) firstOf(s checkpoints.Subject) *checkpoints.First {
	for _, f := range k.First {
		if f.Same(s) {
			return &f
		}
	}
	return nil
}

// used returns how much of limit l the releases in all use, as an ε at l.Delta: at most l.Epsilon
// if they stay within the first plan, nil if there is none, and NoGuarantee if no bound is known.
func used(l checkpoints.Limit, first *checkpoints.First, all *accountant.Ledger) (float64, error) {
	if all.Count() == 0 {
		return 0, nil
	}
	epsilon, delta := math.Inf(1), l.Delta
	if first != nil {
		if delta = first.Rest; among(first.Planned, all) {
			epsilon = l.Epsilon
		}
	}
	if delta > 0 {
		chosen, err := chosen(all, delta)
		if err != nil && !errors.Is(err, accountant.ErrUnsupported) && !errors.Is(err, accountant.ErrUncertified) {
			return 0, err
		}
		if err == nil {
			epsilon = min(epsilon, chosen)
		}
	}
	return min(epsilon, statement.NoGuarantee), nil
}

// among reports whether the releases in all are events of planned, each at most as often, as a record
// sees them that sees most of all turns: what it sees of a run that stopped is a part of what it
// would have seen.
func among(planned, all *accountant.Ledger) bool {
	whole, err := accountant.Simplify(planned)
	part, other := accountant.Simplify(all)
	if err != nil || other != nil || part.NonPrivate || account.Choices(all) > 0 {
		return false
	}
	left := map[accountant.Event]int{}
	for _, e := range whole.Entries {
		left[e.Event] = e.Count
	}
	return !slices.ContainsFunc(part.Entries, func(e accountant.Entry) bool { return e.Count > left[e.Event] })
}

// split makes planned a first plan under limit l, with the δ that is left for other releases. first
// is nil if planned does not fit by itself. epsilon is what planned costs at l.Delta.
func split(l checkpoints.Limit, planned *accountant.Ledger) (first *checkpoints.First, epsilon float64, err error) {
	a, err := account.New(account.Exact, planned.Relation())
	if err != nil {
		return nil, 0, err
	}
	cost, _, err := a.Spent(planned, l.Delta)
	switch {
	case errors.Is(err, accountant.ErrUnsupported) || errors.Is(err, accountant.ErrUncertified):
		return nil, statement.NoGuarantee, nil
	case err != nil:
		return nil, 0, err
	case !(cost.Epsilon <= l.Epsilon) || account.Choices(planned) > 0:
		return nil, min(cost.Epsilon, statement.NoGuarantee), nil
	}
	first = &checkpoints.First{Subject: l.Subject, Planned: planned}
	for _, by := range []accountant.Accountant{a.Accountant, a.RDP} {
		if g, err := by.Delta(planned, l.Epsilon); err == nil {
			first.Rest = max(first.Rest, math.Nextafter(l.Delta-g.Delta, 0))
		}
	}
	return first, cost.Epsilon, nil
}

// admit refuses what would pass limit l: what own asks for, or reservations of others that are in
// after and not in before. It returns the first plans that the ledger of the data has to record
// with what is admitted, if any; an empty plan takes the one before back.
func admit(before, after Known, l checkpoints.Limit, own request) ([]checkpoints.First, error) {
	first := before.firstOf(l.Subject)
	was, old, err := before.stateUnder(l, first, request{Run: own.Run})
	if err != nil {
		return nil, err
	}
	if old.Count() > 0 { // what was fixed stays so
		is, _, err := after.stateUnder(l, first, own)
		if err != nil {
			return nil, err
		}
		if refusal := is.refuses(was); refusal != nil {
			return nil, fmt.Errorf("%w%s", refusal, after.room(l, first, own))
		}
		return nil, nil
	}
	is, all, err := after.stateUnder(l, nil, own)
	if err != nil {
		return nil, err
	}
	if is.refuses(was) == nil {
		if first != nil {
			return []checkpoints.First{{Subject: l.Subject, Planned: new(accountant.Ledger)}}, nil
		}
		return nil, nil
	}
	if first, is.Reserved, err = split(l, all); err != nil {
		return nil, err
	}
	if first != nil {
		return []checkpoints.First{*first}, nil
	}
	return nil, is.refuses(was)
}

// room returns the end of a message, on how many of own's releases would fit; "" if that is
// unknown.
func (k Known) room(l checkpoints.Limit, first *checkpoints.First, own request) string {
	if own.Planned == nil || own.Planned.Count() == 0 {
		return ""
	}
	entries := own.Planned.Entries()
	last := entries[len(entries)-1]
	part := func(n int) *accountant.Ledger {
		some := new(accountant.Ledger)
		for _, e := range entries[:len(entries)-1] {
			_ = some.Add(e.Event, e.Count)
		}
		_ = some.Add(last.Event, n) // as above: what a longer ledger holds can be added
		return some
	}
	n := sort.Search(last.Count, func(n int) bool {
		s, _, err := k.stateUnder(l, first, request{own.Run, own.Path, part(n + 1)})
		return err != nil || s.Reserved > l.Epsilon
	})
	if n == 0 {
		return fmt.Sprintf("; not one of its %d releases fits", own.Planned.Count())
	}
	cost, err := account.SpentBy(account.Exact, part(n), l.Delta)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("; the first %d of its %d releases would fit, with ε = %s by themselves (a plan that may be chosen by earlier results pays more than its own ε)",
		part(n).Count(), own.Planned.Count(), accountant.RoundUp(cost.Epsilon, 3))
}
