package kernel

import (
	"testing"

	"golang.org/x/sys/cpu"
)

func BenchmarkMultiplyAdds(b *testing.B) {
	const rounds, perRound = 1000, 12
	b.Run("avx2", func(b *testing.B) {
		if !cpu.X86.HasFMA || !cpu.X86.HasAVX2 {
			b.Skip("this processor has no AVX2 and FMA")
		}
		for b.Loop() {
			multiplyAddsAVX2(rounds)
		}
		reportGFLOPs(b, 8*perRound*rounds)
	})
	b.Run("avx512", func(b *testing.B) {
		if !cpu.X86.HasAVX512F {
			b.Skip("this processor has no AVX-512")
		}
		for b.Loop() {
			multiplyAddsAVX512(rounds)
		}
		reportGFLOPs(b, 16*perRound*rounds)
	})
}
