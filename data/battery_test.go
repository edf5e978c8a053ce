package data

import (
	"math/rand/v2"
	"testing"

	"dpsgd/internal/battery"
	"dpsgd/internal/random"
)

// The sources here are seeded, so a result repeats.
const (
	batteryN     = 1000
	batteryQ     = 0.05 // variance 47.5 ± 4.4 % over 20,000 steps
	batterySteps = 20000
	twinSteps    = 5000 // enough to see through a broken one
)

func TestPoissonPassesTheBattery(t *testing.T) {
	for _, c := range []struct {
		n int
		q float64
	}{{batteryN, batteryQ}, {10, 0.01}, {4000, 0.0003}} {
		src := random.Seeded(3)
		bad := battery.Poisson(c.n, c.q, batterySteps, func(int) []int { return sampled(t, Poisson{c.q}, nil, c.n, src) })
		if len(bad) > 0 {
			t.Errorf("n=%d, q=%v: rejected by %v", c.n, c.q, bad)
		}
	}
}

// Samplers that are broken in the ways of real code are rejected, each by a
// statistic that is made for it.
func TestTheBatteryRejectsBrokenTwins(t *testing.T) {
	const size = batteryN * batteryQ
	rng := rand.New(random.Seeded(4))
	src := random.Seeded(5)
	order := rng.Perm(batteryN)
	for name, c := range map[string]struct {
		n      int
		q      float64
		sample func(t *testing.T, step int) []int
		by     string
	}{
		"shuffled": {batteryN, batteryQ, func(t *testing.T, step int) []int {
			at := step * size % batteryN
			if at == 0 {
				rng.Shuffle(batteryN, func(i, j int) { order[i], order[j] = order[j], order[i] })
			}
			return order[at : at+size]
		}, "variance of size"},
		"fixed size": {batteryN, batteryQ, func(t *testing.T, _ int) []int {
			for i := range int(size) {
				j := i + rng.IntN(batteryN-i)
				order[i], order[j] = order[j], order[i]
			}
			return order[:size]
		}, "variance of size"},
		"fixed seed": {batteryN, batteryQ, func(t *testing.T, _ int) []int {
			return sampled(t, Poisson{batteryQ}, nil, batteryN, random.Seeded(9))
		}, "inclusions"},
		"every second batch repeated": {batteryN, batteryQ, func(t *testing.T, step int) []int {
			return sampled(t, Poisson{batteryQ}, nil, batteryN, random.Seeded(100+uint64(step/2)))
		}, "repetition in the next batch"},
		"records join in pairs": {batteryN, batteryQ, func(t *testing.T, _ int) (batch []int) {
			for _, i := range sampled(t, Poisson{batteryQ}, nil, batteryN/2, src) {
				batch = append(batch, 2*i, 2*i+1)
			}
			return batch
		}, "pairs at distance 1"},
		"q too large by 2 %": {batteryN, batteryQ, func(t *testing.T, _ int) []int {
			return sampled(t, Poisson{1.02 * batteryQ}, nil, batteryN, src)
		}, "mean size"},
		"one record preferred": {batteryN, batteryQ, func(t *testing.T, _ int) []int {
			batch := sampled(t, Poisson{batteryQ}, nil, batteryN, src)
			if len(batch) > 0 && batch[0] != 0 && rng.IntN(10) == 0 {
				batch = append([]int{0}, batch...)
			}
			return batch
		}, "inclusions"},
		"empty batches skipped": {10, 0.01, func(t *testing.T, _ int) []int {
			for range 1000 { // all empty with a probability of 1e-44
				if batch := sampled(t, Poisson{0.01}, nil, 10, src); len(batch) > 0 {
					return batch
				}
			}
			t.Fatal("1,000 empty batches in a row")
			return nil
		}, "empty batches"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := battery.Poisson(c.n, c.q, twinSteps, func(step int) []int { return c.sample(t, step) })
			for _, b := range bad {
				if len(b) >= len(c.by) && b[:len(c.by)] == c.by {
					return
				}
			}
			t.Errorf("not rejected by %q, only by %v", c.by, bad)
		})
	}
}
