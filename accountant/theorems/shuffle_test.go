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
					got := shuffleResponseDelta(local, buckets, n, part*local)
					if !(got >= want*(1-1e-13)-1e-16 && got <= want*(1+1e-8)+1e-16) {
						t.Errorf("l=%v, k=%d, n=%d: δ(%v) = %v, want %v", local, buckets, n, part*local, got, want)
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
			bound, general := shuffleResponseDelta(c.local, c.buckets, len(c.others)+1, epsilon), shuffleDelta(c.local, len(c.others)+1, epsilon)
			if !(truth <= bound*(1+1e-12)) || !(bound <= general*(1+1e-9)) {
				t.Errorf("%+v: δ(%v) = %v, bound %v, of all randomizers %v", c, epsilon, truth, bound, general)
			}
		}
	}
}

// The answers fall with more reports, a smaller local ε and a larger δ. They are at most the local
// ε, and those for k-ary responses at most those for all randomizers.
func TestShuffleProperties(t *testing.T) {
	for _, local := range []float64{0.1, 1, 3} {
		for _, buckets := range []int{0, 2, 5, 100} {
			for _, n := range []int{100, 30_000} {
				const delta = 1e-6
				got := mustShuffle(t, local, buckets, n, delta)
				if general := mustShuffle(t, local, 0, n, delta); got > general*(1+1e-9) || general > local {
					t.Errorf("l=%v, k=%d, n=%d: epsilon %v, of all randomizers %v", local, buckets, n, got, general)
				}
				for name, other := range map[string]float64{
					"more reports":            mustShuffle(t, local, buckets, n+n/10, delta),
					"a smaller local epsilon": mustShuffle(t, local*0.95, buckets, n, delta),
					"a larger delta":          mustShuffle(t, local, buckets, n, delta*2),
				} {
					if other > got*(1+1e-9) {
						t.Errorf("l=%v, k=%d, n=%d: epsilon %v, but %v with %s", local, buckets, n, got, other, name)
					}
				}
				back := shuffleDelta(local, n, got*(1+1e-7))
				if buckets > 0 {
					back = shuffleResponseDelta(local, buckets, n, got*(1+1e-7))
				}
				if back > delta {
					t.Errorf("l=%v, k=%d, n=%d: delta %v at %v, want at most %v", local, buckets, n, back, got, delta)
				}
			}
		}
	}
	for _, tt := range []struct{ local, delta, want float64 }{{0, 0, 0}, {2, 1, 0}, {2, 0, 2}, {2, 1e-300, 2}} {
		for _, buckets := range []int{0, 3} {
			if got := mustShuffle(t, tt.local, buckets, 1000, tt.delta); got != tt.want {
				t.Errorf("l=%v, delta=%v: epsilon %v, want %v", tt.local, tt.delta, got, tt.want)
			}
		}
	}
}

// Shuffles of billions of reports take part of a second, and what is cut off there
// is on the private side: epsilon falls like 1/√n, or a little faster, up to the cut.
func TestShuffleHuge(t *testing.T) {
	small, large, huge := mustShuffle(t, 2, 0, 1e8, 1e-9), mustShuffle(t, 2, 0, 1e10, 1e-9), mustShuffle(t, 2, 0, 1e12, 1e-9)
	if !(large > small/12 && large < small/10) {
		t.Errorf("epsilon %v for 1e10 reports, want about an eleventh of the %v for 1e8", large, small)
	}
	if !(huge > 0 && huge < large) {
		t.Errorf("epsilon %v for 1e12 reports, want below %v", huge, large)
	}
}
