package train

import (
	"fmt"
	"testing"

	"dpsgd/configs"
)

// BenchmarkClippedSum measures the clipped sum of one physical batch, the bulk of a private step:
//
//	go test ./internal/train -run '^$' -bench ClippedSum -benchtime 3s
func BenchmarkClippedSum(b *testing.B) {
	for _, network := range []string{"mnist-cnn", "mlp"} {
		for _, engine := range []string{"auto", "ghost", "materialise"} {
			b.Run(fmt.Sprintf("%s/%s", network, engine), func(b *testing.B) {
				c, err := configs.Load("digits", []string{"model.name=" + network, "performance.engine=" + engine, "training.physical_batch_size=256"})
				if err != nil {
					b.Fatal(err)
				}
				r, err := prepare(c, Options{}, nil)
				if err != nil {
					b.Fatal(err)
				}
				defer r.pool.Close()
				indices := make([]int, 256)
				for i := range indices {
					indices[i] = i
				}
				b.ReportAllocs()
				sum := newSum(b, r)
				for b.Loop() {
					sum.Reset()
					addAll(b, r, sum, indices)
				}
				b.ReportMetric(256*float64(b.N)/b.Elapsed().Seconds(), "examples/s")
			})
		}
	}
}
