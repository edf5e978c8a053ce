package rdp

import (
	"math"
	"sort"
	"sync"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/numeric"
)

// selectionDivergence returns the divergence of e, nil if one run of it costs nothing.
func selectionDivergence(e accountant.RepeatAndSelect, r accountant.Relation, orders []float64) (divergence, error) {
	run, err := divergenceOf(e.Event, r, orders)
	if err != nil || run == nil {
		return nil, err
	}
	if e.Mean == 1 && !math.IsInf(e.Shape, 1) {
		return run, nil // exactly one run
	}
	return selected(run, orders, e.Mean, e.Shape), nil
}

// selected returns a bound of the divergence of choosing the best of a random number of runs
// (Papernot, Steinke 2022, arXiv:2110.03620v2). The part that is added to the divergence of one run
// depends on the best of all orders, so the whole curve of a run is computed, once, at the first
// call. The bound at alpha is the least of those at alpha and at the orders above: the divergence
// does not fall with the order, but the bounds of the theorem do where alpha is close to 1.
func selected(run divergence, orders []float64, mean, shape float64) divergence {
	prepared := sync.OnceValues(func() (extra func(alpha float64) float64, least []float64) {
		curve := make([]float64, len(orders)) // of one run, rounded up
		for i, alpha := range orders {
			curve[i] = run.above(alpha)
		}
		if math.IsInf(shape, 1) {
			extra = extraOfPoisson(orders, curve, mean)
		} else {
			extra = extraOfNegativeBinomial(orders, curve, mean, shape)
		}
		least = make([]float64, len(orders)) // least[i] is the least cost at orders[i] and later
		best := math.NaN()
		for i := len(orders) - 1; i >= 0; i-- {
			best = lesser(best, curve[i]+extra(orders[i]))
			least[i] = best
		}
		return extra, least
	})
	return func(alpha float64) float64 {
		extra, least := prepared()
		cost := run.above(alpha) + extra(alpha)
		if i := sort.SearchFloat64s(orders, alpha); i < len(orders) {
			return lesser(cost, least[i])
		}
		return cost
	}
}

// lesser returns the smaller of two divergences. One that is NaN or below 0 is not used.
func lesser(a, b float64) float64 {
	switch {
	case !(a >= 0):
		return b
	case !(b >= 0):
		return a
	}
	return min(a, b)
}

// extraOfNegativeBinomial returns what Theorem 2 of the paper at selected adds to the divergence of
// one run, given as curve: with a mean of E runs, shape η, parameter γ,
//
//	(1+η) (1 - 1/λ) D_λ + (1+η) log(1/γ)/λ + log(E)/(α-1),   at the best order λ.
func extraOfNegativeBinomial(orders, curve []float64, mean, shape float64) func(alpha float64) float64 {
	logOne := logOneOverGamma(mean, shape)
	best := math.Inf(1)
	for i, order := range orders {
		best = lesser(best, (1-1/order)*curve[i]+logOne/order)
	}
	return func(alpha float64) float64 { return (1+shape)*best + math.Log(mean)/(alpha-1) }
}

// extraOfPoisson returns what Theorem 6 of that paper adds: E δ + log(E)/(α-1), with a mean of E
// runs and a δ such that one run is (log(1 + 1/(α-1)), δ)-private. The δ is the least of two bounds
// over all orders: that of the conversion, and δ(0), which bounds every δ(ε). δ(0) is the total
// variation, at most √(1 - e^-D) for the Kullback-Leibler divergence D, which is not above the
// divergence of any order (Bretagnolle, Huber 1979).
func extraOfPoisson(orders, curve []float64, mean float64) func(alpha float64) float64 {
	c := newConversion(orders)
	variation := 0.0
	for _, d := range curve {
		if d >= 0 {
			variation = min(variation, math.Log(-math.Expm1(-d))/2)
		}
	}
	return func(alpha float64) float64 {
		epsilon := math.Log1p(1 / (alpha - 1))
		logDelta := variation
		for i, d := range curve {
			if d >= 0 {
				logDelta = min(logDelta, (orders[i]-1)*(d-epsilon)+c.fixed[i])
			}
		}
		return mean*math.Exp(logDelta) + math.Log(mean)/(alpha-1)
	}
}

// logOneOverGamma returns log(1/γ) of the truncated negative binomial distribution of
// that shape and mean above 1, rounded up (Definition 1 there). With y = log(1/γ) the mean
// is η (e^y - 1)/(1 - e^(-ηy)), or (e^y - 1)/y for η = 0, which rises with y.
func logOneOverGamma(mean, shape float64) float64 {
	if shape == 1 {
		return math.Log(mean) // geometric: γ = 1/mean
	}
	within := func(logY float64) bool {
		y := math.Exp(logY)
		if shape == 0 {
			return !(math.Expm1(y)/y > mean)
		}
		return !(math.Expm1(y)/-math.Expm1(-shape*y)*shape > mean)
	}
	_, hi := numeric.Bisect(within, -750, math.Log(709), 0, 0)
	return math.Exp(hi) * (1 + relativeError)
}

// Selection returns epsilon at delta of releasing the best of a random number of runs and nothing
// else of them. Each run is of one of these kinds, drawn anew for each run and independently of the
// data. See [accountant.RepeatAndSelect] for the distribution of the number. The kind of the best
// run may be released with it.
//
// A run is then a mixture of the kinds, and its divergence at every order at most that of the
// costliest kind there: the Rényi divergence is quasi-convex (van Erven, Harremoës 2014, Theorem
// 13; the kind itself, drawn alike for neighbours, adds nothing). Theorems 2 and 6 of Papernot,
// Steinke 2022 (arXiv:2110.03620v2) hold for any bound on the divergences of a run.
func (r *Accountant) Selection(kinds []accountant.Event, mean, shape, delta float64) (accountant.Guarantee, error) {
	if err := accountant.ValidateDelta(delta); err != nil {
		return accountant.Guarantee{}, err
	}
	answer := accountant.Guarantee{Delta: delta, Relation: r.Relation(), Method: "RDP (private selection; Papernot, Steinke 2022), conversion of Canonne, Kamath, Steinke 2020"}
	var runs []divergence
	for _, e := range kinds {
		if err := accountant.Validate(accountant.RepeatAndSelect{Event: e, Mean: mean, Shape: shape}); err != nil {
			return accountant.Guarantee{}, err
		}
		d, err := divergenceOf(e, r.Relation(), r.orders)
		if err != nil {
			return accountant.Guarantee{}, err
		}
		if d != nil {
			runs = append(runs, d)
		}
	}
	if len(runs) == 0 {
		return answer, nil
	}
	s := r.conversion.epsilonSearch(delta)
	cost := selected(costliest(runs), r.orders, mean, shape)
	s.divergence = func(i int) float64 { return cost.above(r.orders[i]) }
	s.run(0, len(r.orders), 0)
	answer.Epsilon = math.Inf(1)
	if s.best >= 0 {
		answer.Epsilon = max(s.value, 0)
	}
	return answer, nil
}

// costliest returns the largest of several divergences at every order: NaN where one is NaN.
func costliest(all []divergence) divergence {
	return func(alpha float64) float64 {
		largest := 0.0
		for _, d := range all {
			x := d(alpha)
			if !(x >= 0) {
				return math.NaN()
			}
			largest = max(largest, x)
		}
		return largest
	}
}
