package grid

import (
	"testing"

	"dpsgd/accountant/internal/pair"
)

// Both directions of 10,000 steps of DP-SGD.
func BenchmarkPLD(b *testing.B) {
	for _, bench := range []struct {
		name     string
		interval float64
	}{{"chosen", 0}, {"1e-4", 1e-4}} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				for _, p := range []pair.Pair{pair.Removed(0.01, 1), pair.Removed(0.01, 1).Reversed()} {
					if _, err := Epsilon([]pair.Part{{Pair: p, Count: 10_000}}, 1e-5, Options{Interval: bench.interval}); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
