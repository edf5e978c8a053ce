package rdp

import (
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/numeric"
)

// Chosen bounds what releases cost that may each be chosen by what the earlier ones showed: its
// event, its noise, whether there is one at all, and when somebody stops and quotes ε. No budget
// and no list of events has to be fixed in advance. (The other accountants answer for releases that
// are.)
//
// Let L be the privacy loss of what was released by the time T at which somebody quotes, R_α the
// sum of the divergences at α of these events, w_α weights that are fixed and add up to 1, and
//
//	M = Σ_α w_α·exp((α-1)(L - R_α)).
//
// Before the first release M is 1, and no release, chosen as it may be, makes the expectation of M
// larger: each part is a supermartingale (Feldman, Zrnic 2021, arXiv:2008.11193, Theorem 4.3, and
// Whitehouse, Ramdas, Rogers, Wu 2023, arXiv:2203.05481). So E[M] ≤ 1
// at T, too (optional stopping). [Chosen.Guarantee] quotes the least ε with
//
//	(1 - e^(ε-y))₊ ≤ δ·Σ_α w_α·exp((α-1)(y - R_α))  for every number y,
//
// of which y = L is one. So E[(1 - e^(ε-L))₊] ≤ δ·E[M] ≤ δ, although ε depends on the results: for
// every set S of results after which at most ε₀ is quoted, P(S) ≤ e^ε₀·Q(S) + δ. With one order
// that ε is the one of Canonne, Kamath, Steinke 2020 (arXiv:2004.00010v4, Proposition 12): to stop
// where one likes costs nothing, and not to know the best order costs log(1/w_α)/(α-1).
//
// Whoever refuses each release after which this ε would pass a limit has a filter: where it ends, ε
// is at most the limit, so that the whole is (limit, δ)-private in the plain sense. Releases that
// were planned and never made count for nothing.
//
// An event of which (ε', δ') alone is known is randomised response of ε' but with probability δ'
// (Kairouz, Oh, Viswanath 2015, arXiv:1311.0776, Theorem 3.2). It counts as that, and a tenth of δ
// is set aside for what these δ' add up to.
type Chosen struct {
	rdp     *Accountant
	weights []float64 // of the orders
}

// setAside is the part of δ for events that have a δ of their own.
const setAside = 0.1

// NewChosen returns the accountant of chosen releases under r. Its orders and weights are the same
// for everybody, so that what is quoted about some releases agrees with what limits them: α-1 from
// 1/8 to 8192, with most of the weight between 1 and 64, where ε from 0.3 to 10 at usual δ has its
// best orders.
func NewChosen(r accountant.Relation) (*Chosen, error) {
	var orders []float64
	for x := -3.0; x <= 10; x += 1. / 3 {
		orders = append(orders, 1+math.Exp2(x))
	}
	orders = append(orders, 8192)
	rdp, err := New(r, orders)
	if err != nil {
		return nil, err
	}
	c := &Chosen{rdp: rdp, weights: make([]float64, len(rdp.orders))}
	sum := 0.0
	for i, alpha := range rdp.orders {
		if c.weights[i] = 1; alpha < 2 || alpha > 65 {
			c.weights[i] = 0.25
		}
		sum += c.weights[i]
	}
	for i := range c.weights {
		c.weights[i] /= sum * (1 + relativeError)
	}
	return c, nil
}

// Guarantee returns ε at delta of a ledger. It is +Inf also where the deltas of its events add up
// to more than a tenth of delta. See [accountant.Accountant] for the errors.
func (c *Chosen) Guarantee(l *accountant.Ledger, delta float64) (accountant.Guarantee, error) {
	answer := accountant.Guarantee{Delta: delta, Relation: c.rdp.Relation(), Method: "a mixture of Rényi divergences, for releases that may be chosen by what earlier ones showed (Feldman, Zrnic 2021; Whitehouse et al. 2023; Canonne et al. 2020)"}
	if err := accountant.ValidateDelta(delta); err != nil {
		return answer, err
	}
	released, err := accountant.Simplify(l)
	if err != nil {
		return answer, err
	}
	epsilons, deltas := withoutDeltas(&released, c.rdp.Relation())
	total, err := c.rdp.totalOf(released)
	switch {
	case err != nil:
		return answer, err
	case total.infinite || deltas > setAside*delta:
		answer.Epsilon = math.Inf(1)
	case len(total.curves) > 0:
		sums := make([]float64, len(c.weights))
		for i := range sums {
			sums[i] = total.curves.at(i) * (1 + relativeError)
		}
		answer.Epsilon = min(c.mixed(sums, delta*(1-setAside)), epsilons)
	}
	return answer, nil
}

// withoutDeltas makes the (ε, δ)-private events of a ledger (ε, 0)-private ones, and returns the sum
// of the δ taken away. If there are no other events, epsilons is the sum of their ε, which bounds the
// loss whatever was chosen; else it is +Inf. Without a guarantee both are +Inf.
func withoutDeltas(released *accountant.Releases, r accountant.Relation) (epsilons, deltas float64) {
	if released.NonPrivate {
		return math.Inf(1), math.Inf(1)
	}
	for i, entry := range released.Entries {
		approximate, is := entry.Event.(accountant.ApproxDP)
		if e, one := entry.Event.(accountant.AddOrRemoveDP); one {
			approximate, is = e.Under(r), true
		}
		if !is {
			epsilons = math.Inf(1)
			continue
		}
		up := func(sum, x float64) float64 {
			return math.Nextafter(sum+float64(entry.Count)*x*(1+relativeError), math.Inf(1))
		}
		if entry.Count == 1 && epsilons == 0 {
			epsilons = approximate.Epsilon // exactly
		} else if approximate.Epsilon > 0 {
			epsilons = up(epsilons, approximate.Epsilon)
		}
		if approximate.Delta > 0 {
			deltas = up(deltas, approximate.Delta)
		}
		released.Entries[i].Event = accountant.ApproxDP{Epsilon: approximate.Epsilon}
	}
	return epsilons, deltas
}

// mixed returns the least ε that fulfils the inequality of [Chosen] for the R_α in sums, rounded
// up: the largest y + log(1 - F(y)), F being the right side. F is convex and increasing, so this is
// concave, and its tangent at one end of an interval that holds the maximum bounds it there.
func (c *Chosen) mixed(sums []float64, delta float64) float64 {
	high := math.Inf(1) // where F is at least 1
	for i, alpha := range c.rdp.orders {
		high = math.Min(high, sums[i]-numeric.Log(delta*c.weights[i])/(alpha-1))
	}
	if math.IsInf(high, 1) || math.IsNaN(high) {
		return math.Inf(1)
	}
	at := func(y float64) (f, slope float64) {
		for i, alpha := range c.rdp.orders {
			if x := delta * c.weights[i] * math.Exp((alpha-1)*(y-sums[i])); x > 0 {
				f, slope = f+x, slope+(alpha-1)*x
			}
		}
		return f, slope
	}
	rises := func(y float64) bool { f, slope := at(y); return f+slope < 1 }
	low, step := high, 1e-3*(1+math.Abs(high))
	for !rises(low) {
		low, step = low-step, 2*step
	}
	for range 60 {
		if middle := low + (high-low)/2; rises(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	f, slope := at(low)
	best := low + math.Log1p(-f) + (1-slope/(1-f))*(high-low)
	return max(0, best+1e-9*(1+math.Abs(best)+math.Abs(low)))
}
