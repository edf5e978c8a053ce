package data

import (
	"math"
	"testing"
)

// A bag of words tells nothing of the class: the best linear classifier of the counts of words,
// fitted to 4,000 sentences by gradient descent, is right on others as often as a coin: 50 % ± 4
// deviations of a share of 2,000. With the order of two words it is right on nearly all of them.
func TestOrderOfWordsMatters(t *testing.T) {
	const train, test = 4000, 2000
	vocabulary := len(sentenceWords) + 1
	bag := func(tokens []int32, x []float64) {
		for _, token := range tokens {
			x[token]++
		}
	}
	pairs := func(tokens []int32, x []float64) {
		for i := range tokens[1:] {
			x[int(tokens[i])*vocabulary+int(tokens[i+1])]++
		}
	}
	for name, c := range map[string]struct {
		see    func([]int32, []float64)
		width  int
		lo, hi float64
	}{
		"words": {bag, vocabulary, 0.45, 0.55}, "pairs": {pairs, vocabulary * vocabulary, 0.9, 1},
	} {
		weights := make([]float64, c.width)
		score := func(part, i int) (x []float64, z, label float64) {
			text, class := Sentence(1, part, i)
			x = make([]float64, c.width)
			c.see(wordList(sentenceWords).Tokens(nil, text, 12), x)
			for j, v := range x {
				z += v * weights[j]
			}
			return x, z, float64(class)
		}
		for i := range train {
			x, z, label := score(0, i)
			for j, v := range x {
				weights[j] -= 0.1 * v * (1/(1+math.Exp(-z)) - label)
			}
		}
		right := 0.0
		for i := range test {
			if _, z, label := score(1, i); (z > 0) == (label == 1) {
				right++
			}
		}
		if share := right / test; share < c.lo || share > c.hi {
			t.Errorf("by %s, %.1f %% are right, expected %g to %g", name, 100*share, 100*c.lo, 100*c.hi)
		}
	}
}

// Every word has a token, no sentence is cut, both parts are drawn apart, and about half of each is
// of either class: within 6 deviations, false failure below 1e-8.
func TestSentences(t *testing.T) {
	split := must(Load(Spec{Name: "sentences", Seed: 1}))
	for part, set := range []*Texts{split.Train.(*Texts), split.Test.(*Texts)} {
		good := 0
		for i := range set.Len() {
			tokens := set.of(i)
			if len(tokens) >= 12 || len(tokens) < 7 {
				t.Fatalf("%q has %d tokens", set.Text(i), len(tokens))
			}
			for _, token := range tokens {
				if token < 1 || int(token) >= set.Shape().Vocabulary() {
					t.Fatalf("%q has the token %d", set.Text(i), token)
				}
			}
			good += set.Label(i)
			if text, label := Sentence(1, part, i); text != set.Text(i) || int(label) != set.Label(i) {
				t.Fatalf("found %q, expected %q", set.Text(i), text)
			}
		}
		n := float64(set.Len())
		if !(math.Abs(float64(good)-n/2) <= 6*math.Sqrt(n)/2) {
			t.Errorf("%d of %g are good", good, n)
		}
	}
	if split.Train.(*Texts).Text(0) == split.Test.(*Texts).Text(0) {
		t.Error("both parts begin alike")
	}
}
