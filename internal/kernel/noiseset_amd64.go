package kernel

// What calls the generated functions for noise and for updates.

func addRoundedNormalsBlocksAVX2(dst, sum, rest []float64, words []uint64, doubts []uint8, deviation, spacing float64) {
	if len(dst) > 0 {
		addRoundedNormalsAVX2(len(doubts), &dst[0], &sum[0], &rest[0], &words[0], &doubts[0], deviation, certainty(deviation), spacing)
	}
}

// addRoundedNormalsBlocksAVX512 takes two blocks at a time and leaves an odd one to AVX2.
func addRoundedNormalsBlocksAVX512(dst, sum, rest []float64, words []uint64, doubts []uint8, deviation, spacing float64) {
	pairs := len(doubts) / 2
	if pairs > 0 {
		addRoundedNormalsAVX512(pairs, &dst[0], &sum[0], &rest[0], &words[0], &doubts[0], deviation, certainty(deviation), spacing)
	}
	done := 2 * NormalsBlock * pairs
	addRoundedNormalsBlocksAVX2(dst[done:], sum[done:], rest[done:], words[done:], doubts[2*pairs:], deviation, spacing)
}

func splitBlocksAVX512(whole, rest []float64, x []int64, digits int) {
	n := len(x) / NormalsBlock * NormalsBlock
	if n > 0 {
		splitAVX512(n/NormalsBlock, &whole[0], &rest[0], &x[0], digits, halfOf(digits), unitOf(digits))
	}
	portableSplit(whole[n:], rest[n:], x[n:], digits)
}

func momentumBlocksAVX2(p, v []float32, sum []float64, m Momentum) {
	step := momentumAVX2
	if m.Nesterov {
		step = nesterovAVX2
	}
	whole := len(p) / 4 * 4
	if whole > 0 {
		step(whole/4, &p[0], &v[0], &sum[0], m.PerBatch, m.Decay, m.Mu, m.Rate)
	}
	portableMomentum(p[whole:], v[whole:], sum[whole:], m)
}

func descendBlocksAVX2(p []float32, sum []float64, perBatch, decay, rate float64) {
	whole := len(p) / 4 * 4
	if whole > 0 {
		descendAVX2(whole/4, &p[0], &sum[0], perBatch, decay, rate)
	}
	portableDescend(p[whole:], sum[whole:], perBatch, decay, rate)
}
