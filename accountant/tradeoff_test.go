package accountant_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/accountant/internal/numeric"
	"dpsgd/internal/tiny"

	"gonum.org/v1/gonum/stat/distuv"
)

func ExampleTradeoffOf() {
	a, err := accountants.New("exact", accountant.AddOrRemoveOne)
	if err != nil {
		panic(err)
	}
	var l accountant.Ledger
	step := accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 1}}
	if err := l.Add(step, 1000); err != nil {
		panic(err)
	}
	curve, err := accountant.TradeoffOf(a, &l)
	if err != nil {
		panic(err)
	}
	fmt.Printf("notices at most %.1f %% of those who were there, at 1 %% false alarms\n", 100*(1-curve.TypeII(0.01)))
	beliefs, except := accountant.Beliefs(1, 1e-5)
	fmt.Printf("thought %g %%, thinks at most %.1f %%, but for a chance of %.0e\n", 100*beliefs[1].Prior, 100*beliefs[1].High, except)
	// Output:
	// notices at most 2.9 % of those who were there, at 1 % false alarms
	// thought 1 %, thinks at most 3.0 %, but for a chance of 1e-04
}

// alphas are errors of type I from one in a million to 1.
func alphas() []float64 {
	all := []float64{0, 1}
	for x := 1e-6; x < 1; x *= 1.5 {
		all = append(all, x)
	}
	return all
}

func curveOf(t *testing.T, name string, entries ...accountant.Entry) accountant.Tradeoff {
	t.Helper()
	return tiny.Must(accountant.TradeoffOf(newNamed(t, name), accounttest.Ledger(t, entries...)))(t)
}

// gaussian is the trade-off function of N(0, 1) and N(μ, 1): Dong, Roth, Su 2019, section 2.
func gaussian(mu float64) func(float64) float64 {
	n := distuv.UnitNormal
	return func(alpha float64) float64 {
		switch alpha {
		case 0:
			return 1
		case 1:
			return 0
		}
		return n.CDF(n.Quantile(1-alpha) - mu)
	}
}

// laplace is the trade-off function of noise of scale 1/θ on numbers that differ by 1, by integrals
// of the densities.
func laplace(theta float64) func(float64) float64 {
	return func(alpha float64) float64 {
		switch {
		case alpha < math.Exp(-theta)/2:
			return 1 - math.Exp(theta)*alpha
		case alpha <= 0.5:
			return math.Exp(-theta) / (4 * alpha)
		}
		return math.Exp(-theta) * (1 - alpha)
	}
}

// sampled is the trade-off function of a Poisson sample of rate q under a symmetric f, whose fixed
// point is found by bisection: Dong, Roth, Su 2019, section 4, the operator C_p.
func sampled(q float64, f func(float64) float64) func(float64) float64 {
	fixed, _ := numeric.Bisect(func(x float64) bool { return f(x) > x }, 0, 1, 0, 0)
	below := func(alpha float64) float64 { return q*f(alpha) + (1-q)*(1-alpha) }
	return func(alpha float64) float64 {
		switch {
		case alpha <= fixed:
			return below(alpha)
		case alpha <= below(fixed):
			return fixed + below(fixed) - alpha
		}
		x, _ := numeric.Bisect(func(x float64) bool { return below(x) > alpha }, 0, fixed, 0, 0) // the inverse of below, which falls
		return x
	}
}

