package features

// Only responses whose size is above threshold count.
const threshold = 0.25

// foldedFilters are filters in two parts, w = even + odd, such that the mirror image of w is
// even - odd. The even part has the same weight at columns j and size-1-j of a patch, the odd part
// opposite ones, so that the left halves say all; a middle column is even.
type foldedFilters struct {
	count, channels, size int
	even, odd             filterPart
	below, above          []float32 // thresholds on the responses, bias included
}

// A part has the weights for the left columns of a patch, as (channel, column, row, filter).
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

// set folds the weights of filter i for row y of channel c.
func (f foldedFilters) set(i, c, y int, weights []float64) {
	for x := range f.even.columns {
		left, right := weights[x], weights[f.size-1-x]
		f.even.weights[((c*f.even.columns+x)*f.size+y)*f.count+i] = float32((left + right) / 2)
		if x < f.odd.columns {
			f.odd.weights[((c*f.odd.columns+x)*f.size+y)*f.count+i] = float32((left - right) / 2)
		}
	}
}

// foldPlane writes what the parts multiply, for each of the left columns j of a patch, and each row
// of a plane of the given width: v[j] + v[size-1-j] and v[j] - v[size-1-j], counted from each
// position along the row; a middle column once. Both even and odd are (column, row, position).
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
