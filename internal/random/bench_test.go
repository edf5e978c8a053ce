package random

import "testing"

func BenchmarkNormals(b *testing.B) {
	src := New()
	dst := make([]float64, 1024)
	b.SetBytes(8 * int64(len(dst)))
	for b.Loop() {
		Normals(dst, src)
	}
}

func BenchmarkFill(b *testing.B) {
	src := New()
	dst := make([]uint64, 1024)
	b.SetBytes(8 * int64(len(dst)))
	for b.Loop() {
		src.Fill(dst)
	}
}
