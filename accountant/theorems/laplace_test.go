package theorems

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dpsgd/accountant/internal/numeric"
)

func TestLaplaceScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 2000 {
		epsilon := logUniform(rng, 1e-300, 1e300)
		scale, err := LaplaceScale(epsilon)
		if err != nil || mul(bf(scale), bf(epsilon)).Cmp(bf(1)) < 0 {
			t.Fatalf("ε=%v: b = %v, %v, below 1/ε", epsilon, scale, err)
		}
		if less := math.Nextafter(scale, 0); mul(bf(less), bf(epsilon)).Cmp(bf(1)) >= 0 {
			t.Errorf("ε=%v: b = %v, but %v is private", epsilon, scale, less)
		}
	}
}

func bigLaplaceRenyi(scale, alpha float64) *big.Float {
	b, a, one := bf(scale), bf(alpha), bf(1)
	a1 := sub(a, one)
	n := sub(mul(bf(2), a), one)
	first := mul(div(a, n), bigExp(div(a1, b)))
	second := mul(div(a1, n), bigExp(bf(0).Neg(div(a, b))))
	return div(bigLog(add(first, second)), a1)
}

func TestLaplaceRenyi(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 1500 {
		scale := logUniform(rng, 1e-3, 1e12)
		alpha := 1 + logUniform(rng, 1e-12, 1e6)
		got := LaplaceRenyi(scale, alpha)
		if got > numeric.QuotientUp(1, scale) {
			t.Fatal(scale, alpha, got)
		}
		if got < numeric.QuotientUp(1, scale) {
			mustBeJustAbove(t, got, bigLaplaceRenyi(scale, alpha), 1e-14, "b=%v α=%v", scale, alpha)
		}
	}
}

// No NaN, nothing negative, monotone in the order, at the ends of the range.
func TestLaplaceExtremes(t *testing.T) {
	for _, scale := range []float64{tinyFloat, 1e-308, 1e-200, 1e-3, 1, 1e10, 1e155, 1e300, math.MaxFloat64} {
		previous := 0.0
		for _, alpha := range []float64{math.Nextafter(1, 2), 1 + 1e-9, 1.5, 64, 1e9, 1e155, 1e300, math.MaxFloat64, math.Inf(1)} {
			d := LaplaceRenyi(scale, alpha)
			if !(d > 0 && d >= previous*(1-1e-14)) {
				t.Errorf("b=%v α=%v: %v, after %v at a lower order", scale, alpha, d, previous)
			}
			previous = d
		}
	}
}

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
		if e := relativeTo(ResponseRenyi(l, chance, alpha), want); !(math.Abs(e) <= 1e-14) {
			t.Errorf("p=%v k=%d α=%v: off by %.1e", truth, buckets, alpha, e)
		}
	}
}
