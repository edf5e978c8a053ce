package features

import (
	"math"

	"dpsgd/data"
	"dpsgd/internal/kernel"
)

// Extractor returns a function that writes the features of a picture, (channel, row, column) with
// values from 0 to 1, to dst: first all that are above the threshold, then all that are below its
// negative. Both halves are in the order (filter, row of the grid, column of the grid).
//
// The function has working memory of its own and computes on the caller: every goroutine takes one.
func (p *patchFeatures) Extractor() func(dst, picture []float32) {
	rows, columns := p.scaled.Height-p.options.Size+1, p.scaled.Width-p.options.Size+1
	e := &extractor{
		patchFeatures: p, rows: rows, columns: columns, pixels: make([]float32, p.scaled.Values()), integers: make([]int16, p.scaled.Values()),
		sums: make([]float64, p.scaled.Height*columns), squares: make([]float64, p.scaled.Height*columns), inverse: make([]float32, rows*columns),
	}
	e.stripRows = min(max(1, stripPositions/e.columns), e.rows)
	e.vertical, e.horizontal = newWindows(e.rows, p.options), newWindows(e.columns, p.options)
	e.runs = gridRuns(e.horizontal.edges)
	e.even, e.odd = e.newProducts(p.folded.even), e.newProducts(p.folded.odd)
	e.row, e.sum = make([]float32, p.options.Filters), make([]float32, p.options.Filters)
	for range e.vertical.pieces() * e.horizontal.pieces() {
		above, below := make([]float32, p.options.Filters), make([]float32, p.options.Filters)
		e.cells = append(e.cells, kernel.Excess{Above: above, Below: below})
	}
	return e.extract
}

// stripPositions is about how many positions have their responses computed together: enough for
// the product to be fast, and few enough for the responses to stay in the second-level cache.
const stripPositions = 160

// An extractor holds the working memory for one picture at a time.
type extractor struct {
	*patchFeatures
	rows, columns int // of positions
	stripRows     int // rows of a strip, but for the last one
	vertical      windows
	horizontal    windows
	runs          []gridRun // of a row of positions
	pixels        []float32 // the scaled picture, its mean subtracted
	integers      []int16   // pixels times levels, to the nearest
	sums, squares []float64 // of the pixels of a patch in one row, for each row and position
	inverse       []float32 // 1/√(variance + contrastFloor) of the patch at each position
	even, odd     products
	cells         []kernel.Excess // the sums of responses in each piece of both windows, row by row
	row, sum      []float32       // for store: the sums of one row of pieces and of a cell, of all filters
}

func (e *extractor) extract(dst, picture []float32) {
	e.scale(picture)
	e.invert()
	for c := range e.scaled.Channels {
		area := e.scaled.Height * e.scaled.Width
		e.folded.foldPlane(e.even.of(c), e.odd.of(c), e.integers[c*area:(c+1)*area], e.scaled.Width)
	}
	for _, s := range e.cells {
		clear(s.Above)
		clear(s.Below)
	}
	for row := 0; row < e.rows; row += e.stripRows {
		e.strip(row, min(row+e.stripRows, e.rows))
	}
	e.store(dst)
}

// scale sets pixels and integers to the scaled picture less its mean, which changes responses by
// rounding only.
func (e *extractor) scale(picture []float32) {
	if e.options.Scale == 1 {
		copy(e.pixels, picture)
	} else {
		halveWithBorder(e.pixels, picture, e.shape)
	}
	var sum float64
	for _, v := range e.pixels {
		sum += float64(v)
	}
	mean := float32(sum / float64(len(e.pixels)))
	middle := int16(math.RoundToEven(float64(mean * levels)))
	for i, v := range e.pixels {
		e.integers[i] = int16(math.RoundToEven(float64(min(max(v, 0), 1)*levels))) - middle
		e.pixels[i] = v - mean
	}
}

