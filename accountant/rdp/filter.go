package rdp

import (
	"fmt"
	"math"
	"slices"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/numeric"
)

// Filter decides, release by release, what a budget still allows, where each release may
// be chosen by what the earlier ones showed: its event, its noise, whether there is one at
// all. Everything that Spend has accepted is (ε, δ)-private together, whoever chooses, and
// however. (The other accountants answer for releases that are fixed in advance.)
//
// With one order α this is the Rényi filter of Feldman, Zrnic 2021 (arXiv:2008.11193,
// Theorem 4.3): as long as the sum of the divergences at α of what was released
// never exceeds a number B that was fixed in advance, the whole is (α, B)-Rényi-private,
// although the summands depend on the outputs; and B is the one that the conversion of
// Canonne, Kamath, Steinke 2020 (Proposition 12) takes to (ε, δ).
//
// With several orders, none of them is singled out in advance, so the theorem does not
// hold for whichever has budget left in the end. Here each of m orders gets δ/m, and so a
// smaller budget, and the filter is open while one of them has budget left. That is valid by
// a union bound. Let E be the set of outputs after which order α is within its budget, L the
// privacy loss, and L_α the loss up to where α would leave its budget: on E
// they are the same. The sets of all orders cover every output, so
//
//	E[(1 - e^(ε-L))₊] ≤ Σ_α E[1_E (1 - e^(ε-L_α))₊] ≤ Σ_α E[(1 - e^(ε-L_α))₊] ≤ Σ_α δ/m = δ,
//
// the last inequality by the theorem for α alone. A few orders, spread widely, lose
// little: FilterOrders.
//
// A refused release costs nothing, and a cheaper one may still be accepted. A filter is not
// for several goroutines at once.
type Filter struct {
	target  accountant.Guarantee
	rdp     *Accountant
	budgets []float64 // of each order, rounded down
	spent   []float64 // of each order, rounded up
	ledger  accountant.Ledger
}

// FilterOrders returns a short list of orders for NewFilter and NewOdometer. For a plan that is
// known roughly the order that BestOrder reports for it, alone, is better.
func FilterOrders() []float64 { return []float64{1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128} }

// NewFilter returns a filter with a whole budget. Orders are those of New. Target has
// a finite epsilon above 0 and a delta in (0, 1). An order that has no budget, because
// its conversion alone is above epsilon, is not used and takes no part of delta; if
// none has, the error matches ErrUnreachable.
func NewFilter(target accountant.Guarantee, orders []float64) (*Filter, error) {
	if err := accountant.ValidateTarget(target); err != nil {
		return nil, err
	}
	all, err := New(target.Relation, orders)
	if err != nil {
		return nil, err
	}
	// Leaving out orders makes the shares of the others larger, and no order that had a
	// budget can lose it.
	used := all.orders
	for {
		budgets := filterBudgets(used, target)
		kept := used[:0:0]
		for i, b := range budgets {
			if b > 0 {
				kept = append(kept, used[i])
			}
		}
		if len(kept) == len(used) {
			rdp, err := New(target.Relation, used)
			if err != nil {
				return nil, fmt.Errorf("%w: epsilon %v at delta %v: no order of the filter has a budget", accountant.ErrUnreachable, target.Epsilon, target.Delta)
			}
			return &Filter{target: target, rdp: rdp, budgets: budgets, spent: make([]float64, len(used))}, nil
		}
		used = kept
	}
}

// filterBudgets returns the divergence at each order that is (ε, δ/m)-private.
func filterBudgets(orders []float64, target accountant.Guarantee) []float64 {
	share := target.Delta / float64(len(orders)) * (1 - relativeError)
	budgets := newConversion(orders).terms(share)
	for i, term := range budgets {
		budgets[i] = target.Epsilon - term - relativeError*(target.Epsilon+math.Abs(term))
	}
	return budgets
}

// Target returns the budget that f was made for.
func (f *Filter) Target() accountant.Guarantee { return f.target }

// Ledger returns a copy of everything that was spent.
func (f *Filter) Ledger() *accountant.Ledger { return f.ledger.Clone() }

// Allow reports whether count releases of e are within the budget. It spends nothing.
// Errors are those of Ledger.Add and of the "rdp" accountant.
func (f *Filter) Allow(e accountant.Event, count int) (bool, error) {
	_, _, ok, err := f.with(e, count)
	return ok, err
}