// The curve is never above the trade-off function that is known in closed form, and at most 1e-3
// below it: what 128 points of the profile lose at ε up to 40.
func TestClosedForms(t *testing.T) {
	noise := func(sigma float64) accountant.Event { return accountant.Gaussian{NoiseMultiplier: sigma} }
	for name, tt := range map[string]struct {
		entries []accountant.Entry
		want    func(float64) float64
	}{
		"gaussian":           {[]accountant.Entry{{Event: noise(1), Count: 1}}, gaussian(1)},
		"little noise":       {[]accountant.Entry{{Event: noise(0.25), Count: 1}}, gaussian(4)},
		"much noise":         {[]accountant.Entry{{Event: noise(20), Count: 1}}, gaussian(0.05)},
		"composed gaussians": {[]accountant.Entry{{Event: noise(5), Count: 9}, {Event: noise(1.25), Count: 1}}, gaussian(1)},
		"laplace":            {[]accountant.Entry{{Event: accountant.Laplace{Scale: 1}, Count: 1}}, laplace(1)},
		"laplace 1/3":        {[]accountant.Entry{{Event: accountant.Laplace{Scale: 1. / 3}, Count: 1}}, laplace(3)},
		"sampled gaussian":   {[]accountant.Entry{{Event: accountant.PoissonSampled{SamplingProbability: 0.2, Event: noise(1)}, Count: 1}}, sampled(0.2, gaussian(1))},
		"pure ε": {[]accountant.Entry{{Event: accountant.ApproxDP{Epsilon: 2, Delta: 0}, Count: 1}},
			func(alpha float64) float64 { return max(0, 1-math.Exp(2)*alpha, math.Exp(-2)*(1-alpha)) }},
		"nothing": {nil, func(alpha float64) float64 { return 1 - alpha }},
	} {
		curve := curveOf(t, "exact", tt.entries...)
		for _, alpha := range alphas() {
			if found, want := curve.TypeII(alpha), tt.want(alpha); !(found <= want+1e-9) || !(found >= want-1e-3) {
				t.Errorf("%s: f(%g) = %v, expected %v", name, alpha, found, want)
			}
		}
	}
}

// A curve is convex, falls, lies below the line 1 - α of guessing, and is symmetric: its own
// inverse where it is above 0. Two accountants that compute in different ways have the same one,
// and RDP, which is looser, none above it.
func TestContract(t *testing.T) {
	step := accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 0.8}}
	ledgers := map[string][]accountant.Entry{
		"dp-sgd":  {{Event: step, Count: 3000}},
		"mixed":   {{Event: step, Count: 500}, {Event: accountant.Laplace{Scale: 2}, Count: 3}, {Event: accountant.Gaussian{NoiseMultiplier: 3}, Count: 2}},
		"laplace": {{Event: accountant.Laplace{Scale: 4}, Count: 10}},
	}
	for name, entries := range ledgers {
		curves := map[string]accountant.Tradeoff{}
		for _, a := range []string{"exact", "rdp", "pld"} {
			if a == "pld" && name != "laplace" {
				continue // it takes seconds for a curve of many releases
			}
			curves[a] = curveOf(t, a, entries...)
		}
		for _, c := range curves {
			holdsContract(t, name, c)
		}
		for _, alpha := range alphas() {
			exact, rdp := curves["exact"].TypeII(alpha), curves["rdp"].TypeII(alpha)
			if rdp > exact+1e-6 {
				t.Errorf("%s: f(%g) is %v by exact, %v by rdp", name, alpha, exact, rdp)
			}
			if pld, asked := curves["pld"]; asked && !(math.Abs(exact-pld.TypeII(alpha)) <= 2e-3) {
				t.Errorf("%s: f(%g) is %v by exact, %v by pld", name, alpha, exact, pld.TypeII(alpha))
			}
		}
	}
}

func holdsContract(t *testing.T, name string, c accountant.Tradeoff) {
	t.Helper()
	const n = 400
	at := func(i int) float64 { return float64(i) / n }
	least := 1.0
	for i := range n + 1 {
		beta := c.TypeII(at(i))
		least = min(least, at(i)+beta)
		if !(beta >= 0 && beta <= 1-at(i)+1e-12) {
			t.Errorf("%s: f(%g) = %v, expected 0 to %v", name, at(i), beta, 1-at(i))
		}
		if i > 0 && beta > c.TypeII(at(i-1)) {
			t.Errorf("%s: f rises to %v at %g", name, beta, at(i))
		}
		if i > 0 && i < n && beta > (c.TypeII(at(i-1))+c.TypeII(at(i+1)))/2+1e-12 {
			t.Errorf("%s: f is not convex at %g", name, at(i))
		}
		if back := c.TypeII(beta); beta > 1e-9 && !(math.Abs(back-at(i)) <= 1e-9) {
			t.Errorf("%s: f(f(%g)) = %v", name, at(i), back)
		}
	}
	if guess := c.BestGuess(); !(guess >= 1-least/2-1e-12 && guess <= 1-least/2+1e-3) {
		t.Errorf("%s: the best guess is right with probability %v, expected %v", name, guess, 1-least/2)
	}
}