// strip adds to the sums of the cells how far the responses in rows [from, to) pass the thresholds.
func (e *extractor) strip(from, to int) {
	e.even.compute(from, to)
	e.odd.compute(from, to)
	f := e.folded
	for row := from; row < to; row++ {
		first := gridCell(e.vertical.edges, row) * e.horizontal.pieces()
		for _, r := range e.runs {
			at := ((row-from)*e.columns + r.from) * f.count
			scale := e.inverse[row*e.columns:][r.from:r.to]
			kernel.AddExcess(e.cells[first+r.column], e.cells[first+r.mirrored],
				e.even.values[at:], e.odd.values[at:], scale, f.below, f.above)
		}
	}
}

// store writes the features to dst: weighted means over each cell, of the picture and its mirror
// image.
func (e *extractor) store(dst []float32) {
	e.storeSide(dst[:len(dst)/2], func(x kernel.Excess) []float32 { return x.Above })
	e.storeSide(dst[len(dst)/2:], func(x kernel.Excess) []float32 { return x.Below })
}

func (e *extractor) storeSide(dst []float32, side func(kernel.Excess) []float32) {
	cells := e.options.Pooling * e.options.Pooling
	for i := range cells {
		down, across := e.vertical.of(i/e.options.Pooling), e.horizontal.of(i%e.options.Pooling)
		clear(e.sum)
		for _, y := range down.pieces {
			clear(e.row)
			for _, x := range across.pieces {
				kernel.Axpy(e.row, x.weight, side(e.cells[y.number*e.horizontal.pieces()+x.number]))
			}
			kernel.Axpy(e.sum, y.weight, e.row)
		}
		scale := 1 / float32(2*down.total*across.total)
		for k, v := range e.sum {
			dst[k*cells+i] = v * (scale * e.folded.units[k])
		}
	}
}

func (e *extractor) invert() {
	e.sumRows()
	size := e.options.Size
	n := float64(e.scaled.Channels * size * size)
	for i := range e.inverse {
		var sum, squares float64
		for at := i; at < i+size*e.columns; at += e.columns {
			sum += e.sums[at]
			squares += e.squares[at]
		}
		variance := max(squares-sum*sum/n, 0) / (n - 1)
		e.inverse[i] = float32(1 / math.Sqrt(variance+contrastFloor))
	}
}

// sumRows computes sums and squares from pixels, over all channels.
func (e *extractor) sumRows() {
	clear(e.sums)
	clear(e.squares)
	for line := range e.scaled.Channels * e.scaled.Height {
		row, y := e.pixels[line*e.scaled.Width:][:e.scaled.Width], line%e.scaled.Height
		sums, squares := e.sums[y*e.columns:][:e.columns], e.squares[y*e.columns:][:e.columns]
		for x := range sums {
			for _, v := range row[x : x+e.options.Size] {
				sums[x] += float64(v)
				squares[x] += float64(v) * float64(v)
			}
		}
	}
}

// halfBorder is the number of pixels by which the half of a picture is extended on each side, by
// reflection, so that its patches also show the picture's edge in their middle.
const halfBorder = 2

// halveWithBorder writes the half of a picture of a shape to dst, with its border: the pixels
// inside, reflected.
func halveWithBorder(dst, picture []float32, shape data.Shape) {
	height, width := shape.Height/2, shape.Width/2
	pitch := width + 2*halfBorder
	area := (height + 2*halfBorder) * pitch
	for c := range shape.Channels {
		plane := dst[c*area : (c+1)*area]
		data.Halve(plane[halfBorder*pitch+halfBorder:], pitch, picture[c*shape.Height*shape.Width:], shape.Height, shape.Width)
		for i := range plane {
			y, x := data.Reflected(i/pitch-halfBorder, height), data.Reflected(i%pitch-halfBorder, width)
			plane[i] = plane[(y+halfBorder)*pitch+x+halfBorder]
		}
	}
}

// halves returns the halves of drawn pictures, without a border.
func halves(p *Drawings) *Drawings {
	shape := data.Shape{Height: p.Height / 2, Width: p.Width / 2, Channels: p.Channels}
	h := &Drawings{Shape: shape, Count: p.Count, Values: make([]float32, p.Count*shape.Values())}
	from, to := p.Height*p.Width, shape.Height*shape.Width
	for i := range p.Count * p.Channels {
		data.Halve(h.Values[i*to:], shape.Width, p.Values[i*from:], p.Height, p.Width)
	}
	return h
}
