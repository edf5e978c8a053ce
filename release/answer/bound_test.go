package answer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/internal/random"
)

// difference returns the norms of the difference of two sums, as a reach.
func difference(a, b []int64) (l1, l2 float64, width int64) {
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range a {
		d := a[i] - b[i]
		l1 += math.Abs(float64(d))
		l2 += float64(d) * float64(d)
		least, most = min(least, d), max(most, d)
	}
	return l1, math.Sqrt(l2), most - least
}

// One record, whatever its contribution, moves sums by no more than the reach that events are made
// with; a contribution beyond the bound adds zero, one within it is counted.
func TestRandomRecordsStayWithinTheBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	ends := []int64{0, 1, -1, maxContribution, -maxContribution, maxContribution + 1, math.MaxInt64, math.MinInt64, math.MinInt64 + 1}
	counted, left := 0, 0
	for range 20_000 {
		most := int64(1 + rng.IntN(20))
		if rng.IntN(10) == 0 {
			most = maxContribution
		}
		b := []Bound{L1(most), L2(most), Within(-most, rng.Int64N(most)), Within(0, most), Within(-most, -1)}[rng.IntN(5)]
		n := 1 + rng.IntN(4)
		contribution := make([]int64, n)
		for i := range contribution {
			contribution[i] = rng.Int64N(2*most+3) - most - 1
			if rng.IntN(20) == 0 {
				contribution[i] = ends[rng.IntN(len(ends))]
			}
		}
		if rng.IntN(50) == 0 {
			contribution = append(contribution, 0)
		}
		other := make([]int64, n)
		without := must(NewSums(vectors(other), n, b))
		with := must(NewSums(vectors(other, contribution), n, b))
		l1, l2, width := difference(with.values, without.values)
		r := with.reach
		if l1 > float64(r.l1) || l2 > r.l2 || n > 1 && width > r.width || r.alone && n > 1 {
			t.Fatalf("%v of %+v moves sums by %v (L1), %v (L2), %v apart; reach %+v", contribution, b, l1, l2, width, r)
		}
		if l1 == 0 {
			left++
		} else {
			counted++
		}
	}
	if counted < 2000 || left < 2000 {
		t.Errorf("%d contributions counted, %d left out", counted, left)
	}
}

// What is exactly at the bound is counted.
func TestContributionsAtTheBound(t *testing.T) {
	for _, c := range []struct {
		bound        Bound
		contribution []int64
		counted      bool
	}{
		{L1(5), []int64{3, -2}, true}, {L1(5), []int64{3, -3}, false}, {L2(5), []int64{3, -4}, true}, {L2(5), []int64{4, 4}, false},
		{Within(-1, 2), []int64{-1, 2}, true}, {Within(-1, 2), []int64{-2, 0}, false}, {Within(1, 2), []int64{1, 1}, true},
		{L2(maxContribution), []int64{maxContribution, 0}, true}, {L2(maxContribution), []int64{maxContribution, 1}, false},
		{L2(maxContribution), []int64{maxContribution, maxContribution}, false},
	} {
		s := must(NewSums(vectors(c.contribution), 2, c.bound))
		if counted := s.values[0] == c.contribution[0] && s.values[1] == c.contribution[1]; counted != c.counted {
			t.Errorf("%v under %+v: sums %v, expected it counted: %v", c.contribution, c.bound, s.values, c.counted)
		}
	}
	if s := must(NewTotal([]int64{-7, 3, 100, math.MaxInt64, math.MinInt64}, -1, 10)); s.values[0] != -1+3+10+10-1 || s.reach.l1 != 10 || saturated(math.MinInt64+1, -2) != math.MinInt64 {
		t.Errorf("clamped total %v, reach %+v, or one that is too low wraps around", s.values, s.reach)
	}
	if s := must(NewCounts([]int{0, 2, 2, -1, 3, math.MaxInt}, 3)); fmt.Sprint(s.values) != "[1 0 2]" {
		t.Errorf("counts %v", s.values)
	}
}

// Events say how far a record moves sums together, and of discrete Gaussian noise, which has an exact
// profile for one sum alone, nothing where there are several. A vote that moves moves two.
func TestEventsSayTheReach(t *testing.T) {
	one, two, votes := must(NewTotal(nil, 0, 3)), must(NewSums(vectors(), 2, L2(5))), must(NewVotes(nil, 2)).Sums()
	for s, reach := range map[*Sums][3]int64{one: {3, 3, 3}, two: {8, 0, 8}, votes: {2, 0, 2}} { // 5·√2, rounded up
		laplace := must(DiscreteLaplace(s, 2)).event.(accountant.DiscreteLaplace)
		gaussian := must(DiscreteGaussian(s, 2)).event.(accountant.DiscreteGaussian)
		if found := [3]int64{int64(laplace.Sensitivity), int64(gaussian.Sensitivity), s.Scores().width}; found != reach {
			t.Errorf("%+v: found %v, expected %v", s.reach, found, reach)
		}
	}
}

