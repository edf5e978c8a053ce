package kernel

// The kernels over windows on AVX2: eight channels at a time, and what is left by
// the portable loops.

// blocks returns how many times eight channels there are, and the run of those left.
func (r windowRun) blocks() (blocks int, left windowRun) {
	left, blocks = r, r.channels/8
	left.first = 8 * blocks
	return blocks, left
}

func maxWindowsBlocksAVX2(r windowRun, y []float32, where []int32, x []float32, at int32) {
	blocks, left := r.blocks()
	if blocks > 0 {
		maxWindowsAVX2(r.count, blocks, r.channels, r.rows, r.cols, 4*r.rowStride, 4*r.colStride, 4*r.step, &x[0], &y[0], &where[0], at)
	}
	if left.first < r.channels {
		portableMaxWindows(left, y, where, x, at)
	}
}

func maxWindowsGradBlocksAVX2(r windowRun, dx, dy []float32, where []int32, at int32, keep bool) {
	blocks, left := r.blocks()
	if blocks > 0 {
		maxWindowsGradAVX2(r.count, blocks, r.channels, r.rows, r.cols, 4*r.rowStride, 4*r.colStride, 4*r.step, &dx[0], &dy[0], &where[0], at, oneIf(keep))
	}
	if left.first < r.channels {
		portableMaxWindowsGrad(left, dx, dy, where, at, keep)
	}
}

func sumWindowsBlocksAVX2(r windowRun, y, x []float32, scale float32) {
	blocks, left := r.blocks()
	if blocks > 0 {
		sumWindowsAVX2(r.count, blocks, r.channels, r.rows, r.cols, 4*r.rowStride, 4*r.colStride, 4*r.step, &x[0], &y[0], scale)
	}
	if left.first < r.channels {
		portableSumWindows(left, y, x, scale)
	}
}

func sumWindowsGradBlocksAVX2(r windowRun, dx, dy []float32, scale float32, keep bool) {
	blocks, left := r.blocks()
	if blocks > 0 {
		sumWindowsGradAVX2(r.count, blocks, r.channels, r.rows, r.cols, 4*r.rowStride, 4*r.colStride, 4*r.step, &dx[0], &dy[0], scale, oneIf(keep))
	}
	if left.first < r.channels {
		portableSumWindowsGrad(left, dx, dy, scale, keep)
	}
}

func oneIf(b bool) int32 {
	if b {
		return 1
	}
	return 0
}
