// Package rdp accounts for privacy by Rényi divergences (Mironov 2017, arXiv:1702.07476).
//
// [Accountant], made by [New] or by the name "rdp", answers for a ledger that was fixed in advance,
// in microseconds, some 5 to 10 % above the exact ε for DP-SGD. It minimises over a list of orders,
// of which [DefaultOrders] serves every use. Where each release may depend on what earlier ones
// showed, [Chosen] says what has been spent.
//
// Divergences are sums and integrals of positive terms and are rounded up by more than what they
// can have lost; the formula of each event stands in a file of its own, with its theorem.
package rdp

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dpsgd/accountant"
)

const (
	nameRDP = "rdp"

	// minOrder is the least order that is used. Next to 1 the conversion divides a cancelled
	// difference by α-1: TensorFlow Privacy answered ε = 0 for the order 1+1e-8 (its issue 166).
	minOrder = 1.01

	// maxOrder keeps the tables and sums of one order at a size that can be computed.
	maxOrder = 1 << 20
)

// Accountant is the Rényi accountant. It analyses the events, and compositions of them, that
// newDivergence has a case for. The divergence is an upper bound for FixedSizeSampled,
// TruncatedPoissonSampled, DiscreteGaussian and RepeatAndSelect; for AddOrRemoveDP under
// ReplaceOne; for DiscreteLaplace if the sums of neighbours differ by more than 1024, or if its ε
// is below 1e-12 or above 600; and for samples with so little noise that epsilon is in the
// thousands. Else it is exact.
//
// The divergence of an event at an order is computed when first needed and kept. A ledger costs at
// an order the sum of count × divergence (Mironov 2017, arXiv:1702.07476, Proposition 1), and
// epsilon is the least value of the conversion over the orders. The events must be fixed in
// advance; for events that are chosen by what earlier ones released there is [Chosen].
type Accountant struct {
	accountant.Accountant
	orders     []float64 // ascending, distinct, at least minOrder
	conversion conversion
	curves     *curveCache
}

var _ accountant.Accountant = (*Accountant)(nil)

// New returns the Rényi accountant under r that minimises over these orders, given in any sequence.
// An order is a number above 1 and at most 2^20; orders below 1.01 are left out. It is an error if
// an order is out of range or none is left, and for an unknown relation.
func New(r accountant.Relation, orders []float64) (*Accountant, error) {
	var used []float64
	for _, alpha := range orders {
		if err := validateOrder(alpha); err != nil {
			return nil, err
		}
		if alpha >= minOrder {
			used = append(used, alpha)
		}
	}
	if len(used) == 0 {
		return nil, fmt.Errorf("%w: no Rényi order of at least %v among the %d given", accountant.ErrInvalid, minOrder, len(orders))
	}
	slices.Sort(used)
	used = slices.Compact(used)
	a := &Accountant{orders: used, conversion: newConversion(used), curves: &curveCache{relation: r, orders: used, curves: map[accountant.Event]*curve{}}}
	var err error
	a.Accountant, err = accountant.Make(nameRDP, r, a.epsilon, a.delta)
	return a, err
}

func validateOrder(alpha float64) error {
	if !(alpha > 1 && alpha <= maxOrder) {
		return fmt.Errorf("%w: Rényi order is %v, must be above 1 and at most %d", accountant.ErrInvalid, alpha, maxOrder)
	}
	return nil
}

// DefaultOrders returns the orders that accountants.New("rdp") uses: α-1 grows by 1 % from 0.02 to
// 100, and from there α over the integers, by about 1 %, to 8192. Between sampling and noise the
// divergence of DP-SGD can jump by orders of magnitude within a tenth of α (where the batches stop
// hiding the record), and the best order sits at the foot of the jump: coarse lists lose up to 8 %
// there, this one 1 % at most and 0.04 % on average over random configurations. Its ends serve
// epsilons from about 0.003 (at δ = 1e-5) to above 10,000.
func DefaultOrders() []float64 {
	const ratio = 1.01
	var orders []float64
	for x := 0.02; x < 100; x *= ratio {
		orders = append(orders, 1+x)
	}
	for n := 101.0; n < 8192; n = math.Ceil(n * ratio) {
		orders = append(orders, n)
	}
	return append(orders, 8192)
}

// epsilon returns epsilon at delta of the whole ledger. The conversion can come out below 0 for a
// delta near 1, and is then 0: the releases are (0, delta)-private.
func (r *Accountant) epsilon(l *accountant.Ledger, delta float64) (epsilon float64, method string, err error) {
	s, method, err := r.search(l, r.conversion.epsilonSearch(delta))
	switch {
	case err != nil || s.free:
		return 0, method, err
	case s.best < 0:
		return math.Inf(1), method, nil
	}
	return max(s.value, 0), method, nil
}

