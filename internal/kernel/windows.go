package kernel

import "math"

// The portable loops over windows.

func noMaximum(best []float32, where []int32) {
	for ch := range best {
		best[ch], where[ch] = float32(math.Inf(-1)), -1
	}
}

// eachPosition calls visit with the offset of every position of every window, the
// window's number and whether the position is the window's first.
func (r windowRun) eachPosition(visit func(window, at int, first bool)) {
	for window := range r.count {
		for row := range r.rows {
			for col := range r.cols {
				visit(window, window*r.step+row*r.rowStride+col*r.colStride, row+col == 0)
			}
		}
	}
}

func portableMaxWindows(r windowRun, y []float32, where []int32, x []float32, at int32) {
	r.eachPosition(func(window, place int, first bool) {
		best, where := y[window*r.channels:][:r.channels], where[window*r.channels:][:r.channels]
		for ch := r.first; ch < r.channels; ch++ {
			// A NaN in best is not larger and not smaller than anything and stays.
			if v := x[place+ch]; first || v > best[ch] || v != v {
				best[ch], where[ch] = v, at+int32(place+ch)
			}
		}
	})
}

func portableMaxWindowsGrad(r windowRun, dx, dy []float32, where []int32, at int32, keep bool) {
	r.eachPosition(func(window, place int, _ bool) {
		dy, where := dy[window*r.channels:][:r.channels], where[window*r.channels:][:r.channels]
		for ch := r.first; ch < r.channels; ch++ {
			var v float32
			if keep {
				v = dx[place+ch]
			}
			if where[ch] == at+int32(place+ch) {
				v += dy[ch]
			}
			dx[place+ch] = v
		}
	})
}

func portableSumWindows(r windowRun, y, x []float32, scale float32) {
	for window := range r.count {
		clear(y[window*r.channels+r.first : (window+1)*r.channels])
	}
	r.eachPosition(func(window, place int, _ bool) {
		sum := y[window*r.channels:][:r.channels]
		for ch := r.first; ch < r.channels; ch++ {
			sum[ch] += x[place+ch]
		}
	})
	for window := range r.count {
		sum := y[window*r.channels:][:r.channels]
		for ch := r.first; ch < r.channels; ch++ {
			sum[ch] *= scale
		}
	}
}

func portableSumWindowsGrad(r windowRun, dx, dy []float32, scale float32, keep bool) {
	r.eachPosition(func(window, place int, _ bool) {
		dy := dy[window*r.channels:][:r.channels]
		for ch := r.first; ch < r.channels; ch++ {
			v := scale * dy[ch]
			if keep {
				v += dx[place+ch]
			}
			dx[place+ch] = v
		}
	})
}
