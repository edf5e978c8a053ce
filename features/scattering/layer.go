package scattering

import (
	"math"

	"dpsgd/data"
	"dpsgd/internal/kernel"
)

// layer computes the moduli of the convolutions of planes with the wavelets of one scale.
//
// Windows are not copied out. A line of pixels becomes the sums and the differences of the pixels
// that mirror each other in the windows along it, (taps, planes, outWidth) values each. With those
// of the other lines of a window under each other they are the right-hand factor of a product with
// the filters, and the factor of the next row of outputs is the same matrix some lines further on.
type layer struct {
	scale
	filters               mirrored
	planes, height, width int // of the input
	stride                int // by which windows move

	line              []float32 // one line of pixels and its reflections
	sums, differences []float32 // (height + 2·margin, evenTaps or oddTaps, planes, outWidth)
	even, odd         []float32 // for one row of outputs: (filters, planes, outWidth)
}

func newLayer(s scale, filters mirrored, planes, height, width, stride int) *layer {
	l := &layer{scale: s, filters: filters, planes: planes, height: height, width: width, stride: stride}
	lines := height + 2*l.margin()
	l.line = make([]float32, width+2*l.margin())
	l.sums = make([]float32, lines*l.evenTaps()*l.columns())
	l.differences = make([]float32, lines*l.oddTaps()*l.columns())
	l.even = make([]float32, evenFilters*l.columns())
	l.odd = make([]float32, oddFilters*l.columns())
	return l
}

// margin returns the number of pixels by which windows reach beyond the edges: each lies around the
// middle of the stride×stride pixels that its output stands for.
func (l *layer) margin() int    { return (l.size - l.stride) / 2 }
func (l *layer) outHeight() int { return l.height / l.stride }
func (l *layer) outWidth() int  { return l.width / l.stride }
func (l *layer) columns() int   { return l.planes * l.outWidth() }

// forward computes dst (planes, angles, outHeight, outWidth) from src (planes, height, width).
func (l *layer) forward(dst, src []float32) {
	l.fold(src)
	for y := range l.outHeight() {
		l.convolve(l.even, evenFilters, l.filters.even, l.sums, l.evenTaps(), y)
		l.convolve(l.odd, oddFilters, l.filters.odd, l.differences, l.oddTaps(), y)
		for p := range l.planes {
			l.moduli(dst, p, y)
		}
	}
}

// fold fills sums and differences from src, with the lines continued by reflection above and below.
func (l *layer) fold(src []float32) {
	margin := l.margin()
	for y := range l.height {
		for p := range l.planes {
			at := (p*l.height + y) * l.width
			l.foldLine(src[at:at+l.width], margin+y, p*l.outWidth())
		}
	}
	for y := range margin {
		l.copyLine(y, margin+data.Reflected(y-margin, l.height))
		l.copyLine(margin+l.height+y, margin+data.Reflected(l.height+y, l.height))
	}
}

// foldLine writes the sums and the differences of one line of pixels of a plane into the line of
// that number in sums and differences, from column on.
func (l *layer) foldLine(pixels []float32, line, column int) {
	margin := l.margin()
	copy(l.line[margin:], pixels)
	for x := range margin {
		l.line[x] = pixels[data.Reflected(x-margin, l.width)]
		l.line[margin+l.width+x] = pixels[data.Reflected(l.width+x, l.width)]
	}
	at := func(folded []float32, taps, k int) []float32 {
		return folded[(line*taps+k)*l.columns()+column:][:l.outWidth()]
	}
	for k := range l.oddTaps() {
		left, right := l.line[k:], l.line[l.size-1-k:]
		sums, differences := at(l.sums, l.evenTaps(), k), at(l.differences, l.oddTaps(), k)
		for x := range sums {
			a, b := left[x*l.stride], right[x*l.stride]
			sums[x], differences[x] = a+b, a-b
		}
	}
	if k := l.oddTaps(); k < l.evenTaps() { // the tap in the middle
		for x, sums := 0, at(l.sums, l.evenTaps(), k); x < len(sums); x++ {
			sums[x] = l.line[k+x*l.stride]
		}
	}
}

func (l *layer) copyLine(to, from int) {
	n := l.evenTaps() * l.columns()
	copy(l.sums[to*n:(to+1)*n], l.sums[from*n:])
	n = l.oddTaps() * l.columns()
	copy(l.differences[to*n:(to+1)*n], l.differences[from*n:])
}

