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
	GroupNormForwardStd(xhat, nil, x, positions, channels, groups, eps)
}

// GroupNormForwardStd is GroupNormForward. Unless it is nil, inverseStd gets
// 1/√(variance + eps) of each group, for GroupNormGradFrom.
func GroupNormForwardStd(xhat, inverseStd, x []float32, positions, channels, groups int, eps float64) {
	if n := positions * channels; n > 0 {
		active.groupNorm(xhat[:n], inverseStd, x[:n], channels, groups, eps)
	}
}

// GroupNormGrad computes the gradient dx of the loss with respect to x from the
// gradient dxhat with respect to the result of GroupNormForward for the same x:
// with averages over the group
//
//	dx = (dxhat - avg(dxhat) - xhat · avg(dxhat · xhat)) / √(variance + eps)
//
// The slice of dx may be that of dxhat or of x. It computes mean and variance
// again; GroupNormGradFrom takes them from the forward pass.
func GroupNormGrad(dx, x, dxhat []float32, positions, channels, groups int, eps float64) {
	if n := positions * channels; n > 0 {
		active.groupNormGrad(dx[:n], x[:n], dxhat[:n], channels, groups, eps)
	}
}

// GroupNormGradFrom computes what GroupNormGrad does from the results of
// GroupNormForwardStd. Unless gain is nil, what follows the normalisation is
// z = xhat∘gain + shift with one value for each channel, dz is the gradient with
// respect to z, and dxhat = dz∘gain is not written out. The slice of dx may be that
// of dz or of xhat.
func GroupNormGradFrom(dx, xhat, dz, inverseStd, gain []float32, positions, channels, groups int) {
	if n := positions * channels; n > 0 {
		active.groupNormGradFrom(dx[:n], xhat[:n], dz[:n], inverseStd, gain, channels, groups)
	}
}

func portableGroupNorm(xhat, inverseStd, x []float32, channels, groups int, eps float64) {
	width := channels / groups
	for from := 0; from < channels; from += width {
		mean, inverse := groupMoments(x, channels, from, width, eps)
		for at := from; at < len(x); at += channels {
			to := xhat[at : at+width]
			for ch, v := range x[at : at+width] {
				to[ch] = float32((float64(v) - mean) * inverse)
			}
		}
		if inverseStd != nil {
			inverseStd[from/width] = float32(inverse)
		}
	}
}

func portableGroupNormGrad(dx, x, dxhat []float32, channels, groups int, eps float64) {
	width := channels / groups
	for from := 0; from < channels; from += width {
		mean, inverse := groupMoments(x, channels, from, width, eps)
		portableGroupGrad(dx, x, dxhat, nil, channels, from, width, mean, inverse, inverse)
	}
}

func portableGroupNormGradFrom(dx, xhat, dz, inverseStd, gain []float32, channels, groups int) {
	width := channels / groups
	for from := 0; from < channels; from += width {
		portableGroupGrad(dx, xhat, dz, gain, channels, from, width, 0, 1, float64(inverseStd[from/width]))
	}
}

// portableGroupGrad is the gradient of one group, whose normalised values are
// (x - mean)·scale.
func portableGroupGrad(dx, x, dz, gain []float32, channels, from, width int, mean, scale, inverseStd float64) {
	dxhat := func(at, ch int) float64 {
		if gain == nil {
			return float64(dz[at+ch])
		}
		return float64(dz[at+ch]) * float64(gain[from+ch])
	}
	var sum, dot float64
	for at := from; at < len(x); at += channels {
		for ch, v := range x[at : at+width] {
			d := dxhat(at, ch)
			sum += d
			dot += d * (float64(v) - mean)
		}
	}
	count := float64(len(x) / channels * width)
	avg, avgDot := sum/count, dot*scale/count
	for at := from; at < len(x); at += channels {
		for ch, v := range x[at : at+width] {
			normalised := (float64(v) - mean) * scale
			dx[at+ch] = float32((dxhat(at, ch) - avg - normalised*avgDot) * inverseStd)
		}
	}
}

// groupMoments returns mean and 1/√(variance + eps) of the channels
// [from, from+width) in two passes; the textbook one-pass variance cancels.
func groupMoments(x []float32, channels, from, width int, eps float64) (mean, inverseStd float64) {
	var sum float64
	for at := from; at < len(x); at += channels {
		for _, v := range x[at : at+width] {
			sum += float64(v)
		}
	}
	count := float64(len(x) / channels * width)
	mean = sum / count
	var squares float64
	for at := from; at < len(x); at += channels {
		for _, v := range x[at : at+width] {
			d := float64(v) - mean
			squares += d * d
		}
	}
	return mean, 1 / math.Sqrt(squares/count+eps)
}
