package composition

import (
	"math"

	"dpsgd/accountant/internal/numeric"
)

// counted is a release that happens count times.
type counted struct {
	cost
	count int
}

// costs is what the theorems know of all releases together.
type costs struct {
	sums // of ε, rounded up but for terms

	groups   map[float64]int // how many releases have that epsilon, above 0
	releases int             // their number
	deltas   float64         // Σ δ, exact or rounded up
	logKeep  float64         // Σ log(1-δ), rounded away from 0
}

// addCosts adds up the releases, each of which may use share of delta.
func addCosts(all []counted, share float64) (costs, error) {
	total := costs{groups: map[float64]int{}, sums: sums{terms: roundedTerms}}
	for _, c := range all {
		g, err := c.at(share)
		if err != nil {
			return costs{}, err
		}
		n := float64(c.count)
		total.deltas = numeric.AddUp(total.deltas, numeric.MulUp(n, g.Delta))
		total.logKeep += n * math.Log1p(-g.Delta)
		if g.Epsilon > 0 {
			total.groups[g.Epsilon] += c.count
			total.releases += c.count
			total.epsilons = numeric.AddUp(total.epsilons, numeric.MulUp(n, g.Epsilon))
			total.squares += n * g.Epsilon * g.Epsilon
			total.drift += n * g.Epsilon * math.Tanh(g.Epsilon/2)
		}
	}
	// A sum of m terms is right to a relative m·2^-53.
	slop := 1 + 0x1p-46 + float64(len(all))*0x1p-52
	total.squares *= slop
	total.drift *= slop
	total.logKeep *= slop
	return total, nil
}

// pure is what the deltas of the releases leave of delta for their epsilons,
// 1 - (1-delta)/Π(1-δᵢ), rounded down (Theorem 3.5 of Kairouz, Oh, Viswanath 2015). It is
// negative if they leave nothing.
func (c costs) pure(delta float64) float64 {
	if c.logKeep == 0 {
		return delta
	}
	return -math.Expm1(math.Log1p(-delta)-c.logKeep) - 0x1p-48*delta
}

// composeBasic adds the epsilons and the deltas.
func composeBasic(c costs, delta float64) (float64, error) {
	if c.deltas > delta {
		return math.Inf(1), nil
	}
	return c.epsilons, nil
}

// roundedTerms stands for the few roundings that are left after the sums were rounded up.
const roundedTerms = 16

// composeAdvanced is Theorem 3.5 of Kairouz, Oh, Viswanath 2015, see closedForm. With ε(e^ε - 1) in
// the place of ε tanh(ε/2), and log(1/slack), it is the theorem of Dwork, Rothblum, Vadhan 2010.
func composeAdvanced(c costs, delta float64) (float64, error) {
	slack := c.pure(delta)
	if slack <= 0 {
		return composeBasic(c, delta)
	}
	return c.closedForm(slack), nil
}

// maxListed bounds the releases that are written out for OptimalHeterogeneous.
const maxListed = 100_000

// composeOptimal is the theorem for equal epsilons if there is but one, the one for
// different epsilons if the list of them is not too long, and at most the closed form.
func composeOptimal(c costs, delta float64) (float64, error) {
	closed, err := composeAdvanced(c, delta)
	slack := c.pure(delta)
	if err != nil || slack <= 0 || len(c.groups) == 0 || len(c.groups) > 1 && c.releases > maxListed {
		return closed, err
	}
	var list []Guarantee
	for epsilon, count := range c.groups {
		g := Guarantee{Epsilon: epsilon}
		if len(c.groups) == 1 {
			best, err := Optimal(g, count, slack)
			return min(best, closed), err
		}
		for range count {
			list = append(list, g)
		}
	}
	best, err := OptimalHeterogeneous(list, slack)
	return min(best, closed), err
}

// roundUp is x ≥ 0 moved up by more than the rounding of a few sums and products.
func roundUp(x float64) float64 { return numeric.Up(x, 64) }
