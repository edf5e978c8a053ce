package scattering

import "dpsgd/internal/kernel"

// lowPass averages planes over a Gaussian window and keeps every stride-th value of every
// stride-th row. Windows and reflections are in the matrices, one for each direction.
type lowPass struct {
	planes, height, width int // of the input
	outHeight, outWidth   int
	vertical              []float32 // (outHeight, height)
	horizontal            []float32 // (outWidth, width)
	rows                  []float32 // (planes, outHeight, width): averaged vertically
}

// newLowPass returns an average over windows of 4·stride by 4·stride values, with a deviation of
// 0.4·stride: 16 pixels and 1.6 pixels for pictures with stride 4 and for maps of half their size
// with stride 2.
func newLowPass(planes, height, width, stride int) *lowPass {
	outHeight := height / stride
	return &lowPass{
		planes: planes, height: height, width: width,
		outHeight: outHeight, outWidth: width / stride,
		vertical:   average(height, stride),
		horizontal: average(width, stride),
		rows:       make([]float32, planes*outHeight*width),
	}
}

// average returns the (n/stride, n) matrix that averages n values along one direction.
func average(n, stride int) []float32 {
	window := gaussian(4*stride, 0.4*float64(stride))
	matrix := make([]float64, n/stride*n)
	for i := range n / stride {
		from := i*stride - (len(window)-stride)/2
		for k, weight := range window {
			matrix[i*n+reflected(from+k, n)] += weight
		}
	}
	return rounded(matrix)
}

// forward computes dst (planes, outHeight, outWidth) from src (planes, height, width).
func (p *lowPass) forward(dst, src []float32) {
	var pool *kernel.Pool // one thread
	in, between := p.height*p.width, p.outHeight*p.width
	for i := range p.planes {
		pool.Gemm(false, false, p.outHeight, p.width, p.height, 1,
			p.vertical, p.height, src[i*in:], p.width, 0, p.rows[i*between:], p.width)
	}
	pool.Gemm(false, true, p.planes*p.outHeight, p.outWidth, p.width, 1,
		p.rows, p.width, p.horizontal, p.width, 0, dst, p.outWidth)
}

func rounded(values []float64) []float32 {
	r := make([]float32, len(values))
	for i, v := range values {
		r[i] = float32(v)
	}
	return r
}

// size returns the number of values that forward writes.
func (p *lowPass) size() int { return p.planes * p.outHeight * p.outWidth }