// Where there is no guarantee every test may be perfect; points that are none are refused.
func TestWithoutGuarantee(t *testing.T) {
	c := curveOf(t, "exact", accountant.Entry{Event: accountant.NonPrivate{}, Count: 1})
	if c.TypeII(0) != 0 || c.BestGuess() != 1 {
		t.Errorf("found f(0) = %v, guess %v", c.TypeII(0), c.BestGuess())
	}
	for _, p := range []accountant.ProfilePoint{{Epsilon: -1}, {Delta: -1}, {Epsilon: math.NaN()}, {Delta: math.NaN()}} {
		if _, err := accountant.NewTradeoff([]accountant.ProfilePoint{p}); !errors.Is(err, accountant.ErrInvalid) {
			t.Errorf("%v: found %v, expected an error that matches ErrInvalid", p, err)
		}
	}
	if huge, _ := accountant.NewTradeoff([]accountant.ProfilePoint{{Epsilon: 5000, Delta: 0.1}}); huge.TypeII(0) != 0.9 || huge.TypeII(1e-300) != 0 {
		t.Errorf("found %v and %v", huge.TypeII(0), huge.TypeII(1e-300))
	}
}

// Beliefs hold of the mechanism whose losses are known: Gaussian noise, whose loss under the
// record's distribution is normal with mean μ²/2 and deviation μ. The chance of a posterior above
// the bound is at most what is claimed, and more than a twentieth of it: the bound is no empty one.
func TestBeliefsOfGaussianNoise(t *testing.T) {
	n := distuv.UnitNormal
	for _, mu := range []float64{0.2, 0.7, 1, 2} {
		const delta = 1e-5
		curve := func(epsilon float64) float64 {
			return n.CDF(mu/2-epsilon/mu) - math.Exp(epsilon)*n.CDF(-mu/2-epsilon/mu)
		}
		_, high := numeric.Bisect(func(x float64) bool { return curve(x) > delta }, 0, 100, 0, 0)
		beliefs, except := accountant.Beliefs(high, delta)
		for _, b := range beliefs {
			loss := math.Log(b.High/(1-b.High)) - math.Log(b.Prior/(1-b.Prior))
			chance := n.Survival((loss - mu*mu/2) / mu)
			if chance > except || chance < except/20 {
				t.Errorf("μ = %g, prior %g: more than %g is believed with probability %g, expected at most %g", mu, b.Prior, b.High, chance, except)
			}
			if back := math.Log(b.Prior/(1-b.Prior)) - math.Log(b.Low/(1-b.Low)); !(math.Abs(back-loss) <= 1e-9) {
				t.Errorf("μ = %g, prior %g: the odds fall by e^%g and rise by e^%g", mu, b.Prior, back, loss)
			}
		}
	}
	// Without a δ the odds move by e^ε and no more, always.
	pure, except := accountant.Beliefs(math.Log(3), 0)
	if half := pure[len(pure)-1]; except != 0 || !(math.Abs(half.High-0.75) <= 1e-15) || !(math.Abs(half.Low-0.25) <= 1e-15) {
		t.Errorf("a release that is private without δ: found %v but for %v", half, except)
	}
	for _, b := range first(accountant.Beliefs(math.Inf(1), 1e-5)) {
		if b.Low != 0 || b.High != 1 {
			t.Errorf("without a guarantee: found %v", b)
		}
	}
	for _, b := range first(accountant.Beliefs(710, 1e-5)) {
		if b.High != 1 {
			t.Errorf("at ε = 710: found %v", b)
		}
	}
}

func first(beliefs []accountant.Belief, _ float64) []accountant.Belief { return beliefs }
