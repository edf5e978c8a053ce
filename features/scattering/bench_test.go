package scattering

import (
	"testing"

	"dpsgd/data"
)

// BenchmarkExtract transforms pictures on one thread.
func BenchmarkExtract(b *testing.B) {
	for _, c := range []struct {
		name  string
		shape data.Shape
	}{
		{"28x28x1", data.Shape{Height: 28, Width: 28, Channels: 1}},
		{"32x32x3", data.Shape{Height: 32, Width: 32, Channels: 3}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, err := New(c.shape)
			if err != nil {
				b.Fatal(err)
			}
			extract, dst := s.Extractor(), make([]float32, s.Width())
			picture := make([]float32, c.shape.Values())
			for i := range picture {
				picture[i] = float32(i%7) / 7
			}
			b.ReportAllocs()
			for b.Loop() {
				extract(dst, picture)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pictures/s")
		})
	}
}
