package answer

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mathext"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/internal/random"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

// How the tests of privacy work: answers are drawn for two neighbouring data sets. From the first
// half of them the outcomes are chosen that are more than e^ε as likely for one as for the other;
// from the second half, bounds for the chance of these outcomes together follow, by Clopper and
// Pearson. Where the lower bound for one data set is above e^ε times the upper bound for the other,
// plus the δ that the accountant "exact" (or "rdp", where that has no answer) states at ε for the
// event of the question, the claim is refuted.
//
// Each bound fails with a chance of 1e-9, and each mechanism has at most 50 of them, so that all
// tests here together reject a right mechanism with a chance below 1e-5. The sources are seeded: a
// test that passes today passes tomorrow. What they can see is shown by the same mechanisms at half
// of their noise, held to the claim for the whole of it, which are all refuted.
const confidence = 1e-9

// draws is the number of answers for each data set; the environment variable DPSGD_DRAWS sets
// another one.
func draws(t *testing.T) int { return slow.Number(t, "DPSGD_DRAWS", 150_000, 1_000_000) }

// drawn is a mechanism on one data set: an event, and answers as numbers of outcomes.
type drawn struct {
	event accountant.Event
	draw  func(src *random.Source) int
}

// outcomes of a question, numbered.
func outcomes[A any](number func(A) int) func(q Question[A], err error) drawn {
	return func(q Question[A], err error) drawn {
		if err != nil {
			panic(err)
		}
		return drawn{q.Event(), func(src *random.Source) int { return number(q.draw(src)) }}
	}
}

// noisier returns what a mechanism answers about data with one record more or without it, where its
// noise is the given factor times so much noise.
func noisier[A, On any](number func(A) int, ask func(On, float64) (Question[A], error), on func(with bool) On, factor float64) func(with bool, noise float64) drawn {
	return func(with bool, noise float64) drawn { return outcomes(number)(ask(on(with), factor*noise)) }
}

// blunter is noisier for choices, which are given their ε.
func blunter(ask func(*Scores, float64) (Question[int], error), on func(with bool) *Scores, epsilon float64) func(with bool, noise float64) drawn {
	return func(with bool, noise float64) drawn {
		return outcomes(func(i int) int { return i })(ask(on(with), epsilon/noise))
	}
}

// histogram counts the outcomes of two halves of n draws.
func (d drawn) histogram(n int, src *random.Source) (halves [2]map[int]int) {
	for i := range halves {
		halves[i] = map[int]int{}
		for range n / 2 {
			halves[i][d.draw(src)]++
		}
	}
	return halves
}

// chance returns bounds of a chance that came true count times of n (Clopper, Pearson 1934).
func chance(count, n int) (lower, upper float64) { return lowest(count, n), 1 - lowest(n-count, n) }

