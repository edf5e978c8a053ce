package kernel

// The transforms of Winograd's filtering and the inner loop of Gram products on AVX2.

var avx2Winograd = winogradSet{
	window6:   onTiles(6, 6, winogradWindow6AVX2),
	filter6:   onTiles(3, 6, winogradFilter6AVX2),
	output6:   onTiles(6, 4, winogradOutput6AVX2),
	window4:   onTiles(4, 4, winogradWindow4AVX2),
	filter4:   onTiles(3, 4, winogradFilter4AVX2),
	output4:   onTiles(4, 2, winogradOutput4AVX2),
	gradient4: onTiles(4, 3, winogradGradient4AVX2),
	delta4: func(scale float32, tiles, n int, dst []float32, dstStride, dstStep int, src vectors, srcStep int) {
		from := checkTiles(tiles, n, 4, dst, dstStride, dstStep, src[:2], srcStep)
		winogradDelta4AVX2(tiles, n, &dst[0], dstStride, dstStep, &from, srcStep, scale)
	},
}

// onTiles calls a generated function of so many inputs and outputs.
func onTiles(inputs, outputs int, f func(tiles, n int, dst *float32, dstStride, dstStep int, src *[6]*float32, srcStep int)) tileTransform {
	return func(tiles, n int, dst []float32, dstStride, dstStep int, src vectors, srcStep int) {
		from := checkTiles(tiles, n, outputs, dst, dstStride, dstStep, src[:inputs], srcStep)
		f(tiles, n, &dst[0], dstStride, dstStep, &from, srcStep)
	}
}

// checkTiles panics where a generated function would leave its slices, and returns where its inputs
// begin.
func checkTiles(tiles, n, outputs int, dst []float32, dstStride, dstStep int, src [][]float32, srcStep int) (from [6]*float32) {
	if tiles < 1 || n < 8 || n%8 != 0 {
		panic("kernel: transform of no tiles or of channels that are not a multiple of 8")
	}
	_ = dst[(tiles-1)*dstStep+(outputs-1)*dstStride+n-1]
	last := (tiles-1)*srcStep + n - 1
	for i, x := range src {
		from[i] = &x[:last+1][0]
	}
	return from
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
