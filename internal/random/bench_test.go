package random

import "testing"

// Words in bulk, as noise is made of them:
//
//	go test -run '^$' -bench . ./internal/random
func BenchmarkFill(b *testing.B) {
	src := New()
	dst := make([]uint64, 512)
	b.SetBytes(8 * int64(len(dst)))
	for b.Loop() {
		src.Fill(dst)
	}
}
