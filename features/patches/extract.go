package patches

import (
	"fmt"

	"dpsgd/internal/kernel"
)

// Extractor returns a function that writes the features of a picture, (channel, row, column) with
// values from 0 to 1, to dst. They are in the order (side of the threshold, filter, row of the grid,
// column of the grid), what is above it first.
//
// The function has working memory of its own and computes on the caller: every goroutine takes
// one. It panics when a slice has another length than the shape or [Patches.Width] says.
func (p *Patches) Extractor() func(dst, picture []float32) {
	return newExtractor(p).extract
}

// stripPositions is how many positions have their responses computed together, about: so many
// that the product is fast, and so few that they stay in the second-level cache.
const stripPositions = 160

// An extractor has what belongs to one picture at a time.
type extractor struct {
	*Patches
	grid          grid
	rows, columns int // of positions

	pixels    []float32 // the scaled picture, its mean subtracted
	deviation deviation
	// The folded rows of the scaled picture, and for a strip of positions what the filters
	// multiply, (channel, column, row) of a patch by position, and the responses, position by
	// filter.
	evenRows, oddRows []float32
	evenTaps, oddTaps []float32
	evenProducts      []float32
	oddProducts       []float32
	sums              []kernel.Excess // one for each cell
}

func newExtractor(p *Patches) *extractor {
	e := &extractor{Patches: p, rows: p.scaled.Height - p.options.Size + 1, columns: p.scaled.Width - p.options.Size + 1}
	e.grid = newGrid(e.rows, e.columns, p.options.Pooling)
	e.pixels = make([]float32, p.scaled.Values())
	e.deviation = newDeviation(p.scaled, p.options.Size)

	f, lines := p.folded, p.scaled.Channels*p.scaled.Height*e.columns
	e.evenRows, e.oddRows = make([]float32, f.evenCols*lines), make([]float32, f.oddCols*lines)
	strip := e.stripRows() * e.columns
	e.evenTaps = make([]float32, strip*len(f.even)/f.count)
	e.oddTaps = make([]float32, strip*len(f.odd)/f.count)
	e.evenProducts, e.oddProducts = make([]float32, strip*f.count), make([]float32, strip*f.count)
	for range p.options.Pooling * p.options.Pooling {
		e.sums = append(e.sums, kernel.Excess{Above: make([]float32, f.count), Below: make([]float32, f.count)})
	}
	return e
}

// stripRows returns the number of rows of positions in a strip, but for the last one.
func (e *extractor) stripRows() int { return min(max(1, stripPositions/e.columns), e.rows) }

func (e *extractor) extract(dst, picture []float32) {
	if len(dst) != e.Width() || len(picture) != e.shape.Values() {
		panic(fmt.Sprintf("patches: %d features of a picture of %d values, expected %d and %d",
			len(dst), len(picture), e.Width(), e.shape.Values()))
	}
	e.scale(picture)
	e.deviation.invert(e.pixels)
	n, lines := e.scaled.Height*e.scaled.Width, e.scaled.Height*e.columns
	for c := range e.scaled.Channels {
		e.folded.foldRows(e.evenRows[c*e.folded.evenCols*lines:], e.oddRows[c*e.folded.oddCols*lines:],
			e.pixels[c*n:(c+1)*n], e.scaled.Width)
	}
	for _, s := range e.sums {
		clear(s.Above)
		clear(s.Below)
	}
	for row := 0; row < e.rows; row += e.stripRows() {
		e.strip(row, min(row+e.stripRows(), e.rows))
	}
	e.store(dst)
}

// scale sets pixels. The mean does not change any response but for rounding.
func (e *extractor) scale(picture []float32) {
	from, to := e.shape.Height*e.shape.Width, e.scaled.Height*e.scaled.Width
	if e.options.Scale == 1 {
		copy(e.pixels, picture)
	} else {
		for c := range e.shape.Channels {
			plane := e.pixels[c*to : (c+1)*to]
			halve(plane[border*e.scaled.Width+border:], e.scaled.Width, picture[c*from:], e.shape.Height, e.shape.Width)
			reflect(plane, e.scaled.Height, e.scaled.Width)
		}
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
	f, positions := e.folded, (to-from)*e.columns
	e.respond(e.evenProducts, e.evenTaps, e.evenRows, f.even, f.evenCols, from, positions)
	e.respond(e.oddProducts, e.oddTaps, e.oddRows, f.odd, f.oddCols, from, positions)
	for row := from; row < to; row++ {
		first := cell(e.grid.rowEdges, row) * e.options.Pooling
		for _, r := range e.grid.runs {
			at := ((row-from)*e.columns + r.from) * f.count
			kernel.AddExcess(e.sums[first+r.column], e.sums[first+r.mirrored], e.evenProducts[at:], e.oddProducts[at:],
				e.deviation.inverse[row*e.columns+r.from:row*e.columns+r.to], f.below, f.above)
		}
	}
}

// respond computes the products of one part of the filters, which has weights for the given
// columns of a patch, with positions from a row on.
func (e *extractor) respond(products, taps, rows, weights []float32, columns, from, positions int) {
	to := taps
	for line := range e.folded.channels * columns {
		// The positions of one pixel of a patch are those of the pixel above, a row further on.
		source := rows[(line*e.scaled.Height+from)*e.columns:]
		for y := range e.folded.side {
			copy(to[:positions], source[y*e.columns:])
			to = to[positions:]
		}
	}
	depth, count := e.folded.channels*columns*e.folded.side, e.folded.count
	var caller *kernel.Pool
	caller.Gemm(true, false, positions, count, depth, 1, taps, positions, weights, count, 0, products, count)
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
