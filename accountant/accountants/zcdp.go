package accountants

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/numeric"
)

// roundingError is far above the relative error of the few operations of a formula here.
const roundingError = 1e-12

// NewConcentrated returns the accountant of zero-concentrated differential privacy (Bun, Steinke
// 2016, arXiv:1605.02065) under r. It is an error if r is not a relation. The accountant knows of a
// release one number, ρ, such that the Rényi divergence of every order α is at most ρα; the numbers
// of a ledger add up (Lemma 1.7). It analyses, with a sensitivity s of 2 under ReplaceOne and of 1
// else, noise multipliers σ, Laplace scales b, and the ε of an event that is ε-private,
//
//	Gaussian            ρ = s²/(2σ²)                   (Proposition 1.6)
//	DiscreteGaussian    ρ = s²/(2σ²)                   (Canonne, Kamath, Steinke 2020, Theorem 14)
//	Laplace             ρ = ε tanh(ε/2), ε = s/b       (it is ε-differentially private)
//	DiscreteLaplace     ρ = ε tanh(ε/2), ε = s/b
//	BoundedRange        ρ = (sε)²/8                    (Cesar, Rogers 2021, arXiv:2004.07223)
//	ApproxDP with δ = 0 ρ = ε tanh(ε/2)
//	AddOrRemoveDP       likewise, with 2ε under ReplaceOne
//	RandomizedResponse  ρ = ε tanh(ε/2)                under ReplaceOne
//	TreeAggregation     ρ = ⌈log₂(steps+1)⌉/(2σ²)      under ZeroOut
//	ZCDP                its ρ
//
// and NonPrivate and compositions. Sampling has no good ρ: divergences of sampled
// releases jump at some order.
//
// Every ε-differentially private mechanism has ρ = ε tanh(ε/2), which is below the ε²/2 of
// Proposition 1.4 (Steinke 2024, "Tight RDP & zCDP Bounds from Pure DP",
// differentialprivacy.org, 27 May 2024): randomized response is the worst of them, and
//
//	(α-1) D_α = log(cosh((α-½)ε)/cosh(ε/2)) = ∫_½^(α-½) ε tanh(tε) dt ≤ ε tanh(ε/2) ∫_½^(α-½) 2t dt
//
// because tanh(tε)/t falls with t; the last integral is α(α-1).
//
// The ε at δ is the least that the conversion of Canonne, Kamath, Steinke 2020 gives over all real
// orders, a little below the ε of the Rényi accountant where both know the ledger.
func NewConcentrated(r accountant.Relation) (accountant.Accountant, error) {
	by := func(conversion func(rho, given float64) float64) accountant.Bound {
		return func(l *accountant.Ledger, given float64) (float64, string, error) {
			rho, err := total(l, r, rhoOf)
			return conversion(rho, given), "zCDP (Bun, Steinke 2016), conversion of Canonne, Kamath, Steinke 2020", err
		}
	}
	return accountant.Make("zcdp", r, by(concentratedEpsilon), by(concentratedDelta))
}

// total adds up under r what the releases of a ledger cost one by one, rounded up: 0 if nothing is
// released about anyone, +Inf where noise is missing. It fails where [accountant.Accountant] says.
func total(l *accountant.Ledger, r accountant.Relation, cost func(accountant.Event, accountant.Relation) (float64, error)) (float64, error) {
	released, err := accountant.Simplify(l)
	if err != nil {
		return 0, err
	}
	if released.NonPrivate {
		return math.Inf(1), nil
	}
	sum := 0.0
	for _, entry := range released.Entries {
		one, err := cost(entry.Event, r)
		if err != nil {
			return 0, err
		}
		// Not free, however large the noise.
		sum += float64(entry.Count) * max(one, math.SmallestNonzeroFloat64)
	}
	return sum * (1 + roundingError), nil
}

