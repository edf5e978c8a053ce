package data

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// labels are examples of ten classes in turn.
type labels int

func (n labels) Len() int        { return int(n) }
func (labels) Label(i int) int   { return i % 10 }
func (labels) Classes() []string { return make([]string, 10) }

func recipe(clients int, split string, alpha float64, seed uint64) ClientSplit {
	r := NoClients()
	r.Clients, r.Split, r.Alpha, r.Seed = clients, split, alpha, seed
	return r
}

// Every example belongs to one client, clients have equally many, and a seed is a split.
func TestSplitsCoverAndAreDisjoint(t *testing.T) {
	for _, n := range []labels{1, 7, 100, 1003} {
		for _, clients := range []int{1, 3, 100} {
			if clients > int(n) {
				if _, err := recipe(clients, IID, 1, 1).Spread(n); err == nil {
					t.Errorf("%d clients share %d examples", clients, n)
				}
				continue
			}
			for _, r := range []ClientSplit{recipe(clients, IID, 1, 1), recipe(clients, Dirichlet, 0.01, 2), recipe(clients, Dirichlet, 1, 3), recipe(clients, Dirichlet, 10000, 4)} {
				s := must(r.Spread(n))
				all := slices.Concat(s...)
				slices.Sort(all)
				if len(s) != clients || len(all) != int(n) || all[0] != 0 || len(slices.Compact(all)) != int(n) {
					t.Errorf("%+v: %d clients hold %d of %d examples, or one twice", r, len(s), len(all), n)
				}
				for _, own := range s {
					if len(own) != int(n)/clients && len(own) != int(n)/clients+1 {
						t.Errorf("%+v: a client has %d of %d examples", r, len(own), n)
					}
				}
				if fmt.Sprint(must(r.Spread(n))) != fmt.Sprint(s) {
					t.Errorf("%+v: the same seed spreads in two ways", r)
				}
				if r.Seed += 10; n > 100 && fmt.Sprint(must(r.Spread(n))) == fmt.Sprint(s) {
					t.Errorf("%+v: two seeds spread in one way", r)
				}
			}
		}
	}
}

// The squared shares of k classes in a Dirichlet distribution of α for each add up to (α+1)/(kα+1)
// on average. A client with m examples drawn by these shares has 1/m + (1-1/m) times that. The
// deviation of the mean over 500 clients is below 0.25/sqrt(500), a quarter of the 0.05 that is
// allowed; the seed is fixed, so that the test does not fail by chance. Few examples of many are
// taken, so that no class runs out. The split by chance is α = ∞.
func TestDirichletSkew(t *testing.T) {
	const k, clients, m = 10, 500, 40
	for _, alpha := range []float64{0.05, 0.1, 1, 100, math.Inf(1)} {
		r := recipe(5*clients, Dirichlet, alpha, 7)
		want := (alpha + 1) / (k*alpha + 1)
		if math.IsInf(alpha, 1) {
			r.Split, r.Alpha, want = IID, 1, 1.0/k
		}
		want = 1.0/m + (1-1.0/m)*want
		mean := 0.0
		for _, own := range must(r.Spread(labels(5 * clients * m)))[:clients] {
			counts := [k]float64{}
			for _, i := range own {
				counts[i%k] += 1.0 / m
			}
			for _, share := range counts {
				mean += share * share / clients
			}
		}
		if !(math.Abs(mean-want) <= 0.05) {
			t.Errorf("α = %v: squared shares add up to %.3f, expected %.3f", alpha, mean, want)
		}
	}
}

func TestRecipesThatDoNotFit(t *testing.T) {
	bad := []func(*ClientSplit){
		func(r *ClientSplit) { r.MinClients = 11 },
		func(r *ClientSplit) { r.Alpha = 0 },
		func(r *ClientSplit) { r.LocalLearningRate = math.NaN() },
		func(r *ClientSplit) { r.Split = "by hand" },
	}
	for i, change := range bad {
		r := recipe(10, IID, 1, 1)
		if change(&r); r.Check() == nil {
			t.Errorf("recipe %d is accepted: %+v", i, r)
		}
	}
	divisions := map[string]bool{} // runs with one of these have the same clients
	for _, r := range []ClientSplit{recipe(10, IID, 1, 1), recipe(9, IID, 1, 1), recipe(10, IID, 1, 2), recipe(10, Dirichlet, 1, 1), recipe(10, Dirichlet, 2, 1)} {
		divisions[r.Division()] = true
	}
	if len(divisions) != 5 {
		t.Errorf("found the same words for several divisions: %v", divisions)
	}
	some, all := recipe(10, IID, 1, 1), recipe(10, IID, 1, 1)
	if some.MinClients = 7; some.Noisy() != 7 || all.Noisy() != 10 {
		t.Errorf("%d and %d of 10 clients add noise, expected 7, and all where nothing is said", some.Noisy(), all.Noisy())
	}
}