// lowest is the chance for which so many of n or more have the probability confidence, by halving:
// mathext.InvRegIncBeta is wrong for some small counts.
func lowest(count, n int) float64 {
	if count == 0 {
		return 0
	}
	low, high := 0.0, 1.0
	for range 60 {
		if middle := (low + high) / 2; mathext.RegIncBeta(float64(count), float64(n-count+1), middle) < confidence {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// claim is δ at a few ε.
type claim struct{ epsilon, delta float64 }

// claims are what an accountant says of an event.
func claims(t *testing.T, e accountant.Event) []claim {
	t.Helper()
	l := new(accountant.Ledger)
	tiny.Check(t, l.Add(e, 1))
	var answers []claim
	for _, name := range []string{"exact", "rdp"} {
		a := tiny.Must(accountants.New(name, accountant.AddOrRemoveOne))(t)
		most, err := a.Guarantee(l, 0.011) // above that of the event of the median
		if err != nil {
			continue
		}
		for _, part := range []float64{0, 0.25, 0.5, 0.75, 1, 1.0021} {
			g := tiny.Must(a.Delta(l, part*most.Epsilon))(t)
			answers = append(answers, claim{part * most.Epsilon, g.Delta})
		}
		break
	}
	if len(answers) == 0 {
		t.Fatalf("no accountant knows %v", e)
	}
	return answers
}

// refuted returns which claim is refuted by n draws for each of two neighbours, "" if none is.
func refuted(n int, claims []claim, one, other drawn) string {
	src := random.ForTest(uint64(n))
	p, q := one.histogram(n, src), other.histogram(n, src)
	for _, c := range claims {
		for _, pair := range [][2][2]map[int]int{{p, q}, {q, p}} {
			chosen, ofOne, ofOther := 0, 0, 0
			for outcome, count := range pair[0][0] {
				if float64(count) > math.Exp(c.epsilon)*float64(pair[1][0][outcome]) {
					chosen++
					ofOne += pair[0][1][outcome]
					ofOther += pair[1][1][outcome]
				}
			}
			lower, _ := chance(ofOne, n/2)
			_, upper := chance(ofOther, n/2)
			if lower > math.Exp(c.epsilon)*upper+c.delta {
				return fmt.Sprintf("%d outcomes have chances ≥ %.4g and ≤ %.4g, and (%.4g, %.3g) is claimed", chosen, lower, upper, c.epsilon, c.delta)
			}
		}
	}
	return ""
}

// vectors are contributions of records.
func vectors(records ...[]int64) iter.Seq[[]int64] { return slices.Values(records) }

func must[A any](a A, err error) A {
	if err != nil {
		panic(err)
	}
	return a
}

// clipped numbers integers by their values, the far ones together.
func clipped(x int64) int { return int(max(-40, min(40, x))) }

func clippedTwo(x []int64) int { return clipped(x[0])*100 + clipped(x[1]) }

// Every mechanism keeps what its event promises, on the neighbours that are the hardest for it, and
// does not at half of its noise.
func TestMechanismsArePrivate(t *testing.T) {
	first := func(x []int64) int { return clipped(x[0]) }
	index := func(i int) int { return i }
	none := func(with bool, record int64) []int64 {
		if with {
			return []int64{record}
		}
		return nil
	}
	two := func(with bool) *Sums { // one record more, of L1 norm 3
		records := [][]int64{{1, -1}}
		if with {
			records = append(records, []int64{2, 1})
		}
		return must(NewSums(vectors(records...), 2, L1(3)))
	}
	total := func(with bool) *Sums { return must(NewTotal(none(with, 9), 0, 2)) } // 9 counts as 2
	counts := func(with bool, buckets ...int) *Sums {
		if with {
			buckets = append(buckets, 0)
		}
		return must(NewCounts(buckets, 2))
	}
	votes := func(moved bool) *Votes {
		all := []int{0, 0, 0, 1, 1}
		if moved {
			all[0] = 1
		}
		return must(NewVotes(all, 2))
	}
	scores := func(with bool) *Scores { return counts(with).Scores() }
	against := func(with bool) *Scores { return counts(with, 1, 1, 1).Scores() }
	ranks := func(with bool) *Scores {
		return must(NewRanks(append(none(with, -5), 5, 5), []int64{0, 10}, 1, 2))
	}
	long := func(with bool) *Sums { // one record more, of L2 norm 5
		var records [][]int64
		if with {
			records = append(records, []int64{3, 4})
		}
		return must(NewSums(vectors(records...), 2, L2(5)))
	}
	along := func(x []int64) int { return clipped((3*x[0] + 4*x[1]) / 8) } // of that record
	for name, ask := range map[string]func(with bool, noise float64) drawn{
		"discrete Laplace":             noisier(first, DiscreteLaplace, total, 1.5),
		"discrete Laplace on two sums": noisier(clippedTwo, DiscreteLaplace, two, 1),
		"rounded Laplace":              noisier(first, Laplace, total, 1.5),
		"discrete Gaussian":            noisier(first, DiscreteGaussian, total, 1),
		"discrete Gaussian on votes":   noisier(clippedTwo, DiscreteGaussian, func(with bool) *Sums { return votes(with).Sums() }, 1),
		"Gaussian":                     noisier(first, Gaussian, total, 1),
		"Gaussian on two sums":         noisier(along, Gaussian, long, 1),
		"exponential":                  blunter(Exponential, scores, 1.5),
		"exponential on ranks":         blunter(Exponential, ranks, 1.5),
		"permute and flip":             blunter(PermuteAndFlip, scores, 1),
		"noisy maximum":                blunter(NoisyMax, against, 1),
		"Gaussian maximum of votes":    noisier(index, GaussianMax, votes, 2),
		"Laplace maximum of votes":     noisier(index, LaplaceMax, votes, 2),
		"agreement": func(with bool, noise float64) drawn {
			all := []int{0, 0, 1}
			if with {
				all[2] = 0
			}
			return outcomes(func(yes bool) int { return map[bool]int{true: 1}[yes] })(Agreement(must(NewVotes(all, 2)), 3, noise))
		},
		"median": func(with bool, noise float64) drawn {
			values := []int64{50, 50, 50, 50, 52, 52, 52, 52}
			if with { // both the median and its distance to instability move
				values = append(values, 52)
			}
			number := func(a Tested) int {
				if !a.Passed {
					return 1000
				}
				return clipped(a.Value - 50)
			}
			// The threshold is the same for any noise.
			return outcomes(number)(Median(values, 0, 100, 2, 2/noise, math.Pow(0.01, 1/noise)))
		},
		"above threshold": func(with bool, noise float64) drawn {
			return outcomes(index)(searched(with, 2, 3, must(AboveThreshold(0, 2, 2, 2/noise))), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			without, with := ask(false, 1), ask(true, 1)
			if without.event != with.event {
				t.Fatalf("the events %v and %v of neighbours differ", without.event, with.event)
			}
			claimed := claims(t, with.event)
			if text := refuted(draws(t), claimed, without, with); text != "" {
				t.Errorf("%v: %s", with.event, text)
			}
			text := ""
			for n := 40_000; text == "" && n <= 200_000; n *= 5 {
				text = refuted(n, claimed, ask(false, 0.5), ask(true, 0.5))
			}
			if text == "" {
				t.Errorf("%v: half of the noise passes", with.event)
			}
		})
	}
}
