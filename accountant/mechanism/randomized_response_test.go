package mechanism

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

func TestRandomizedResponseEpsilon(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for range 2000 {
		truth, buckets := randomResponse(rng)
		p, q := bigResponse(truth, buckets)
		want := bigLog(div(p, q))
		got, err := RandomizedResponseEpsilon(truth, buckets)
		if err != nil {
			t.Fatal(err)
		}
		mustBeJustAbove(t, got, want.Abs(want), 1e-14, "p=%v k=%d", truth, buckets)
	}
}

func TestRandomizedResponseRenyi(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for range 1000 {
		truth, buckets := randomResponse(rng)
		alpha := 1 + logUniform(rng, 1e-9, 1e5)
		p, q := bigResponse(truth, buckets)
		up := bigExp(mul(bf(alpha-1), bigLog(div(p, q)))) // (p/q)^(α-1)
		moment := add(add(mul(p, up), div(q, up)), mul(bf(float64(buckets-2)), q))
		want := div(bigLog(moment), bf(alpha-1))
		got, err := RandomizedResponseRenyi(truth, buckets, alpha)
		if err != nil {
			t.Fatal(err)
		}
		pure, _ := RandomizedResponseEpsilon(truth, buckets)
		if got > pure {
			t.Errorf("p=%v k=%d α=%v: %v is above the pure ε %v", truth, buckets, alpha, got, pure)
		}
		mustBeJustAbove(t, got, want, 2e-14, "p=%v k=%d α=%v", truth, buckets, alpha)
	}
}

func TestRandomizedResponseTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 3))
	for range 2000 {
		epsilon, buckets := logUniform(rng, 1e-14, 30), 2+int(logUniform(rng, 1, 1e12))-1
		truth, err := RandomizedResponseTruth(epsilon, buckets)
		if err != nil {
			t.Fatal(epsilon, buckets, err)
		}
		if got, err := RandomizedResponseEpsilon(truth, buckets); err != nil || got > epsilon {
			t.Errorf("ε=%v k=%d: p = %v has ε = %v, %v", epsilon, buckets, truth, got, err)
		}
		e := bigExp(bf(epsilon))
		want := div(e, add(e, bf(float64(buckets-1))))
		if r := relativeTo(truth, want); !(r <= 0 && r > -1e-13) {
			t.Errorf("ε=%v k=%d: p = %v, want %.17g or up to 1e-13 less", epsilon, buckets, truth, want)
		}
	}
}

func TestRandomizedResponseEdges(t *testing.T) {
	for _, tt := range []struct {
		truth   float64
		buckets int
		want    float64
	}{
		{1, 2, math.Inf(1)}, {1, 10, math.Inf(1)}, {0, 2, math.Inf(1)}, {0, 10, math.Inf(1)},
		{0.5, 2, 0}, {0.25, 4, 0}, {0x1p-53, maxBuckets, 0},
	} {
		got, err := RandomizedResponseEpsilon(tt.truth, tt.buckets)
		if err != nil || got != tt.want {
			t.Errorf("p=%v k=%d: ε = %v, %v, want %v", tt.truth, tt.buckets, got, err, tt.want)
		}
		got, err = RandomizedResponseRenyi(tt.truth, tt.buckets, 2)
		if err != nil || got != tt.want {
			t.Errorf("p=%v k=%d: D_2 = %v, %v, want %v", tt.truth, tt.buckets, got, err, tt.want)
		}
	}
	for _, buckets := range []int{2, 3, 1000, maxBuckets} {
		for _, epsilon := range []float64{1e-15, 1e-3, 20, 40, 100, 800, 1e300} {
			truth, err := RandomizedResponseTruth(epsilon, buckets)
			if got, _ := RandomizedResponseEpsilon(truth, buckets); err != nil || !(truth < 1 && got <= epsilon) {
				t.Errorf("ε=%v k=%d: p = %v, %v, which has ε = %v", epsilon, buckets, truth, err, got)
			}
		}
		for _, alpha := range []float64{math.Nextafter(1, 2), 1e10, math.MaxFloat64, math.Inf(1)} {
			for _, truth := range []float64{tinyFloat, 1e-300, 0.3, math.Nextafter(1, 0)} {
				d, err := RandomizedResponseRenyi(truth, buckets, alpha)
				if err != nil || !(d >= 0) || math.IsInf(d, 1) {
					t.Errorf("p=%v k=%d α=%v: %v, %v", truth, buckets, alpha, d, err)
				}
			}
		}
	}
}
