package theorems

import (
	"math"
	"sort"

	"dpsgd/accountant/internal/numeric"
)

// optimal returns the smallest epsilon for which every sequence of g.count mechanisms, each (ε,
// 0)-private for ε = g.epsilon and chosen adaptively, is (epsilon, delta)-private: the optimal
// composition theorem, which no other theorem on guarantees alone can improve.
//
// The theorem (3.3 in Kairouz, Oh, Viswanath 2015, arXiv:1311.0776) reduces the question to k
// randomized responses: with p = e^ε/(1+e^ε) and J ~ Bin(k, p), the total loss is (2J-k)ε, and
//
//	delta(e) = E[max(0, 1 - exp(e - (2J-k)ε))].
//
// The paper states it at e = (k-2i)ε; here it is solved for e in between, where it
// is as true (see Theorem 1.5 of Murtagh, Vadhan 2016). The relative error of the
// delta that is reached is at most 2e-12 + 1e-14·√k, on the private side.
func (g group) optimal(delta float64) float64 {
	k := g.count
	if k > maxCount {
		return math.Inf(1)
	}
	r := responses{g.epsilon, newResponses(g.epsilon, k)}
	logDelta := numeric.Log(delta) + math.Log1p(-2*r.count.RelativeError())
	// The smallest j whose loss, taken as epsilon, costs at most delta; the answer
	// lies between its loss and that of j-1.
	first := (k + 1) / 2
	j := first + sort.Search(k-first, func(i int) bool { return r.logExcess(first+i) <= logDelta })
	// A distance s below the loss of j, delta has risen from the excess of j.
	room := math.Exp(logDelta-r.logDiscounted(j)) * -math.Expm1(r.logExcess(j)-logDelta)
	s := 0.0
	if room > 0 { // else rounding has eaten it
		s = math.Min(2*g.epsilon, -math.Log1p(-math.Min(1, room)))
	}
	epsilon := math.FMA(float64(2*j-k), g.epsilon, -s)
	return math.Min(numeric.MulUp(float64(k), g.epsilon), math.Max(0, numeric.Up(epsilon+4*numeric.Ulp*s, 4)))
}

// maxCount bounds the numbers of mechanisms, records, passes and reports: far above any use,
// and so low that each number and twice it are exact in float64.
const maxCount = 1 << 40

// responses is k-fold randomized response at epsilon: count is the law of the number of
// answers that are true. With j of them true the loss is lossⱼ = (2j-k)·epsilon.
type responses struct {
	epsilon float64
	count   numeric.Binomial
}

func newResponses(epsilon float64, k int) numeric.Binomial {
	return numeric.Binomial{N: k, P: 1 / (1 + math.Exp(-epsilon)), Q: 1 / (1 + math.Exp(epsilon))}
}

// logExcess returns log E[max(0, 1 - exp(lossⱼ - loss))]: what the outcomes with more than j true
// answers cost if epsilon is the loss of j. It sums from the likeliest of them outwards; all terms
// are positive, and each side ends where what is left is below the rounding.
func (r responses) logExcess(j int) float64 {
	k := r.count.N
	anchor := max(j+1, r.count.Mode())
	if anchor > k {
		return math.Inf(-1)
	}
	weight := func(i int) float64 { return -math.Expm1(-2 * float64(i-j) * r.epsilon) }
	sum := r.add(weight(anchor), anchor, k, math.Exp(r.epsilon), weight)
	sum = r.add(sum, k-anchor, k-j-1, math.Exp(-r.epsilon), func(lies int) float64 { return weight(k - lies) })
	return r.count.LogMass(anchor) + numeric.Log(sum)
}

// logDiscounted returns log E[1{loss ≥ lossⱼ} exp(lossⱼ - loss)] for 2j ≥ k, the rate at which the
// cost grows as epsilon falls below the loss of j. Terms fall from the first one on.
func (r responses) logDiscounted(j int) float64 {
	sum := r.add(1, j, r.count.N, math.Exp(-r.epsilon), func(int) float64 { return 1 })
	return r.count.LogMass(j) + numeric.Log(sum)
}

// add returns sum + Σ weight(n)·Pr[n]/Pr[from] over n from from+1 to most, without a negligible
// end. Pr[n] is the chance of n answers of one kind, true or false, which has these odds.
func (r responses) add(sum float64, from, most int, odds float64, weight func(n int) float64) float64 {
	mass := 1.0
	for n := from; n < most; n++ {
		ratio := float64(r.count.N-n) / float64(n+1) * odds
		mass *= ratio
		term := mass * weight(n+1)
		sum += term
		if term < negligible*(1-ratio)*sum {
			break
		}
	}
	return sum
}

// negligible is a relative size that no sum here can tell from 0.
const negligible = 0x1p-60
