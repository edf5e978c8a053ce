package kernel

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