// Where rounding decides, it is on the private side: nothing that is left is below 0.
func TestRoundedToThePrivateSide(t *testing.T) {
	norm, third := must(Within(0, 3).reach(73)).l2, 1./3
	v := must(GaussianMax(must(NewVotes(nil, 2)), 1.45)).Event().(accountant.Gaussian).NoiseMultiplier
	for name, left := range map[string]float64{
		"norm":    math.FMA(norm, norm, -73*9),
		"product": -math.FMA(0.7, 0.1, -productUp(0.7, 0.1)),
		"choice":  math.FMA(third, must(newScores([]int64{0}, 1).scale(third)).Float64(), -1),
		"votes":   math.FMA(1.45, 1.45, -2*v*v) - 2*math.FMA(v, v, -v*v),
	} {
		if left < 0 {
			t.Errorf("%s: found %v, expected at least 0", name, left)
		}
	}
}

// One more value moves the scores of ranks by no more than their width apart.
func TestRanksStayWithinTheWidth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	reached := 0
	for range 20_000 {
		values := make([]int64, rng.IntN(8))
		for i := range values {
			values[i] = rng.Int64N(12)
		}
		candidates := []int64{0, 2, 2, 5, 9, 11}[:1+rng.IntN(6)]
		whole := 1 + rng.IntN(5)
		part := rng.IntN(whole + 1)
		without := must(NewRanks(values, candidates, part, whole))
		for i, c := range candidates { // by the definition
			below := 0
			for _, x := range values {
				if x < c {
					below++
				}
			}
			if want := -magnitude(int64(whole*below - part*len(values))); without.values[i] != want {
				t.Fatalf("%v of %v at %d/%d: score %d, expected %d", c, values, part, whole, without.values[i], want)
			}
		}
		with := must(NewRanks(append(values, rng.Int64N(12)), candidates, part, whole))
		_, _, width := difference(with.values, without.values)
		if width > with.width || with.width != without.width {
			t.Fatalf("%v, candidates %v, %d/%d: scores %v and %v, %d apart, width %d", values, candidates, part, whole, without.values, with.values, width, with.width)
		}
		if width == with.width {
			reached++
		}
	}
	if reached == 0 {
		t.Error("the width is never reached")
	}
}

// Every data set over few values: one record moves the distance by at most 1, and the median by at
// most step where the distance is not 0; so it is no more than the records that it takes.
func TestMedianDistance(t *testing.T) {
	const low, high, most = 0, 5, 6
	var all func(values []int64, visit func([]int64))
	all = func(values []int64, visit func([]int64)) {
		visit(values)
		if len(values) == most {
			return
		}
		from := int64(low)
		if len(values) > 0 {
			from = values[len(values)-1]
		}
		for x := from; x <= high; x++ {
			all(append(values, x), visit)
		}
	}
	for step := int64(1); step < high-low; step++ {
		far := int64(0)
		all(nil, func(values []int64) {
			one := newOrdered(values, low, high)
			d := one.distance(step)
			far = max(far, d)
			for x := int64(low); x <= high; x++ {
				other := newOrdered(append(append([]int64(nil), values...), x), low, high)
				e, moved := other.distance(step), magnitude(other.median()-one.median())
				if magnitude(d-e) > 1 || moved > step && (d > 0 || e > 0) {
					t.Fatalf("step %d: %v has distance %d and median %d, with %d more %d and %d", step, values, d, one.median(), x, e, other.median())
				}
			}
		})
		if far < 2 {
			t.Errorf("step %d: the distance is never above %d", step, far)
		}
	}
}

