package features

import "dpsgd/internal/kernel"

// products multiplies one part of the filters with the patches of a picture, a strip of rows of
// positions at a time.
type products struct {
	filterPart
	count, channels, size int       // of the filters
	height, positions     int       // of the scaled picture, in pixels; along one of its rows
	folded                []float32 // the picture, folded: (channel, column, row, position)
	taps                  []float32 // of a strip: (channel, column, row of a patch, position)
	values                []float32 // of a strip: (position, filter)
}

func (e *extractor) newProducts(p filterPart) products {
	f, strip := e.folded, e.stripRows*e.columns
	return products{
		filterPart: p,
		count:      f.count, channels: f.channels, size: f.size,
		height: e.scaled.Height, positions: e.columns,
		folded: make([]float32, f.channels*p.columns*e.scaled.Height*e.columns),
		taps:   make([]float32, f.channels*p.columns*f.size*strip),
		values: make([]float32, strip*f.count),
	}
}

// of returns where a folded channel goes.
func (p *products) of(channel int) []float32 {
	n := p.columns * p.height * p.positions
	return p.folded[channel*n : (channel+1)*n]
}

// compute sets values for the rows [from, to) of positions.
func (p *products) compute(from, to int) {
	strip, lines := (to-from)*p.positions, p.channels*p.columns
	taps := p.taps
	for line := range lines {
		source := p.folded[(line*p.height+from)*p.positions:]
		for y := range p.size {
			// What is y rows below a position, for all positions.
			copy(taps[:strip], source[y*p.positions:])
			taps = taps[strip:]
		}
	}
	var caller *kernel.Pool
	caller.Gemm(true, false, strip, p.count, lines*p.size, 1, p.taps, strip, p.weights, p.count, 0, p.values, p.count)
}