// rhoOf returns under r the ρ of e, an event that accountant.Simplify leaves.
func rhoOf(e accountant.Event, r accountant.Relation) (float64, error) {
	s := r.Sensitivity()
	switch e := e.(type) {
	case accountant.Gaussian:
		return s / e.NoiseMultiplier * (s / e.NoiseMultiplier) / 2, nil
	case accountant.DiscreteGaussian:
		return s / e.NoiseMultiplier * (s / e.NoiseMultiplier) / 2, nil
	case accountant.DiscreteLaplace:
		return rhoOfPure(s / e.Scale), nil
	case accountant.BoundedRange:
		return min(s*e.Range*(s*e.Range)/8, rhoOfPure(s*e.Range)), nil
	case accountant.AddOrRemoveDP:
		if e.Delta == 0 {
			return rhoOfPure(e.Under(r).Epsilon), nil
		}
	case accountant.Laplace:
		return rhoOfPure(s / e.Scale), nil
	case accountant.ZCDP:
		return e.Rho, nil
	case accountant.ApproxDP:
		if e.Delta == 0 {
			return rhoOfPure(e.Epsilon), nil
		}
	case accountant.RandomizedResponse:
		if r == accountant.ReplaceOne {
			return rhoOfPure(e.Epsilon()), nil
		}
	case accountant.TreeAggregation:
		if r == accountant.ZeroOut {
			return float64(e.Depth()) / e.NoiseMultiplier / e.NoiseMultiplier / 2, nil
		}
	}
	return 0, fmt.Errorf("%w: the zcdp accountant cannot analyse %v under %v", accountant.ErrUnsupported, e, r)
}

// rhoOfPure returns ε tanh(ε/2); see NewConcentrated.
func rhoOfPure(epsilon float64) float64 {
	if math.IsInf(epsilon, 1) {
		return epsilon
	}
	return epsilon * math.Tanh(epsilon/2)
}

// concentratedEpsilon returns the least ε over all real orders of the conversion of Canonne,
// Kamath, Steinke 2020, arXiv:2004.00010v4, Proposition 12, with D_α = ρα:
//
//	ε(α) = ρα + log(1 - 1/α) - log(δα)/(α-1),   ε′(α) = ρ + log(δα)/(α-1)².
//
// Any order gives a valid ε, so the root of ε′ need not be exact.
func concentratedEpsilon(rho, delta float64) float64 {
	if rho == 0 || math.IsInf(rho, 1) {
		return rho
	}
	x := descent(func(x float64) bool { return rho*x*x < -numeric.Log(delta)-math.Log1p(x) })
	logTerm := math.Log(x) - math.Log1p(x) // log(1 - 1/α)
	perOrder := (-numeric.Log(delta) - math.Log1p(x)) / x
	rounding := roundingError * (rho*(1+x) - logTerm + math.Abs(perOrder))
	return max(0, rho*(1+x)+logTerm+perOrder+rounding)
}

// concentratedDelta returns the least δ at epsilon of the same conversion:
//
//	log δ(α) = (α-1) (ρα - ε + log(1 - 1/α)) - log α,
//
// a convex function of α with the slope (2α-1) ρ - ε + log(1 - 1/α).
func concentratedDelta(rho, epsilon float64) float64 {
	if rho == 0 {
		return 0
	}
	if math.IsInf(rho, 1) {
		return 1
	}
	x := descent(func(x float64) bool { return (1+2*x)*rho+math.Log(x)-math.Log1p(x) < epsilon })
	logTerm := math.Log(x) - math.Log1p(x)
	logDelta := x*(rho*(1+x)-epsilon+logTerm) - math.Log1p(x)
	rounding := roundingError * (x*(rho*(1+x)+epsilon-logTerm) + math.Log1p(x))
	if !(logDelta+rounding < 0) {
		return 1
	}
	return max(math.Exp(logDelta+rounding), math.SmallestNonzeroFloat64)
}

// descent returns the x = α-1 in (0, e^700) up to which falls reports true, by halving.
func descent(falls func(x float64) bool) float64 {
	logX, _ := numeric.Bisect(func(logX float64) bool { return falls(math.Exp(logX)) }, -700, 700, 1e-9, 0)
	return math.Exp(logX)
}