// Parameters out of range are one line that says what was found.
func TestInvalidQuestions(t *testing.T) {
	total, votes := must(NewTotal([]int64{1}, 0, 1)), must(NewVotes([]int{0}, 2))
	discard := func(_ any, err error) error { return err }
	for name, ask := range map[string]func(x float64) error{
		"DiscreteLaplace":        func(x float64) error { return discard(DiscreteLaplace(total, x)) },
		"Laplace":                func(x float64) error { return discard(Laplace(total, x)) },
		"DiscreteGaussian":       func(x float64) error { return discard(DiscreteGaussian(total, x)) },
		"Gaussian":               func(x float64) error { return discard(Gaussian(total, x)) },
		"Exponential":            func(x float64) error { return discard(Exponential(total.Scores(), x)) },
		"PermuteAndFlip":         func(x float64) error { return discard(PermuteAndFlip(total.Scores(), x)) },
		"NoisyMax":               func(x float64) error { return discard(NoisyMax(total.Scores(), x)) },
		"GaussianMax":            func(x float64) error { return discard(GaussianMax(votes, x)) },
		"LaplaceMax":             func(x float64) error { return discard(LaplaceMax(votes, x)) },
		"Agreement":              func(x float64) error { return discard(Agreement(votes, 1, x)) },
		"AboveThreshold":         func(x float64) error { return discard(AboveThreshold(1, 1, 1, x)) },
		"Median":                 func(x float64) error { return discard(Median(nil, 0, 9, 1, x, 0.1)) },
		"Median, delta":          func(x float64) error { return discard(Median(nil, 0, 9, 1, 1, x)) },
		"LaplaceMax, too much":   func(float64) error { return discard(LaplaceMax(votes, 1e9)) },
		"Gaussian, too much":     func(float64) error { return discard(Gaussian(total, 1e15)) },
		"no candidates":          func(float64) error { return discard(NewRanks(nil, nil, 1, 2)) },
		"candidates in no order": func(float64) error { return discard(NewRanks(nil, []int64{2, 1}, 1, 2)) },
		"a quantile above 1":     func(float64) error { return discard(NewRanks(nil, []int64{1}, 3, 2)) },
		"no coordinates":         func(float64) error { return discard(NewSums(vectors(), 0, L1(1))) },
		"no bound":               func(float64) error { return discard(NewSums(vectors(), 1, L1(0))) },
		"too large a bound":      func(float64) error { return discard(NewSums(vectors(), 1, L2(1<<31))) },
		"bounds upside down":     func(float64) error { return discard(NewTotal(nil, 2, 1)) },
		"no buckets":             func(float64) error { return discard(NewCounts(nil, 0)) },
		"a norm that overflows":  func(float64) error { return discard(Within(0, maxContribution).reach(1 << 33)) },
		"no classes":             func(float64) error { return discard(NewVotes(nil, 0)) },
		"a threshold beyond":     func(float64) error { return discard(AboveThreshold(math.MinInt64, 1, 1, 1)) },
		"a search for nothing":   func(float64) error { return discard(AboveThreshold(1, 1, 0, 1)) },
		"a search of nothing":    func(x float64) error { return discard(AboveThreshold(1, int64(x), 1, 1)) },
		"values too far out":     func(float64) error { return discard(Median(nil, 0, maxContribution+1, 1, 1, 0.1)) },
		"a step that is no step": func(float64) error { return discard(Median(nil, 0, 9, 9, 1, 0.1)) },
	} {
		for _, x := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
			err := ask(x)
			if err == nil || !strings.HasPrefix(err.Error(), "answer: found ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s(%v): %v", name, x, err)
			}
		}
	}
}

// Of no records at all, everything can be asked.
func TestEmptyDataIsAnswered(t *testing.T) {
	src := random.ForTest(1)
	none := must(NewCounts(nil, 3))
	if x := must(DiscreteLaplace(none, 1)).draw(src); len(x) != 3 {
		t.Errorf("%d counts, expected 3", len(x))
	}
	if i := must(Exponential(none.Scores(), 1)).draw(src); i < 0 || i > 2 {
		t.Errorf("candidate %d of 3", i)
	}
	if i := must(PermuteAndFlip(must(NewRanks(nil, []int64{5}, 1, 2)), 1)).draw(src); i != 0 {
		t.Errorf("candidate %d of 1", i)
	}
	if i := must(GaussianMax(must(NewVotes(nil, 2)), 1)).draw(src); i < 0 || i > 1 {
		t.Errorf("class %d of 2", i)
	}
	if must(Median(nil, 0, 100, 1, 1, 1e-6)).draw(src).Passed {
		t.Error("the median of nothing passed its test")
	}
}

// A median that one record moves passes its test with a chance of δ = 0.0185 at most. It is 0.016 here,
// so that more than 130 of 4000 have a chance below 1e-12; at the next lower threshold it is 0.12.
func TestUnstableMedianPassesWithDelta(t *testing.T) {
	q, src, passed := must(Median([]int64{0, 100}, 0, 100, 1, 4, math.Exp(-3.99))), random.ForTest(1), 0
	for range 4000 {
		if q.draw(src).Passed {
			passed++
		}
	}
	if passed > 130 {
		t.Errorf("passed %d times of 4000, expected about 64", passed)
	}
	if must(Median([]int64{50, 50, 50}, 0, 100, 1, 1440, math.SmallestNonzeroFloat64)).draw(src).Passed {
		t.Error("passed at the least δ, with next to no noise, though two records move it")
	}
}

// Nothing that is printed tells what is secret.
func TestSecretsAreNotPrinted(t *testing.T) {
	const secret = 424242
	s := must(NewTotal([]int64{secret}, 0, 500_000))
	votes := must(NewVotes([]int{0}, 2))
	search := must(AboveThreshold(secret, 1, 1, 1)).draw(random.ForTest(1))
	for _, x := range []any{s, s.Scores(), votes, search, must(DiscreteLaplace(s, 1))} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
			if text := fmt.Sprintf(verb, x); strings.Contains(text, "424242") {
				t.Errorf("%s of %T prints %s", verb, x, text)
			}
		}
	}
}
