package kernel

import "math"

// GroupNormForward normalises one NHWC image: the channels are cut into groups
// of channels/groups neighbours, and over all positions and channels of a group
//
//	xhat = (x - mean) / √(variance + eps)
//
// with the biased variance, as in PyTorch. Mean and variance are taken in
// float64. Scale and shift are the caller's. The slice of xhat may be that of x.
func GroupNormForward(xhat, x []float32, positions, channels, groups int, eps float64) {
	width := channels / groups
	for from := 0; from < channels; from += width {
		mean, inverseStd := groupMoments(x, positions, channels, from, width, eps)
		for p := range positions {
			at := p*channels + from
			to := xhat[at : at+width]
			for ch, v := range x[at : at+width] {
				to[ch] = float32((float64(v) - mean) * inverseStd)
			}
		}
	}
}

// GroupNormGrad computes the gradient dx of the loss with respect to x from the
// gradient dxhat with respect to the result of GroupNormForward for the same x:
// with averages over the group
//
//	dx = (dxhat - avg(dxhat) - xhat · avg(dxhat · xhat)) / √(variance + eps)
//
// The slice of dx may be that of dxhat or of x.
func GroupNormGrad(dx, x, dxhat []float32, positions, channels, groups int, eps float64) {
	width := channels / groups
	for from := 0; from < channels; from += width {
		mean, inverseStd := groupMoments(x, positions, channels, from, width, eps)
		var sum, dot float64
		for p := range positions {
			at := p*channels + from
			row := x[at : at+width]
			for ch, d := range dxhat[at : at+width] {
				sum += float64(d)
				dot += float64(d) * (float64(row[ch]) - mean)
			}
		}
		count := float64(positions * width)
		avg, avgDot := sum/count, dot*inverseStd/count
		for p := range positions {
			at := p*channels + from
			row, to := x[at:at+width], dx[at:at+width]
			for ch, d := range dxhat[at : at+width] {
				normalised := (float64(row[ch]) - mean) * inverseStd
				to[ch] = float32((float64(d) - avg - normalised*avgDot) * inverseStd)
			}
		}
	}
}

// groupMoments returns mean and 1/√(variance + eps) of the channels
// [from, from+width) in two passes; the textbook one-pass variance cancels.
func groupMoments(x []float32, positions, channels, from, width int, eps float64) (mean, inverseStd float64) {
	var sum float64
	for p := range positions {
		at := p*channels + from
		for _, v := range x[at : at+width] {
			sum += float64(v)
		}
	}
	count := float64(positions * width)
	mean = sum / count
	var squares float64
	for p := range positions {
		at := p*channels + from
		for _, v := range x[at : at+width] {
			d := float64(v) - mean
			squares += d * d
		}
	}
	return mean, 1 / math.Sqrt(squares/count+eps)
}
