package features

import "dpsgd/internal/kernel"

// threshold is what a response, less its bias, has to exceed in absolute value to count.
const threshold = 0.25

// foldedFilters are filters in two parts, w = even + odd, so that even - odd is the mirror image of
// w. The mirrored picture responds to w as the picture does to the mirror image of w: two products
// of half a patch give both responses. Columns j and size-1-j of the even part are equal, of the
// odd part opposite, so the left halves are enough. A middle column is even.
type foldedFilters struct {
	count, channels, size int
	even, odd             filterPart
	below, above          []float32 // of each filter: bias - threshold and bias + threshold
}

// A filterPart has the weights for the left columns of a patch, as (channel, column, row, filter).
type filterPart struct {
	columns int
	weights []float32
}

func (f patchFilters) fold() foldedFilters {
	count, _ := f.weights.Dims()
	newPart := func(columns int) filterPart {
		return filterPart{columns, make([]float32, f.channels*columns*f.size*count)}
	}
	to := foldedFilters{
		count: count, channels: f.channels, size: f.size,
		even: newPart((f.size + 1) / 2), odd: newPart(f.size / 2),
		below: make([]float32, count), above: make([]float32, count),
	}
	for i := range count {
		to.below[i], to.above[i] = float32(f.bias[i]-threshold), float32(f.bias[i]+threshold)
		weights := f.weights.RawRowView(i)
		for c := range f.channels {
			for y := range f.size {
				to.set(i, c, y, weights[(c*f.size+y)*f.size:][:f.size])
			}
		}
	}
	return to
}

// set stores the weights of filter i for row y of channel c, as their even and odd parts: half the
// sum, and half the difference, of each weight on the left and its mirror image on the right.
func (f foldedFilters) set(i, c, y int, weights []float64) {
	for x := range f.even.columns {
		left, right := weights[x], weights[f.size-1-x]
		f.even.weights[((c*f.even.columns+x)*f.size+y)*f.count+i] = float32((left + right) / 2)
		if x < f.odd.columns {
			f.odd.weights[((c*f.odd.columns+x)*f.size+y)*f.count+i] = float32((left - right) / 2)
		}
	}
}

// foldPlane writes what the even and odd parts are multiplied with: v[j] + v[size-1-j] and v[j] -
// v[size-1-j] for each left column j of a patch at each position along each row of a plane of the
// given width; v[j] alone for a middle column. Both even and odd are (column, row, position).
func (f foldedFilters) foldPlane(even, odd, plane []float32, width int) {
	positions := width - f.size + 1
	n := len(plane) / width * positions
	for j := range f.odd.columns {
		sums, differences := even[j*n:(j+1)*n], odd[j*n:(j+1)*n]
		for at := 0; at < len(plane); at += width {
			left, right := plane[at+j:][:positions], plane[at+f.size-1-j:][:positions]
			for i, v := range left {
				sums[i], differences[i] = v+right[i], v-right[i]
			}
			sums, differences = sums[positions:], differences[positions:]
		}
	}
	if j := f.odd.columns; j < f.even.columns {
		middle := even[j*n:]
		for at := 0; at < len(plane); at += width {
			copy(middle[at/width*positions:], plane[at+j:][:positions])
		}
	}
}

// products multiplies the even or the odd part of the filters with the patches of a picture, a
// strip of rows of positions at a time.
type products struct {
	filterPart
	e      *extractor
	folded []float32 // the picture, folded: (channel, column, row, position)
	taps   []float32 // of a strip: (channel, column, row of a patch, position)
	values []float32 // of a strip: (position, filter)
}

func (e *extractor) newProducts(p filterPart) products {
	lines, strip := e.scaled.Channels*p.columns, e.stripRows*e.columns
	return products{
		p, e, make([]float32, lines*e.scaled.Height*e.columns),
		make([]float32, lines*e.options.Size*strip), make([]float32, strip*e.folded.count),
	}
}

// of returns the part of p.folded that belongs to a channel.
func (p *products) of(channel int) []float32 {
	n := len(p.folded) / p.e.scaled.Channels
	return p.folded[channel*n : (channel+1)*n]
}

// compute sets values to the products of the filters with the patches in rows [from, to).
func (p *products) compute(from, to int) {
	strip, lines := (to-from)*p.e.columns, p.e.scaled.Channels*p.columns
	taps, size, count := p.taps, p.e.options.Size, p.e.folded.count
	for line := range lines {
		source := p.folded[(line*p.e.scaled.Height+from)*p.e.columns:]
		for y := range size {
			// What is y rows below a position, for all positions.
			copy(taps[:strip], source[y*p.e.columns:])
			taps = taps[strip:]
		}
	}
	var caller *kernel.Pool
	caller.Gemm(true, false, strip, count, lines*size, 1, p.taps, strip, p.weights, count, 0, p.values, count)
}
