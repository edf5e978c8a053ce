package features

import (
	"math"

	"dpsgd/internal/kernel"
)

// threshold is what a response, less its bias, has to exceed in absolute value to count.
const threshold = 0.25

// levels is the integer that stands for a pixel of 1: pixels of 8 bits, and means of four of them,
// are exact.
const levels = 4 * 255

// foldedFilters are filters in two parts, w = even + odd, so that even - odd is the mirror image of
// w. The mirrored picture responds to w as the picture does to the mirror image of w: two products
// of half a patch give both responses. Columns j and size-1-j of the even part are equal, of the
// odd part opposite, so the left halves are enough. A middle column is even. Weights are integers
// of 16 bits, and so are the pixels that they meet; their products add up to less than 2^31.
type foldedFilters struct {
	count, channels, size int
	even, odd             filterPart
	units                 []float32 // of each filter: the response for which an integer of 1 stands
	below, above          []float32 // of each filter, in its units: bias - threshold and bias + threshold
}

// A filterPart has the weights for the left columns of a patch, as (channel, column, row, filter),
// in pairs of successive rows of that matrix.
type filterPart struct {
	columns int
	weights []int32
}

// fold returns the parts of the filters, whose weights it rounds.
func (f patchFilters) fold() foldedFilters {
	count, _ := f.weights.Dims()
	to := foldedFilters{
		count: count, channels: f.channels, size: f.size,
		units: make([]float32, count), below: make([]float32, count), above: make([]float32, count),
	}
	to.even.columns, to.odd.columns = (f.size+1)/2, f.size/2
	even, odd := make([]int16, f.channels*to.even.columns*f.size*count), make([]int16, f.channels*to.odd.columns*f.size*count)
	for i := range count {
		weights := f.weights.RawRowView(i)
		unit := roundFilter(weights)
		to.units[i] = float32(unit / levels)
		to.below[i], to.above[i] = float32((f.bias[i]-threshold)/unit*levels), float32((f.bias[i]+threshold)/unit*levels)
		for c := range f.channels {
			for y := range f.size {
				row := weights[(c*f.size+y)*f.size:][:f.size]
				for x := range to.even.columns {
					left, right := row[x], row[f.size-1-x]
					even[((c*to.even.columns+x)*f.size+y)*count+i] = int16(math.Round((left + right) / (2 * unit)))
					if x < to.odd.columns {
						odd[((c*to.odd.columns+x)*f.size+y)*count+i] = int16(math.Round((left - right) / (2 * unit)))
					}
				}
			}
		}
	}
	to.even.weights, to.odd.weights = paired(even, count), paired(odd, count)
	return to
}

// roundFilter rounds weights to multiples of twice a unit, which it returns, so that half the sum of
// two is a multiple of the unit. Their sum stays 0. The unit is about the least for which integers
// of 16 bits hold the multiples, and of 32 bits the sum of their products with pixels, the
// magnitudes of two of which add up to at most 2·levels.
func roundFilter(weights []float64) (unit float64) {
	var most, total float64
	for _, w := range weights {
		most = max(most, math.Abs(w))
		total += math.Abs(w)
	}
	const moved = 2 // units, by which rounding moves a weight at most
	room := math.MaxInt32/(2*levels) - moved*float64(len(weights))
	if unit = max(most/(kernel.MostOfPair-moved), total/room); unit == 0 {
		return 1
	}
	sum, rounded := 0.0, 0.0
	for i, w := range weights {
		sum += w
		next := 2 * unit * math.RoundToEven(sum/(2*unit))
		weights[i], rounded = next-rounded, next
	}
	return unit
}

// paired returns a matrix with rows of count integers for [kernel.Pool.GemmPairs].
func paired(matrix []int16, count int) []int32 {
	rows := 0
	if count > 0 {
		rows = len(matrix) / count
	}
	pairs := make([]int32, (rows+1)/2*count)
	pairRows(pairs, rows, count, func(i int) []int16 { return matrix[i*count:] })
	return pairs
}

// pairRows writes rows of count integers to dst, two in one.
func pairRows(dst []int32, rows, count int, row func(i int) []int16) {
	for i := 0; i < rows; i += 2 {
		var second []int16
		if i+1 < rows {
			second = row(i + 1)
		}
		kernel.Pair(dst[i/2*count:][:count], row(i), second)
	}
}

// foldPlane writes what the even and odd parts are multiplied with: v[j] + v[size-1-j] and v[j] -
// v[size-1-j] for each left column j of a patch at each position along each row of a plane of the
// given width; v[j] alone for a middle column. Both even and odd are (column, row, position).
func (f foldedFilters) foldPlane(even, odd, plane []int16, width int) {
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
	folded []int16 // the picture, folded: (channel, column, row, position)
	taps   []int32 // of a strip: (channel, column, row of a patch, position), in pairs like the weights
	values []int32 // of a strip: (position, filter)
}

func (e *extractor) newProducts(p filterPart) products {
	lines, strip := e.scaled.Channels*p.columns, e.stripRows*e.columns
	return products{
		p, e, make([]int16, lines*e.scaled.Height*e.columns),
		make([]int32, (lines*e.options.Size+1)/2*strip), make([]int32, strip*e.folded.count),
	}
}

// of returns the part of p.folded that belongs to a channel.
func (p *products) of(channel int) []int16 {
	n := len(p.folded) / p.e.scaled.Channels
	return p.folded[channel*n : (channel+1)*n]
}

// compute sets values to the products of the filters with the patches in rows [from, to).
func (p *products) compute(from, to int) {
	columns, size, count := p.e.columns, p.e.options.Size, p.e.folded.count
	strip, taps := (to-from)*columns, p.e.scaled.Channels*p.columns*size
	pairRows(p.taps, taps, strip, func(i int) []int16 {
		// What is i%size rows below a position, for all positions.
		return p.folded[(i/size*p.e.scaled.Height+from+i%size)*columns:]
	})
	var caller *kernel.Pool
	caller.GemmPairs(strip, count, (taps+1)/2, p.taps, p.weights, p.values)
}
