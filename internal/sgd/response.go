package sgd

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"dpsgd/accountant"
	"dpsgd/internal/noise"
	"dpsgd/internal/random"
)

// The least and the largest ε of a label: below, the integers that answers are drawn with would not
// be fine enough for their ratio to stay within e^ε; beyond, the chance of an untrue answer is
// below the 2^-63 that answers are drawn with.
const (
	minEpsilon = 1e-9
	maxEpsilon = 30
)

// LabelsTold returns the event of the ε-private answers for all labels of a data set, one for each
// label.
func LabelsTold(epsilon float64) accountant.Event { return accountant.ApproxDP{Epsilon: epsilon} }

// Response draws ε-private answers for labels of a given number of classes, by randomised response.
type Response struct {
	classes int
	epsilon float64
}

// NewResponse returns the response for at least 2 classes and an ε in [minEpsilon, maxEpsilon], and
// refuses anything else.
func NewResponse(classes int, epsilon float64) (Response, error) {
	if classes < 2 {
		return Response{}, fmt.Errorf("found %d classes to answer with, expected at least 2", classes)
	}
	if !(epsilon >= minEpsilon && epsilon <= maxEpsilon) {
		return Response{}, fmt.Errorf("epsilon is %g, expected a number from %g to %d", epsilon, minEpsilon, maxEpsilon)
	}
	return Response{classes, epsilon}, nil
}

// untrue returns the probability, in units of 2^-63, of each untrue answer among k candidates that
// hold the label: 1/(e^ε+k-1), rounded up. The true answer has what is left, so that the ratio of
// the two never passes e^ε:
//
//	(2^63 - (k-1)·u)/u ≤ e^ε  for every u ≥ 2^63/(e^ε+k-1)
func (r Response) untrue(k int) uint64 {
	u := math.Ceil(0x1p63 / (math.Exp(r.epsilon) + float64(k-1)) * (1 + 0x1p-48)) // above what rounding lost
	return min(uint64(u), 1<<63/uint64(k))                                        // never likelier than the true answer
}

// Among tells a label by randomised response on the candidates, distinct classes that do not depend
// on it: the label with chance e^ε/(e^ε+k-1) if it is one of the k, another one with 1/(e^ε+k-1)
// each; and one of them at random, all alike, if it is not (RRTop-k, Algorithm 1).
//
// The chance of any answer is at most e^ε times that under another label: e^ε to 1 between
// candidates, and between a candidate and a class that is none, 1/k lies between 1/(e^ε+k-1) and
// e^ε/(e^ε+k-1), which are a factor e^ε apart.
func (r Response) Among(candidates []int, label int, src *random.Source) int {
	k := len(candidates)
	at := slices.Index(candidates, label)
	if at < 0 {
		return candidates[noise.Below(uint64(k), src)]
	}
	word, u := src.Uint64()>>1, r.untrue(k)
	if other := word / u; other < uint64(k-1) {
		return candidates[(at+1+int(other))%k]
	}
	return label
}

// Uniform returns the candidates of an example about which nothing is known: all classes.
func (r Response) Uniform() []int {
	all := make([]int, r.classes)
	for i := range all {
		all[i] = i
	}
	return all
}

// Likely returns the candidates of an example whose label has the given chances, one for each
// class, by what is public: the k most likely classes, where k is such that the true label is told
// most often (RRWithPrior, Algorithm 2). Chances that are not finite count as 0.
func (r Response) Likely(chances []float64) []int {
	order := r.Uniform()
	chance := func(class int) float64 {
		if p := chances[class]; p > 0 && !math.IsInf(p, 1) {
			return p
		}
		return 0
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(chance(b), chance(a)) })
	best, most, sum := 1, -1.0, 0.0
	for k := 1; k <= r.classes; k++ {
		sum += chance(order[k-1])
		if told := sum / (1 + float64(k-1)*math.Exp(-r.epsilon)); told > most {
			best, most = k, told
		}
	}
	return order[:best]
}

// OfLabels turns the chances of the answers about an example, told among all classes, into those of
// its label, in place: an answer y has the chance u + (t-u)·P(label = y), where t is that of a true
// answer and u that of each untrue one.
func (r Response) OfLabels(chances []float64) {
	t := r.Truth(r.classes)
	u := (1 - t) / float64(r.classes-1)
	sum := 0.0
	for i, p := range chances {
		chances[i] = max(0, (p-u)/(t-u))
		sum += chances[i]
	}
	for i := range chances {
		if chances[i] /= sum; !(sum > 0) {
			chances[i] = 1 / float64(r.classes) // nothing is known, as of a model that diverged
		}
	}
}

// Truth returns the probability that an answer among k candidates, one the label, is true.
func (r Response) Truth(k int) float64 { return 1 / (1 + float64(k-1)*math.Exp(-r.epsilon)) }
