package sgd

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"dpsgd/internal/random"
	"dpsgd/internal/tiny"
)

func response(t testing.TB, classes int, epsilon float64) Response {
	t.Helper()
	return tiny.Must(NewResponse(classes, epsilon))(t)
}

// Whatever the candidates, no answer is more than e^ε times as likely under one label as under
// another. The chances are computed from the integers that the draw uses, not measured.
func TestNoAnswerTellsMoreThanEpsilon(t *testing.T) {
	for _, epsilon := range []float64{1e-9, 0.01, 0.1, 1, 3, 8, 20, maxEpsilon} {
		for classes := 2; classes <= 12; classes++ {
			r := response(t, classes, epsilon)
			for k := 1; k <= classes; k++ {
				u := float64(r.untrue(k))
				truth := 0x1p63 - float64(k-1)*u
				random := 0x1p63 / float64(k) // of each candidate where the label is none of them
				if k == 1 {
					u, truth = random, random // one answer, whatever the label
				}
				limit := math.Exp(epsilon) * (1 + 1e-12)
				for _, ratio := range []float64{truth / u, truth / random, random / u} {
					if k < classes || ratio == truth/u { // with all classes, every label is a candidate
						if ratio > limit || ratio < 1-1e-9 {
							t.Errorf("ε = %g, %d of %d candidates: a ratio of %.17g, expected 1 to e^ε = %.17g", epsilon, k, classes, ratio, math.Exp(epsilon))
						}
					}
				}
			}
		}
	}
}

// The answers have the chances of the paper. Each count of 200,000 is within 5.3 standard
// deviations: at most 60 counts, each outside with chance 1.2e-7, so it fails falsely less than
// once in 10^5.
func TestAnswersHaveTheirChances(t *testing.T) {
	const n = 200_000
	r := response(t, 6, 1.5)
	src := random.ForTest(3)
	for _, candidates := range [][]int{r.Uniform(), {4, 1, 2}, {3}} {
		k := float64(len(candidates))
		for _, label := range []int{2, 4, 5} {
			counts := make([]float64, 6)
			for range n {
				counts[r.Among(candidates, label, src)]++
			}
			for class, count := range counts {
				want := 0.0
				switch {
				case !slices.Contains(candidates, class):
				case !slices.Contains(candidates, label):
					want = 1 / k
				case class == label:
					want = math.Exp(1.5) / (math.Exp(1.5) + k - 1)
				default:
					want = 1 / (math.Exp(1.5) + k - 1)
				}
				if off := math.Abs(count - n*want); off > 5.3*math.Sqrt(n*want*(1-want)) {
					t.Errorf("candidates %v, label %d: %g of %d answers are %d, expected %.0f", candidates, label, count, n, class, n*want)
				}
			}
		}
	}
}

// The number of candidates is the one that tells the truth most often, compared with all others by
// hand: with no knowledge all classes, with certainty one.
func TestLikelyTellsTheTruthMostOften(t *testing.T) {
	r := response(t, 4, 1)
	for _, test := range []struct {
		chances []float64
		want    []int
	}{
		{[]float64{0.25, 0.25, 0.25, 0.25}, []int{0, 1, 2, 3}},
		{[]float64{0, 0, 1, 0}, []int{2}},
		{[]float64{0.1, 0.45, 0, 0.45}, []int{1, 3}},
		{[]float64{math.NaN(), math.Inf(1), 0.5, -1}, []int{2}},
	} {
		if got := r.Likely(test.chances); !slices.Equal(got, test.want) {
			t.Errorf("chances %v: candidates %v, expected %v", test.chances, got, test.want)
		}
	}
	src := random.ForTest(5)
	for range 200 {
		chances, total := make([]float64, 4), 0.0
		for i := range chances {
			chances[i] = src.Float64()
			total += chances[i]
		}
		told := func(k int) float64 {
			sorted := slices.Sorted(slices.Values(chances))
			sum := 0.0
			for _, p := range sorted[4-k:] {
				sum += p / total
			}
			return sum * r.Truth(k)
		}
		k := len(r.Likely(chances))
		for other := 1; other <= 4; other++ {
			if told(other) > told(k)+1e-12 {
				t.Errorf("chances %v: %d candidates tell the truth with %.4f, %d with %.4f", chances, k, told(k), other, told(other))
			}
		}
	}
}

// The chances of answers turn into those of the label that they are of, and where no label has such
// answers nothing is known.
func TestOfLabels(t *testing.T) {
	r := response(t, 3, 1)
	truth := r.Truth(3)
	for _, want := range [][]float64{{0.5, 0.3, 0.2}, {1, 0, 0}} {
		chances := make([]float64, 3)
		for i, p := range want {
			chances[i] = p*truth + (1-p)*(1-truth)/2
		}
		if r.OfLabels(chances); math.Abs(chances[0]-want[0])+math.Abs(chances[1]-want[1])+math.Abs(chances[2]-want[2]) > 1e-12 {
			t.Errorf("found %v, expected %v", chances, want)
		}
	}
	unknown := []float64{math.NaN(), 0, 0}
	if r.OfLabels(unknown); !slices.Equal(unknown, []float64{1. / 3, 1. / 3, 1. / 3}) {
		t.Errorf("found %v where nothing is known", unknown)
	}
}

func TestNewResponseRefuses(t *testing.T) {
	for _, test := range []struct {
		classes int
		epsilon float64
	}{{1, 1}, {2, 0}, {2, 1e-15}, {2, -1}, {2, math.NaN()}, {2, maxEpsilon + 1}} {
		if _, err := NewResponse(test.classes, test.epsilon); err == nil {
			t.Errorf("accepted %d classes and ε = %g", test.classes, test.epsilon)
		}
	}
}

// An example with a prior: three classes are likely, and the true one is told more often than among
// all ten.
func ExampleResponse_Likely() {
	r, _ := NewResponse(10, 1)
	candidates := r.Likely([]float64{0.01, 0.01, 0.4, 0.01, 0.01, 0.3, 0.01, 0.22, 0.02, 0.01})
	fmt.Println(candidates)
	fmt.Printf("told truly: %.3f among them, %.3f among all\n", r.Truth(len(candidates)), r.Truth(10))
	// Output:
	// [2 5 7]
	// told truly: 0.576 among them, 0.232 among all
}