// convolve computes row y of the outputs of the even or of the odd filters, dst (filters, planes,
// outWidth), from the folded lines.
func (l *layer) convolve(dst []float32, count int, filters, folded []float32, taps, y int) {
	var pool *kernel.Pool // one thread
	window, columns := l.size*taps, l.columns()
	pool.Gemm(false, false, count, columns, window, 1,
		filters, window, folded[y*l.stride*taps*columns:], columns, 0, dst, columns)
}

// moduli writes to dst the moduli of row y of plane p, from the even and the odd parts.
func (l *layer) moduli(dst []float32, p, y int) {
	n := l.outWidth()
	part := func(parts []float32, filter int) []float32 { return parts[filter*l.columns()+p*n:][:n] }
	row := func(t int) []float32 { return dst[((p*angles+t)*l.outHeight()+y)*n:][:n] }

	modulus(row(0), part(l.even, realZero), part(l.odd, imaginaryZero))
	modulus(row(angles/2), part(l.even, realFour), part(l.even, imaginaryFour))
	for t := 1; t <= pairs; t++ {
		re, im := 2*t-2, 2*t-1
		mirroredModuli(row(t), row(angles-t),
			part(l.even, re), part(l.odd, re), part(l.even, im), part(l.odd, im))
	}
}

func modulus(dst, re, im []float32) {
	for x := range dst {
		dst[x] = magnitude(re[x], im[x])
	}
}

// mirroredModuli sets dst to the moduli of even + odd and image, which belongs to the mirrored
// wavelet, to those of even - odd. Each has a real part, re, and an imaginary one, im.
func mirroredModuli(dst, image, reEven, reOdd, imEven, imOdd []float32) {
	for x := range dst {
		dst[x] = magnitude(reEven[x]+reOdd[x], imEven[x]+imOdd[x])
		image[x] = magnitude(reEven[x]-reOdd[x], imEven[x]-imOdd[x])
	}
}

// smallest is added to squared moduli, so that moduli are above zero and have a logarithm.
const smallest = 1e-12

func magnitude(re, im float32) float32 { return float32(math.Sqrt(float64(re*re + im*im + smallest))) }

// lowPass averages planes over a Gaussian window and keeps every stride-th value of every stride-th
// row. It multiplies by a matrix for each direction, which holds the window and the reflection.
type lowPass struct {
	Average
	planes int
	rows   []float32 // (planes, OutHeight, Width): averaged vertically
}

// newLowPass returns an average over windows of 4·stride by 4·stride values, with a deviation of
// 0.4·stride: 16 pixels and 1.6 pixels for pictures with stride 4 and for maps of half their size
// with stride 2.
func newLowPass(planes, height, width, stride int) *lowPass {
	a := Average{height, width, height / stride, width / stride, average(height, stride), average(width, stride)}
	return &lowPass{a, planes, make([]float32, planes*a.OutHeight*width)}
}

// average returns the (n/stride, n) matrix that averages n values along one direction.
func average(n, stride int) []float32 {
	window := gaussian(4*stride, 0.4*float64(stride))
	matrix := make([]float64, n/stride*n)
	for i := range n / stride {
		from := i*stride - (len(window)-stride)/2
		for k, weight := range window {
			matrix[i*n+data.Reflected(from+k, n)] += weight
		}
	}
	return rounded(matrix)
}

// forward computes dst (planes, OutHeight, OutWidth) from src (planes, Height, Width). It returns
// what follows the planes in dst.
func (p *lowPass) forward(dst, src []float32) (rest []float32) {
	var pool *kernel.Pool // one thread
	in, between := p.Height*p.Width, p.OutHeight*p.Width
	for i := range p.planes {
		pool.Gemm(false, false, p.OutHeight, p.Width, p.Height, 1,
			p.Vertical, p.Height, src[i*in:], p.Width, 0, p.rows[i*between:], p.Width)
	}
	pool.Gemm(false, true, p.planes*p.OutHeight, p.OutWidth, p.Width, 1,
		p.rows, p.Width, p.Horizontal, p.Width, 0, dst, p.OutWidth)
	return dst[p.planes*p.OutHeight*p.OutWidth:]
}

func rounded(values []float64) []float32 {
	r := make([]float32, len(values))
	for i, v := range values {
		r[i] = float32(v)
	}
	return r
}
