package theorems

import (
	"math"
	"sort"
	"testing"

	"dpsgd/accountant/internal/numeric"
)

// The functions here ask the theorems in the forms that tests need: about a list of guarantees, and
// for a delta at an epsilon.

func questionAbout(gs []guarantee, delta float64) *question {
	var all []counted
	for _, g := range gs {
		all = append(all, counted{g, 1})
	}
	return newQuestion(all, delta)
}

// optimal is the optimal epsilon at delta of k mechanisms with one guarantee.
func optimal(g guarantee, k int, delta float64) float64 {
	return newQuestion([]counted{{g, k}}, delta).optimal()
}

// repeated is the basic composition of k copies of g.
func repeated(g guarantee, k int) guarantee {
	return guarantee{numeric.MulUp(float64(k), g.Epsilon), math.Min(1, numeric.MulUp(float64(k), g.Delta))}
}

// optimalDelta is the function that optimal inverts: 1 - (1-δ)^k (1 - E[max(0, 1 - exp(epsilon -
// loss))]), the loss being that of k randomized responses, rounded up.
func optimalDelta(g guarantee, k int, epsilon float64) float64 {
	pure := 0.0
	switch {
	case k == 0:
		return 0
	case epsilon >= repeated(g, k).Epsilon:
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
	return afterDeltas(g, k, pure)
}

// afterDeltas is 1 - (1-pure) (1-δ)^k, rounded up.
func afterDeltas(g guarantee, k int, pure float64) float64 {
	if pure == 0 && g.Delta == 0 {
		return 0
	}
	return math.Min(1, numeric.Up(-math.Expm1(float64(k)*math.Log1p(-g.Delta)+math.Log1p(-pure)), 8))
}

// mustShuffle is Shuffle, or ShuffleResponse where there are buckets.
func mustShuffle(t *testing.T, local float64, buckets, n int, delta float64) float64 {
	t.Helper()
	e, err := Shuffle(local, n, delta)
	if buckets > 0 {
		e, err = ShuffleResponse(local, buckets, n, delta)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// shuffleDelta is the function that Shuffle inverts.
func shuffleDelta(local float64, n int, epsilon float64) float64 {
	if epsilon >= local {
		return 0
	}
	delta, _ := newClones(local, numeric.Binomial{N: n - 1, P: math.Exp(-local), Q: -math.Expm1(-local)}, 1e-290).at(epsilon)
	return delta
}

// shuffleResponseDelta is the function that ShuffleResponse inverts.
func shuffleResponseDelta(local float64, buckets, n int, epsilon float64) float64 {
	if epsilon >= local {
		return 0
	}
	delta, _ := shuffledResponse(local, buckets, n, 1e-290)(epsilon)
	better, _ := shuffledResponse(local, buckets, n, max(1e-290, delta*1e-13))(epsilon) // of narrower ranges
	return min(delta, better)
}
