package theorems

import (
	"fmt"
	"math"
	"testing"
)

// slowShuffle is the δ at epsilon of the shuffled answers themselves: of k-ary randomized response
// about these other truths and one that is 0 or 1, by the law of the number of answers in each
// bucket.
func slowShuffle(local float64, buckets int, others []int, epsilon float64) float64 {
	q := 1 / (math.Exp(local) + float64(buckets-1))
	law := func(truths []int) map[string]float64 {
		laws := map[string]float64{fmt.Sprint(make([]int, buckets)): 1}
		counts := map[string][]int{fmt.Sprint(make([]int, buckets)): make([]int, buckets)}
		for _, truth := range truths {
			nextLaws, nextCounts := map[string]float64{}, map[string][]int{}
			for key, p := range laws {
				for b := range buckets {
					c := append([]int(nil), counts[key]...)
					c[b]++
					next := fmt.Sprint(c)
					chance := q
					if b == truth {
						chance = q * math.Exp(local)
					}
					nextLaws[next] += p * chance
					nextCounts[next] = c
				}
			}
			laws, counts = nextLaws, nextCounts
		}
		return laws
	}
	p, other := law(append([]int{0}, others...)), law(append([]int{1}, others...))
	delta := 0.0
	for key, x := range p {
		delta += math.Max(0, x-math.Exp(epsilon)*other[key])
	}
	return delta
}

// slowResponse is the δ of the pair in the derivation of ShuffleResponse by its definition.
func slowResponse(local float64, buckets, n int, epsilon float64) float64 {
	q := 1 / (math.Exp(local) + float64(buckets-1))
	choose := func(n, k int) float64 {
		x := 1.0
		for i := range k {
			x *= float64(n-i) / float64(i+1)
		}
		return x
	}
	k := float64(buckets)
	delta := 0.0
	for m := range n { // uniform answers of the others, of which so many are 0 and 1
		chance := choose(n-1, m) * math.Pow(k*q, float64(m)) * math.Pow(math.Max(0, 1-k*q), float64(n-1-m))
		f := func(a, b int) float64 {
			if a < 0 || b < 0 || a+b > m {
				return 0
			}
			return choose(m, a+b) * choose(a+b, a) * math.Pow(1/k, float64(a+b)) * math.Pow(1-2/k, float64(m-a-b))
		}
		for a := range m + 2 {
			for b := range m + 2 - a {
				likely, unlikely, none := q*math.Exp(local), q, (k-2)*q
				p := likely*f(a-1, b) + unlikely*f(a, b-1) + none*f(a, b)
				other := unlikely*f(a-1, b) + likely*f(a, b-1) + none*f(a, b)
				delta += chance * math.Max(0, p-math.Exp(epsilon)*other)
			}
		}
	}
	return delta
}

func TestShuffleResponseIsItsPair(t *testing.T) {
	for _, local := range []float64{0.3, 1, 4} {
		for _, buckets := range []int{2, 3, 10, 1000} {
			for _, n := range []int{1, 2, 7, 40} {
				for _, part := range []float64{0, 0.1, 0.5, 0.9} {
					want := slowResponse(local, buckets, n, part*local)
					got, err := ShuffleResponseDelta(local, buckets, n, part*local)
					if err != nil || !(got >= want*(1-1e-13)-1e-16 && got <= want*(1+1e-8)+1e-16) {
						t.Errorf("l=%v, k=%d, n=%d: δ(%v) = %v, %v, want %v", local, buckets, n, part*local, got, err, want)
					}
				}
			}
		}
	}
}

// The truth is below the bound, whatever the others answer, and not far.
func TestShuffleResponseBoundsTheShuffle(t *testing.T) {
	for _, c := range []struct {
		local   float64
		buckets int
		others  []int
	}{
		{1, 2, []int{0, 0, 0, 0, 0, 0, 0}}, {1, 2, []int{0, 1, 0, 1, 0, 1}}, {2, 3, []int{2, 2, 2, 2, 2, 2}}, {2, 3, []int{0, 1, 2, 0, 1, 2}},
		{0.5, 4, []int{3, 3, 3, 3, 3}}, {1.5, 4, []int{0, 1, 2, 3, 2}}, {3, 3, []int{2, 2, 2, 2, 2, 2, 2, 2}},
	} {
		for _, part := range []float64{0, 0.2, 0.6} {
			epsilon := part * c.local
			truth := slowShuffle(c.local, c.buckets, c.others, epsilon)
			bound, err := ShuffleResponseDelta(c.local, c.buckets, len(c.others)+1, epsilon)
			general, _ := ShuffleDelta(c.local, len(c.others)+1, epsilon)
			if err != nil || !(truth <= bound*(1+1e-12)) || !(bound <= general*(1+1e-9)) {
				t.Errorf("%+v: δ(%v) = %v, bound %v, %v, of all randomizers %v", c, epsilon, truth, bound, err, general)
			}
		}
	}
}

func TestShuffleResponseProperties(t *testing.T) {
	for _, local := range []float64{0.1, 1, 3} {
		for _, buckets := range []int{2, 5, 100} {
			for _, n := range []int{100, 30_000} {
				const delta = 1e-6
				answer := func(local float64, n int, delta float64) float64 {
					e, err := ShuffleResponse(local, buckets, n, delta)
					if err != nil {
						t.Fatal(err)
					}
					return e
				}
				got := answer(local, n, delta)
				general, err := Shuffle(local, n, delta)
				if err != nil || got > general*(1+1e-9) {
					t.Errorf("l=%v, k=%d, n=%d: epsilon %v, of all randomizers %v, %v", local, buckets, n, got, general, err)
				}
				for name, other := range map[string]float64{
					"more reports":            answer(local, n+n/10, delta),
					"a smaller local epsilon": answer(local*0.95, n, delta),
					"a larger delta":          answer(local, n, delta*2),
				} {
					if other > got*(1+1e-9) {
						t.Errorf("l=%v, k=%d, n=%d: epsilon %v, but %v with %s", local, buckets, n, got, other, name)
					}
				}
				if back, err := ShuffleResponseDelta(local, buckets, n, got*(1+1e-7)); err != nil || back > delta {
					t.Errorf("l=%v, k=%d, n=%d: delta %v at %v, %v, want at most %v", local, buckets, n, back, got, err, delta)
				}
			}
		}
	}
	if _, err := ShuffleResponse(1, 1, 100, 1e-6); err == nil {
		t.Error("one bucket was accepted")
	}
}
