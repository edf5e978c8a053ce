package features

import "dpsgd/internal/kernel"

// Extractor returns a function that writes the features of a picture, (channel, row, column) with
// values from 0 to 1, to dst. They are in the order (side of the threshold, filter, row of the
// grid, column of the grid), what is above it first.
//
// The function has working memory of its own and computes on the caller: every goroutine takes one.
func (p *patchFeatures) Extractor() func(dst, picture []float32) {
	return newExtractor(p).extract
}

// stripPositions is about how many positions have their responses computed together: enough for
// the product to be fast, and few enough for the responses to stay in the second-level cache.
const stripPositions = 160

// An extractor has what belongs to one picture at a time.
type extractor struct {
	*patchFeatures
	rows, columns int // of positions
	stripRows     int // rows of a strip, but for the last one
	grid          grid
	pixels        []float32 // the scaled picture, its mean subtracted
	deviation     deviation
	even, odd     products
	sums          []kernel.Excess // one for each cell
}

func newExtractor(p *patchFeatures) *extractor {
	size := p.options.Size
	e := &extractor{
		patchFeatures: p,
		rows:          p.scaled.Height - size + 1, columns: p.scaled.Width - size + 1,
		pixels:    make([]float32, p.scaled.Values()),
		deviation: newDeviation(p.scaled, size),
	}
	e.stripRows = min(max(1, stripPositions/e.columns), e.rows)
	e.grid = newGrid(e.rows, e.columns, p.options.Pooling)
	e.even, e.odd = e.newProducts(p.folded.even), e.newProducts(p.folded.odd)
	for range p.options.Pooling * p.options.Pooling {
		above, below := make([]float32, p.options.Filters), make([]float32, p.options.Filters)
		e.sums = append(e.sums, kernel.Excess{Above: above, Below: below})
	}
	return e
}

func (e *extractor) extract(dst, picture []float32) {
	e.scale(picture)
	e.deviation.invert(e.pixels)
	for c := range e.scaled.Channels {
		area := e.scaled.Height * e.scaled.Width
		e.folded.foldPlane(e.even.of(c), e.odd.of(c), e.pixels[c*area:(c+1)*area], e.scaled.Width)
	}
	for _, s := range e.sums {
		clear(s.Above)
		clear(s.Below)
	}
	for row := 0; row < e.rows; row += e.stripRows {
		e.strip(row, min(row+e.stripRows, e.rows))
	}
	e.store(dst)
}

// scale sets pixels. Their mean does not change any response but for rounding.
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
	for i := range e.pixels {
		e.pixels[i] -= mean
	}
}

// strip adds the responses in rows of positions to the sums of their cells.
func (e *extractor) strip(from, to int) {
	e.even.compute(from, to)
	e.odd.compute(from, to)
	f := e.folded
	for row := from; row < to; row++ {
		first := gridCell(e.grid.rowEdges, row) * e.options.Pooling
		for _, r := range e.grid.runs {
			at := ((row-from)*e.columns + r.from) * f.count
			scale := e.deviation.inverse[row*e.columns:][r.from:r.to]
			kernel.AddExcess(e.sums[first+r.column], e.sums[first+r.mirrored],
				e.even.values[at:], e.odd.values[at:], scale, f.below, f.above)
		}
	}
}

// store writes the means over the cells, of the picture and its mirror image.
func (e *extractor) store(dst []float32) {
	cells := len(e.sums)
	below := dst[len(dst)/2:]
	for i, s := range e.sums {
		scale := 1 / float32(2*e.grid.area(i/e.options.Pooling, i%e.options.Pooling))
		for k, v := range s.Above {
			dst[k*cells+i] = v * scale
			below[k*cells+i] = s.Below[k] * scale
		}
	}
}