// delta returns delta at epsilon of the whole ledger, by the conversion that epsilon uses: at the
// delta that it returns, r.epsilon is at most the given one. It is 1 where no order gives a smaller
// one, and 0 where the ledger costs nothing.
func (r *Accountant) delta(l *accountant.Ledger, epsilon float64) (delta float64, method string, err error) {
	s, method, err := r.search(l, r.conversion.deltaSearch(epsilon))
	switch {
	case err != nil || s.free:
		return 0, method, err
	case s.best < 0:
		return 1, method, nil
	}
	return s.delta(epsilon), method, nil
}

// delta returns δ at epsilon and the best order that s found, above 0. It is rounded up by more
// than rounding can have taken from log δ.
func (s *orderSearch) delta(epsilon float64) float64 {
	const rounding = 4e-15 // of the parts that make up log δ
	slope := s.slopes[s.best]
	parts := 2*slope*epsilon + math.Abs(s.value) + math.Abs(s.terms[s.best])
	delta := math.Exp(s.value+rounding*parts) * (1 + rounding)
	return min(1, max(delta, math.SmallestNonzeroFloat64))
}

// Divergence returns the Rényi divergence of order alpha of one release, in nats,
// rounded up: the larger one over all neighbours under the relation of r, in both directions.
// It is 0 if e costs nothing and +Inf without noise. alpha may be any real number
// from 1.01 to 2^20. Only the cost of RepeatAndSelect depends on the orders of r. The
// error matches ErrInvalid, or ErrUnsupported if e cannot be analysed.
func (r *Accountant) Divergence(e accountant.Event, alpha float64) (float64, error) {
	if err := validateOrder(alpha); err != nil {
		return 0, err
	}
	if alpha < minOrder {
		return 0, fmt.Errorf("%w: Rényi order is %v, want at least %v", accountant.ErrInvalid, alpha, minOrder)
	}
	d, err := divergenceOf(e, r.Relation(), r.orders)
	if err != nil || d == nil {
		return 0, err
	}
	x := d.above(alpha)
	if !(x >= 0) {
		return 0, fmt.Errorf("%w: the Rényi divergence of order %v of %v", accountant.ErrUncertified, alpha, e)
	}
	return x, nil
}

// search runs s over the orders of r for ledger l and returns s, with the text of Method.
func (r *Accountant) search(l *accountant.Ledger, s *orderSearch) (done *orderSearch, method string, err error) {
	total, err := r.total(l)
	if err != nil {
		return nil, "", err
	}
	s.free = !total.infinite && len(total.curves) == 0
	if s.free || total.infinite {
		return s, total.method, nil
	}
	s.divergence = total.curves.at
	s.run(0, len(r.orders), 0)
	if !s.used && !s.infinite {
		return nil, "", fmt.Errorf("%w: no usable Rényi order: all %d divergences are NaN or negative", accountant.ErrUncertified, len(r.orders))
	}
	return s, total.method, nil
}

// rdpTotal is the cost of a ledger at each order.
type rdpTotal struct {
	curves   sumOfCurves // of the events that cost something
	infinite bool        // a release has no guarantee at all
	method   string
}

// total returns the curves of the events that cost something with their counts, and the method.
func (r *Accountant) total(l *accountant.Ledger) (rdpTotal, error) {
	released, err := accountant.Simplify(l)
	if err != nil {
		return rdpTotal{}, err
	}
	return r.totalOf(released)
}

// totalOf returns what total does, of a ledger that [accountant.Simplify] has left. To simplify it
// again would be wrong: it counts epochs of balls in bins, which would be taken for their steps.
func (r *Accountant) totalOf(released accountant.Releases) (rdpTotal, error) {
	total := rdpTotal{infinite: released.NonPrivate}
	var theorems []string
	for _, entry := range released.Entries {
		c, theorem, err := r.curves.get(entry.Event)
		if err != nil {
			return rdpTotal{}, err
		}
		if c != nil {
			total.curves = append(total.curves, weightedCurve{c, float64(entry.Count)})
		}
		if !slices.Contains(theorems, theorem) {
			theorems = append(theorems, theorem)
		}
	}
	if len(theorems) == 0 {
		theorems = append(theorems, theoremGaussian)
	}
	total.method = "RDP (" + strings.Join(theorems, "; ") + "), conversion of Canonne, Kamath, Steinke 2020"
	return total, nil
}
