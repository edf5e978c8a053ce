package theorems

import (
	"fmt"
	"math"
	"sort"

	"dpsgd/accountant/internal/numeric"
)

// The functions here ask the theorems in the forms that tests need: about a list of guarantees, and
// for a delta at an epsilon.

// OptimalHeterogeneous is the optimal epsilon at delta of mechanisms with these guarantees.
func OptimalHeterogeneous(gs []Guarantee, delta float64) (float64, error) {
	q, err := questionAbout(gs, delta)
	if err != nil {
		return 0, err
	}
	return q.optimal()
}

// ClosedForm is the epsilon of Theorem 3.5 of Kairouz, Oh, Viswanath 2015 at delta.
func ClosedForm(gs []Guarantee, delta float64) (float64, error) {
	q, err := questionAbout(gs, delta)
	if err != nil {
		return 0, err
	}
	return q.closedForm(), nil
}

func questionAbout(gs []Guarantee, delta float64) (*question, error) {
	if err := validateDelta("delta", delta); err != nil {
		return nil, err
	}
	var all []counted
	for i, g := range gs {
		if err := g.validate(); err != nil {
			return nil, fmt.Errorf("%w (guarantee %d of %d)", err, i+1, len(gs))
		}
		all = append(all, counted{g, 1})
	}
	return newQuestion(all, delta), nil
}

// OptimalDelta is the function that Optimal inverts: 1 - (1-δ)^k (1 - E[max(0, 1 - exp(epsilon -
// loss))]), the loss being that of k randomized responses, rounded up.
func OptimalDelta(g Guarantee, k int, epsilon float64) (float64, error) {
	if err := validateCopies(g, k); err != nil {
		return 0, err
	}
	if !(epsilon >= 0) {
		return 0, fmt.Errorf("%w: epsilon is %v", ErrInvalid, epsilon)
	}
	pure := 0.0
	switch {
	case math.IsInf(epsilon, 1) || epsilon >= repeated(g, k).Epsilon:
	case math.IsInf(g.Epsilon, 1):
		pure = 1
	default:
		r := responses{g.Epsilon, newResponses(g.Epsilon, k)}
		loss := func(j int) float64 { return math.FMA(float64(2*j-k), g.Epsilon, -epsilon) }
		first := (k + 1) / 2
		j := first + sort.Search(k-first, func(i int) bool { return loss(first+i) > 0 })
		if loss(j) > 0 {
			pure = math.Exp(r.logExcess(j)) - math.Expm1(-loss(j))*math.Exp(r.logDiscounted(j))
			pure = math.Min(1, pure*(1+r.count.RelativeError()))
		}
	}
	return afterDeltas(logKeep(g, k), pure), nil
}

// afterDeltas is 1 - (1-pure) Π(1-δᵢ), rounded up.
func afterDeltas(logKeep, pure float64) float64 {
	if pure == 0 && logKeep == 0 {
		return 0
	}
	return math.Min(1, numeric.Up(-math.Expm1(logKeep+math.Log1p(-pure)), 8))
}

// ShuffleDelta is the function that Shuffle inverts.
func ShuffleDelta(local float64, n int, epsilon float64) (float64, error) {
	if err := validateShuffle(local, n, 0); err != nil || !(epsilon >= 0) {
		return 0, fmt.Errorf("%w: epsilon is %v, %v", ErrInvalid, epsilon, err)
	}
	if epsilon >= local {
		return 0, nil
	}
	delta, _ := newClones(local, n, 1e-290).at(epsilon)
	return delta, nil
}

// ShuffleResponseDelta is the function that ShuffleResponse inverts.
func ShuffleResponseDelta(local float64, buckets, n int, epsilon float64) (float64, error) {
	if epsilon >= local {
		return 0, validateShuffleResponse(local, buckets, n, 0)
	}
	delta, _ := newShuffledResponse(local, buckets, n, 1e-290).at(epsilon)
	better, _ := newShuffledResponse(local, buckets, n, max(1e-290, delta*1e-13)).at(epsilon) // of narrower ranges
	return min(delta, better), nil
}
