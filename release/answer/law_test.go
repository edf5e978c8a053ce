package answer

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mathext"

	"dpsgd/internal/random"
)

// lawPValue is that of Pearson's chi-square test of answers 0, 1, … against their chances.
func lawPValue(n int, draw func(src *random.Source) int, chances []float64) float64 {
	src, counts := random.ForTest(3), make([]float64, len(chances))
	for range n {
		counts[draw(src)]++
	}
	statistic := 0.0
	for i, c := range chances {
		expected := c * float64(n)
		statistic += (counts[i] - expected) * (counts[i] - expected) / expected
	}
	return mathext.GammaIncRegComp(float64(len(chances)-1)/2, statistic/2)
}

// flipChances are the chances of permute-and-flip by its definition: over all orders of the
// candidates, those before do not fall and the candidate does.
func flipChances(falls []float64) []float64 {
	chances := make([]float64, len(falls))
	var visit func(used int, chance float64, left int)
	visit = func(used int, chance float64, left int) {
		for i, f := range falls {
			if used>>i&1 == 0 {
				chances[i] += chance / float64(left) * f
				visit(used|1<<i, chance/float64(left)*(1-f), left-1)
			}
		}
	}
	visit(0, 1, len(falls))
	return chances
}

// maxChances are the chances of the noisy maximum by its definition: candidate i wins at x if those
// before it are below x and those behind it at most x.
func maxChances(scores []int64, pmf func(n int64) float64, reach int64) []float64 {
	chances := make([]float64, len(scores))
	cdf := make([]float64, 2*reach+1)
	sum := 0.0
	for n := -reach; n <= reach; n++ {
		sum += pmf(n)
		cdf[n+reach] = sum
	}
	below := func(n int64) float64 { // P[N ≤ n]
		switch {
		case n < -reach:
			return 0
		case n > reach:
			return 1
		}
		return cdf[n+reach]
	}
	for i, u := range scores {
		for n := -reach; n <= reach; n++ {
			chance := pmf(n)
			for j, v := range scores {
				x := u + n - v
				if j < i {
					x-- // a tie is the first one's
				}
				if j != i {
					chance *= below(x)
				}
			}
			chances[i] += chance
		}
	}
	return chances
}

// Choices have the chances of their definitions, to a p-value of 1e-6: the sources are seeded.
// Those of another ε, by a tenth, are told apart.
func TestChoicesHaveTheirLaws(t *testing.T) {
	buckets := []int{0, 0, 0, 1, 2, 2, 2, 4, 4, 4, 4}
	scores := must(NewCounts(buckets, 5)).Scores() // 3 1 3 0 4
	n := draws(t)
	falls := func(epsilon float64) []float64 {
		var f []float64
		for _, u := range scores.values {
			f = append(f, math.Exp(epsilon*float64(u-4)))
		}
		return f
	}
	pmf := func(scale float64) func(n int64) float64 {
		a := math.Exp(-1 / scale)
		return func(n int64) float64 { return (1 - a) / (1 + a) * math.Exp(-math.Abs(float64(n))/scale) }
	}
	for name, c := range map[string]struct {
		question func(*Scores, float64) (Question[int], error)
		chances  func(epsilon float64) []float64
	}{
		"exponential": {Exponential, func(epsilon float64) []float64 {
			f, sum := falls(epsilon), 0.0
			for _, x := range f {
				sum += x
			}
			for i := range f {
				f[i] /= sum
			}
			return f
		}},
		"permute and flip": {PermuteAndFlip, func(epsilon float64) []float64 { return flipChances(falls(epsilon)) }},
		"noisy maximum":    {NoisyMax, func(epsilon float64) []float64 { return maxChances(scores.values, pmf(1/epsilon), 200) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const epsilon = 0.5
			q := must(c.question(scores, epsilon))
			if p := lawPValue(n, q.draw, c.chances(epsilon)); p < 1e-6 {
				t.Errorf("p-value %v", p)
			}
			if p := lawPValue(n/5, q.draw, c.chances(epsilon*1.1)); p > 1e-6 {
				t.Errorf("p-value %v for another ε", p)
			}
		})
	}
}

// The noisy maxima of votes between two classes are normal, and Laplace, distribution functions.
func TestVotesHaveTheirLaws(t *testing.T) {
	votes := must(NewVotes([]int{0, 0, 0, 0, 1, 1, 1}, 2))
	n := draws(t)
	agreement := must(Agreement(votes, 5, 2))
	normal := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	// P[X - Y < 1] of two independent Laplace variables of scale b: 1 - e^(-1/b)(2 + 1/b)/4.
	laplace := func(b float64) float64 { return 1 - math.Exp(-1/b)*(2+1/b)/4 }
	for name, c := range map[string]struct {
		draw func(src *random.Source) int
		zero float64
	}{
		"Gaussian": {must(GaussianMax(votes, 3)).draw, normal(1 / (3 * math.Sqrt2))},
		"Laplace":  {must(LaplaceMax(votes, 3)).draw, laplace(3)},
		"agreement": {func(src *random.Source) int {
			if agreement.draw(src) {
				return 1
			}
			return 0
		}, normal(0.5)},
	} {
		if p := lawPValue(n, c.draw, []float64{c.zero, 1 - c.zero}); p < 1e-6 {
			t.Errorf("%s: p-value %v", name, p)
		}
		if p := lawPValue(n, c.draw, []float64{c.zero + 0.01, 1 - c.zero - 0.01}); p > 1e-6 {
			t.Errorf("%s: p-value %v for a chance that is 0.01 off", name, p)
		}
	}
}
