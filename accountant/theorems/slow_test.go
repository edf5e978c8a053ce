package theorems

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"dpsgd/accountant/internal/numeric"
)

// outcome is a possible outcome of a pair of mechanisms, with its two probabilities.
type outcome struct{ p, q float64 }

// slowCompose enumerates the outcomes of the worst mechanisms there are: each
// tells the truth outright with probability δ, and else answers at random.
func slowCompose(gs []guarantee) []outcome {
	all := []outcome{{1, 1}}
	for _, g := range gs {
		truth := (1 - g.Delta) / (1 + math.Exp(-g.Epsilon))
		lie := (1 - g.Delta) / (1 + math.Exp(g.Epsilon))
		one := []outcome{{g.Delta, 0}, {truth, lie}, {lie, truth}, {0, g.Delta}}
		var next []outcome
		for _, a := range all {
			for _, b := range one {
				next = append(next, outcome{a.p * b.p, a.q * b.q})
			}
		}
		all = next
	}
	return all
}

// slowDelta is the definition: Σ max(0, p - e^epsilon q).
func slowDelta(all []outcome, epsilon float64) float64 {
	sum := 0.0
	for _, o := range all {
		sum += math.Max(0, o.p-math.Exp(epsilon)*o.q)
	}
	return sum
}

// slowEpsilon solves slowDelta = delta by bisection.
func slowEpsilon(all []outcome, delta, most float64) float64 {
	lo, hi := 0.0, most
	if slowDelta(all, 0) <= delta {
		return 0
	}
	for range 100 {
		if m := (lo + hi) / 2; slowDelta(all, m) <= delta {
			hi = m
		} else {
			lo = m
		}
	}
	return hi
}

// between reports whether got is at least want, and above it by at most a
// relative tolerance; below, only the rounding of the slow reference is allowed.
func between(got, want, tolerance float64) bool {
	return got >= want*(1-1e-12)-1e-15 && got <= want*(1+tolerance)+1e-13
}

func TestOptimalAgainstEnumeration(t *testing.T) {
	for _, g := range []guarantee{{0.1, 0}, {0.7, 0}, {0.7, 1e-3}, {3, 1e-6}, {0, 0.01}, {1e-4, 0}} {
		for k := range 7 {
			all := slowCompose(slices.Repeat([]guarantee{g}, k))
			for _, epsilon := range []float64{0, 1e-4, 0.05, 0.3, 0.7, 1, 2, 5} {
				got := optimalDelta(g, k, epsilon)
				if want := slowDelta(all, epsilon); !between(got, want, 1e-11) {
					t.Errorf("%v, k=%d: delta %v, want %v at %v", g, k, got, want, epsilon)
				}
			}
			for _, delta := range []float64{0.9, 0.3, 0.05, 0.02, 1e-4} {
				if delta < 1.0001*afterDeltas(g, k, 0) {
					continue
				}
				got := optimal(g, k, delta)
				if want := slowEpsilon(all, delta, float64(k)*g.Epsilon); !between(got, want, 1e-9) {
					t.Errorf("%v, k=%d: epsilon %v, want %v at %v", g, k, got, want, delta)
				}
			}
		}
	}
}

func TestHeterogeneousAgainstEnumeration(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		gs := make([]guarantee, 1+r.IntN(6))
		most := 0.0
		for i := range gs {
			gs[i] = guarantee{math.Exp(4*r.Float64() - 3), 1e-4 * float64(r.IntN(3))}
			if i > 0 && r.IntN(3) == 0 {
				gs[i].Epsilon = gs[i-1].Epsilon
			}
			most += gs[i].Epsilon
		}
		all := slowCompose(gs)
		delta := 1e-3 + math.Pow(r.Float64(), 3)
		if delta >= 1 {
			continue
		}
		got := questionAbout(gs, delta).optimal()
		if want := slowEpsilon(all, delta, most); !between(got, want, 1e-9) {
			t.Errorf("%v: epsilon %v, want %v at %v", gs, got, want, delta)
		}
	}
}

// slowClones enumerates the pair of Theorem III.2 from its definition.
func slowClones(local float64, n int) []outcome {
	p, w := math.Exp(-local), math.Exp(local)/(1+math.Exp(local))
	table := map[[2]int]outcome{}
	for c := range n {
		for a := range c + 1 {
			mass := math.Exp(numeric.Binomial{N: n - 1, P: p, Q: 1 - p}.LogMass(c) + numeric.Binomial{N: c, P: 0.5, Q: 0.5}.LogMass(a))
			for d, chance := range []float64{1 - w, w} {
				at := [2]int{a + d, c - a + 1 - d}
				o := table[at]
				table[at] = outcome{o.p + mass*chance, o.q}
				at = [2]int{a + 1 - d, c - a + d}
				o = table[at]
				table[at] = outcome{o.p, o.q + mass*chance}
			}
		}
	}
	var all []outcome
	for _, o := range table {
		all = append(all, o)
	}
	return all
}

func TestShuffleAgainstEnumeration(t *testing.T) {
	for _, local := range []float64{0.01, 0.5, 1, 3, 8} {
		for _, n := range []int{1, 2, 3, 10, 100} {
			all := slowClones(local, n)
			for _, share := range []float64{0, 0.001, 0.1, 0.5, 0.9, 0.999} {
				epsilon := share * local
				got, want := shuffleDelta(local, n, epsilon), slowDelta(all, epsilon)
				if !(got >= want-1e-14 && got <= want*(1+1e-9)+1e-14) {
					t.Errorf("l=%v, n=%d: delta %v, want %v at %v", local, n, got, want, epsilon)
				}
			}
			for _, delta := range []float64{0.3, 0.01, 1e-4} {
				got := mustShuffle(t, local, 0, n, delta)
				if want := slowEpsilon(all, delta, local); !(got >= want-1e-12 && got <= want+1e-8) {
					t.Errorf("l=%v, n=%d: epsilon %v, want %v at %v", local, n, got, want, delta)
				}
			}
		}
	}
}

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
