package kernel

// The transforms of Winograd's filtering and the inner loop of Gram products on AVX2.

var avx2Winograd = winogradSet{
	window6:   tiles6(6, winogradWindow6AVX2),
	filter6:   tiles3(6, winogradFilter6AVX2),
	output6:   tiles6(4, winogradOutput6AVX2),
	window4:   tiles4(4, winogradWindow4AVX2),
	filter4:   tiles3(4, winogradFilter4AVX2),
	output4:   tiles4(2, winogradOutput4AVX2),
	gradient4: tiles4(3, winogradGradient4AVX2),
	delta4: func(scale float32, tiles, n int, dst []float32, dstStride, dstStep int, src vectors, srcStep int) {
		checkTiles(tiles, n, 4, dst, dstStride, dstStep, src[:2], srcStep)
		from := [2]*float32{&src[0][0], &src[1][0]}
		winogradDelta4AVX2(tiles, n, &dst[0], dstStride, dstStep, &from, srcStep, scale)
	},
}

// tiles6, tiles4 and tiles3 call a generated function of so many inputs and of outputs outputs.
func tiles6(outputs int, f func(tiles, n int, dst *float32, dstStride, dstStep int, src *[6]*float32, srcStep int)) tileTransform {
	return func(tiles, n int, dst []float32, dstStride, dstStep int, src vectors, srcStep int) {
		checkTiles(tiles, n, outputs, dst, dstStride, dstStep, src[:], srcStep)
		from := [6]*float32{&src[0][0], &src[1][0], &src[2][0], &src[3][0], &src[4][0], &src[5][0]}
		f(tiles, n, &dst[0], dstStride, dstStep, &from, srcStep)
	}
}

func tiles4(outputs int, f func(tiles, n int, dst *float32, dstStride, dstStep int, src *[4]*float32, srcStep int)) tileTransform {
	return func(tiles, n int, dst []float32, dstStride, dstStep int, src vectors, srcStep int) {
		checkTiles(tiles, n, outputs, dst, dstStride, dstStep, src[:4], srcStep)
		from := [4]*float32{&src[0][0], &src[1][0], &src[2][0], &src[3][0]}
		f(tiles, n, &dst[0], dstStride, dstStep, &from, srcStep)
	}
}

func tiles3(outputs int, f func(tiles, n int, dst *float32, dstStride, dstStep int, src *[3]*float32, srcStep int)) tileTransform {
	return func(tiles, n int, dst []float32, dstStride, dstStep int, src vectors, srcStep int) {
		checkTiles(tiles, n, outputs, dst, dstStride, dstStep, src[:3], srcStep)
		from := [3]*float32{&src[0][0], &src[1][0], &src[2][0]}
		f(tiles, n, &dst[0], dstStride, dstStep, &from, srcStep)
	}
}

// checkTiles panics where a generated function would leave its slices.
func checkTiles(tiles, n, outputs int, dst []float32, dstStride, dstStep int, src [][]float32, srcStep int) {
	if tiles < 1 || n < 8 || n%8 != 0 {
		panic("kernel: transform of no tiles or of channels that are not a multiple of 8")
	}
	_ = dst[(tiles-1)*dstStep+(outputs-1)*dstStride+n-1]
	last := (tiles-1)*srcStep + n - 1
	for _, x := range src {
		_ = x[last]
	}
}

func gramRowBlocksAVX2(offsets []int, base, v []float32) (sum, magnitude float64) {
	blocks := len(v) / gramBlock
	if blocks == 0 || len(offsets) == 0 {
		return 0, 0
	}
	for _, offset := range offsets {
		_ = base[offset : offset+blocks*gramBlock]
	}
	return gramRowAVX2(blocks, len(offsets), &offsets[0], &base[0], &v[0])
}
