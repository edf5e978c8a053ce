package kernel

import "math"

// The normalisation of groups of channels, which GroupNorm and LayerNorm need, and its
// gradient: what callers see, and the portable twins.

// GroupNormForward normalises one NHWC image: the channels are cut into groups
// of channels/groups neighbours, and over all positions and channels of a group
//
//	xhat = (x - mean) / √(variance + eps)
//
// with the biased variance, as in PyTorch. Mean and variance are taken in float64. inverseStd gets
// 1/√(variance + eps) of each group, for GroupNormGrad. Scale and shift are the caller's. xhat may
// be the same slice as x.
func GroupNormForward(xhat, inverseStd, x []float32, positions, channels, groups int, eps float64) {
	if n := positions * channels; n > 0 {
		active.groupNorm(xhat[:n], inverseStd[:groups], x[:n], channels, groups, eps)
	}
}

// GroupNormGrad computes the gradient dx of the loss with respect to x from the results of
// GroupNormForward and the gradient dxhat with respect to xhat: with averages over the group
//
//	dx = (dxhat - avg(dxhat) - xhat · avg(dxhat · xhat)) · inverseStd
//
// dx may be the same slice as dxhat or xhat.
func GroupNormGrad(dx, xhat, dxhat, inverseStd []float32, positions, channels, groups int) {
	if n := positions * channels; n > 0 {
		active.groupNormGrad(dx[:n], xhat[:n], dxhat[:n], inverseStd[:groups], channels, groups)
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
		inverseStd[from/width] = float32(inverse)
	}
}

func portableGroupNormGrad(dx, xhat, dxhat, inverseStd []float32, channels, groups int) {
	width := channels / groups
	count := float64(len(xhat) / groups)
	for from := 0; from < channels; from += width {
		var sum, dot float64
		for at := from; at < len(xhat); at += channels {
			for i := at; i < at+width; i++ {
				d := float64(dxhat[i])
				sum += d
				dot += d * float64(xhat[i])
			}
		}
		avg, avgDot, inverse := sum/count, dot/count, float64(inverseStd[from/width])
		for at := from; at < len(xhat); at += channels {
			for i := at; i < at+width; i++ {
				dx[i] = float32((float64(dxhat[i]) - avg - float64(xhat[i])*avgDot) * inverse)
			}
		}
	}
}

// groupMoments returns mean and 1/√(variance + eps) of the channels [from, from+width) of x, over
// all positions, in two passes; the textbook one-pass variance cancels.
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

// The functions here treat every row of a matrix alike, or every position of an NHWC image: the
// slice of values per channel is as long as a row, the last row may be cut, and no channels are no
// work. The destination may be the very slice of the source.

// AddBias adds bias to every row of z, which is as long as bias.
func AddBias(z, bias []float32) {
	if len(bias) > 0 {
		active.addBias(z, z, bias)
	}
}

// ScaleChannels computes dx = dz∘gain for every row: the gradient of ScaleShift with
// respect to its source.
func ScaleChannels(dx, dz, gain []float32) {
	if len(gain) > 0 {
		active.scaleChannels(dx, dz[:len(dx)], gain)
	}
}

// ScaleShift computes z = x∘gain + shift for every row. It panics when shift is shorter than gain.
func ScaleShift(z, x, gain, shift []float32) {
	if len(gain) > 0 {
		active.scaleShift(z, x[:len(z)], gain, shift[:len(gain)])
	}
}

// eachRow calls visit with the offsets of the beginning and the end of each row of n values.
func eachRow(n, channels int, visit func(from, to int)) {
	for from := 0; from < n; from += channels {
		visit(from, min(from+channels, n))
	}
}

func portableAddBias(y, z, bias []float32) {
	eachRow(len(y), len(bias), func(from, to int) {
		for j, v := range z[from:to] {
			y[from+j] = v + bias[j]
		}
	})
}

func portableScaleChannels(dx, dz, gain []float32) {
	eachRow(len(dx), len(gain), func(from, to int) {
		for j, v := range dz[from:to] {
			dx[from+j] = v * gain[j]
		}
	})
}

func portableScaleShift(z, x, gain, shift []float32) {
	eachRow(len(z), len(gain), func(from, to int) {
		for j, v := range x[from:to] {
			z[from+j] = v*gain[j] + shift[j]
		}
	})
}
