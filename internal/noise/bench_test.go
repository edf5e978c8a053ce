package noise

import (
	"math/rand/v2"
	"testing"
)

func BenchmarkExactPair(b *testing.B) {
	src := rand.NewPCG(1, 2)
	for b.Loop() {
		exactPair(src.Uint64(), src.Uint64(), 0x1p20, src)
	}
}