// Spend takes count releases of e off the budget, or reports false, and takes nothing, if
// they are not within it. It must come before the release, and what it refuses must not be
// released. Errors are those of Allow, and leave the filter as it was.
func (f *Filter) Spend(e accountant.Event, count int) (bool, error) {
	ledger, spent, ok, err := f.with(e, count)
	if err != nil || !ok {
		return false, err
	}
	f.ledger, f.spent = *ledger, spent
	return true, nil
}

// with returns what would be spent with count more releases of e.
func (f *Filter) with(e accountant.Event, count int) (ledger *accountant.Ledger, spent []float64, ok bool, err error) {
	ledger, err = f.ledger.With(e, count)
	if err != nil {
		return nil, nil, false, err
	}
	spent, err = addDivergences(f.rdp, f.spent, e, count)
	if err != nil {
		return nil, nil, false, err
	}
	for i, d := range spent {
		if d <= f.budgets[i] { // false for NaN
			return ledger, spent, true, nil
		}
	}
	return nil, nil, false, nil
}

// addDivergences returns the sums at each order of r with count more releases of e,
// rounded up; NaN where a divergence cannot be computed, for good.
func addDivergences(r *Accountant, sums []float64, e accountant.Event, count int) ([]float64, error) {
	var l accountant.Ledger
	if err := l.Add(e, count); err != nil {
		return nil, err
	}
	total, err := r.total(&l)
	if err != nil {
		return nil, err
	}
	sums = slices.Clone(sums)
	for i := range sums {
		switch {
		case total.infinite:
			sums[i] = math.Inf(1)
		case len(total.curves) > 0:
			sums[i] = math.Nextafter(sums[i]+total.curves.at(i), math.Inf(1))
		}
	}
	return sums, nil
}

// Odometer says at any time how much has been spent by releases that may be chosen by what the
// earlier ones showed: with probability 1 - δ over the outputs, the privacy loss is at most
// Epsilon, at all times at once, and so also at a time that the outputs choose.
//
// For an order α, exp((α-1)(L_t - Σ_s≤t D_α(s))) is a supermartingale, L_t being the privacy loss
// of the first t releases and D_α(s) the divergence of the s-th given the outputs before it. By
// Ville's inequality
//
//	P[L_t ≥ Σ_s≤t D_α(s) + log(1/δ)/(α-1) at some t] ≤ δ.
//
// Several orders share δ equally (a union bound), and the least answer counts. Whitehouse,
// Ramdas, Rogers, Wu 2023 (arXiv:2203.05481) build their odometers in the same way; the
// definition is that of Rogers, Roth, Ullman, Vadhan 2016 (arXiv:1605.08294).
//
// Epsilon depends on the outputs, so it is no (ε, δ)-guarantee of the run: for one, choose
// ε in advance and use a Filter. An odometer is not for several goroutines at once.
type Odometer struct {
	rdp   *Accountant
	start []float64 // log(m/δ)/(α-1) of each order, rounded up
	spent []float64
}

// NewOdometer returns an odometer under r at delta, in (0, 1). Orders are those of New.
func NewOdometer(r accountant.Relation, delta float64, orders []float64) (*Odometer, error) {
	if err := accountant.ValidateDelta(delta); err != nil {
		return nil, err
	}
	rdp, err := New(r, orders)
	if err != nil {
		return nil, err
	}
	o := &Odometer{rdp: rdp, spent: make([]float64, len(rdp.orders))}
	logOne := math.Log(float64(len(rdp.orders))) - numeric.Log(delta)
	for _, alpha := range rdp.orders {
		o.start = append(o.start, logOne/(alpha-1)*(1+relativeError))
	}
	return o, nil
}

// Spend records count releases of e. Errors are those of Ledger.Add and of the "rdp"
// accountant, and leave the odometer as it was: then e must not be released.
func (o *Odometer) Spend(e accountant.Event, count int) error {
	spent, err := addDivergences(o.rdp, o.spent, e, count)
	if err != nil {
		return err
	}
	o.spent = spent
	return nil
}

// Epsilon returns the bound of the privacy loss of everything recorded: 0 before anything
// was, and +Inf if no order has a bound.
func (o *Odometer) Epsilon() float64 {
	least := math.Inf(1)
	for i, d := range o.spent {
		if d == 0 {
			return 0
		}
		if x := d + o.start[i]; x < least {
			least = math.Nextafter(x, math.Inf(1))
		}
	}
	return least
}
