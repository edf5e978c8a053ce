package theorems

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// bigResponse returns p and q of randomized response.
func bigResponse(truth float64, buckets int) (p, q *big.Float) {
	p = bf(truth)
	return p, div(sub(bf(1), p), bf(float64(buckets-1)))
}

// randomResponse draws from all probabilities, often near those without information, 1/k,
// near 1 and near 0.
func randomResponse(rng *rand.Rand) (truth float64, buckets int) {
	buckets = 2 + int(logUniform(rng, 1, 1e9)) - 1
	switch rng.IntN(4) {
	case 0:
		return 1 / float64(buckets) * (1 + logUniform(rng, 1e-15, 1)), buckets
	case 1:
		return 1 - logUniform(rng, 0x1p-53, 0.5), buckets
	case 2:
		return logUniform(rng, 1e-300, 0.5), buckets
	}
	return rng.Float64(), buckets
}

// The divergence is the logarithm of p^α q^(1-α) + q^α p^(1-α) + (k-2) q over α-1 (Proposition 5 of
// Mironov 2017 for k = 2), which 400 bits compute as it stands.
func TestResponseRenyi(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for range 1000 {
		truth, buckets := randomResponse(rng)
		alpha := 1 + logUniform(rng, 1e-9, 1e5)
		p, q := bigResponse(truth, buckets)
		loss := bigLog(div(p, q))
		up := bigExp(mul(bf(alpha-1), loss)) // (p/q)^(α-1)
		moment := add(add(mul(p, up), div(q, up)), mul(bf(float64(buckets-2)), q))
		want := div(bigLog(moment), bf(alpha-1))
		likeliest := p
		if loss.Sign() < 0 {
			likeliest, loss = q, loss.Neg(loss)
		}
		l, _ := loss.Float64()
		chance, _ := likeliest.Float64()
		if e := relativeTo(ResponseRenyi(l, chance, alpha), want); math.Abs(e) > 1e-14 {
			t.Errorf("p=%v k=%d α=%v: off by %.1e", truth, buckets, alpha, e)
		}
	}
}
