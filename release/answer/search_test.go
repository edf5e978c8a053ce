package answer

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"dpsgd/accountant"
	"dpsgd/internal/noise"
	"dpsgd/internal/random"
)

// sums returns the sums that a search is asked about: zeros of 0, then others of most. flipped
// exchanges the two values.
func sums(flipped bool, most int64, zeros, others int) []*Sums {
	var all []*Sums
	for i := range zeros + others {
		var records []int64
		if i < zeros == flipped {
			records = []int64{most}
		}
		all = append(all, must(NewTotal(records, -most, most)))
	}
	return all
}

// searched is a question for all that a search says about sums of up to 2, in binary digits.
func searched(with bool, found, zeros int, search Question[*Search]) Question[int] {
	asked := sums(with, 2, zeros, found)
	return Question[int]{search.Event(), func(src *random.Source) int {
		s, number := search.draw(src), 1
		for _, sum := range asked {
			above, err := s.Above(sum)
			if err != nil {
				break
			}
			number *= 2
			if above {
				number++
			}
		}
		return number
	}}
}

// variant is a search by one of the algorithms in Figure 1 of Lyu, Su, Li 2017
// (arXiv:1603.01699v4), for sums to which a record contributes at most 1.
type variant struct {
	threshold, sums float64 // scales of noise; 0 is none
	found           int     // after which it ends; 0 is never
	values          bool    // whether it tells the noisy sum that it has found
}

func (v variant) drawn(flipped bool, zeros, ones int) drawn {
	noise := func(scale float64, src *random.Source) int64 {
		if scale == 0 {
			return 0
		}
		return noise.Laplace(must(noise.RatioUp(scale, noise.MaxScale)), src)
	}
	asked := sums(flipped, 1, zeros, ones)
	return drawn{draw: func(src *random.Source) int {
		threshold, left, number := noise(v.threshold, src), v.found, 1
		for _, sum := range asked {
			number *= 2
			noisy := sum.values[0] + noise(v.sums, src)
			if noisy < threshold {
				continue
			}
			number++
			if v.values {
				number = number*100 + clipped(noisy) + 40
			}
			if left--; left == 0 {
				break
			}
		}
		return number
	}}
}

// The variants of the sparse vector technique that papers got wrong do not keep their promise, and
// Algorithm 1 does, on the same sums.
func TestWrongSearchesAreRefuted(t *testing.T) {
	const epsilon = 2.0
	for name, c := range map[string]struct {
		variant
		zeros, ones int
	}{
		// ε₁ = ε/2, and for the sums 2c/ε₂; shares are another choice than that of the package
		"Algorithm 1": {variant{threshold: 2 / epsilon, sums: 4 * 2 / epsilon, found: 2}, 4, 2},
		// Roth's lecture notes: the noise of a sum that was found is told, and with it where the
		// threshold is
		"Algorithm 3": {variant{threshold: 2 / epsilon, sums: 2 / epsilon, found: 1, values: true}, 6, 1},
		// Lee, Clifton: the noise of sums does not grow with their number
		"Algorithm 4": {variant{threshold: 4 / epsilon, sums: 4 / (3 * epsilon), found: 3}, 3, 3},
		// Stoddard et al.: sums have no noise, and there is no end
		"Algorithm 5": {variant{threshold: 2 / epsilon}, 1, 1},
		// Chen et al.: there is no end
		"Algorithm 6": {variant{threshold: 2 / epsilon, sums: 2 / epsilon}, 4, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claimed := claims(t, accountant.AddOrRemoveDP{Epsilon: epsilon})
			text := refuted(draws(t), claimed, c.drawn(false, c.zeros, c.ones), c.drawn(true, c.zeros, c.ones))
			if (text == "") != (name == "Algorithm 1") {
				t.Errorf("refuted: %q", text)
			}
		})
	}
}

// A search finds what it was paid for, and then nothing more; sums of another bound are refused and
// cost nothing.
func TestSearchEnds(t *testing.T) {
	q := must(AboveThreshold(1000, 5, 3, 1))
	s, spread := q.draw(random.ForTest(1)), 0.0
	low, high := must(NewTotal(nil, 0, 5)), must(NewTotal(make([]int64, 2000), 5, 5))
	for range 3 {
		for range 100 {
			if above, err := s.Above(low); err != nil || above {
				t.Fatalf("0 of 1000: %v, %v", above, err)
			}
		}
		for _, wrong := range []*Sums{must(NewTotal(nil, 0, 6)), must(NewCounts(nil, 2))} {
			if above, err := s.Above(wrong); err == nil || above || errors.Is(err, ErrSearchOver) {
				t.Fatalf("%v: %v, %v", wrong, above, err)
			}
		}
		if above, err := s.Above(high); err != nil || !above {
			t.Fatalf("10000 of 1000: %v, %v", above, err)
		}
	}
	if above, err := s.Above(high); !errors.Is(err, ErrSearchOver) || above {
		t.Errorf("after three were found: %v, %v", above, err)
	}
	if above, err := new(Search).Above(high); err == nil || above {
		t.Errorf("a search that nobody paid for: %v, %v", above, err)
	}
	for i := range uint64(400) { // scale 5·(1+36^⅓), or 21.5: 7 deviations of the mean
		spread += math.Abs(float64(q.draw(random.ForTest(i)).threshold-1000)) / 400
	}
	if !(math.Abs(spread-21.5) < 7.6) {
		t.Errorf("the noise of thresholds is %v on average, expected about 21.5", spread)
	}
	fresh := q.draw(random.ForTest(2))
	copied := reflect.New(reflect.TypeFor[Search]())
	copied.Elem().Set(reflect.ValueOf(fresh).Elem())
	if above, err := copied.Interface().(*Search).Above(high); err == nil || above {
		t.Errorf("a copy of a search: %v, %v", above, err)
	}
}
