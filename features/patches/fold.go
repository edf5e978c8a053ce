package patches

// threshold is what the size of a response has to be above to count.
const threshold = 0.25

// foldedFilters are filters in two parts, w = even + odd, such that the mirror image of w is
// even - odd. The even part has the same weight at columns j and size-1-j of a patch, the odd part
// opposite ones, so that the left halves say all; a middle column is even.
type foldedFilters struct {
	count          int
	evenCols       int       // columns of a patch that the even part has weights for
	oddCols        int       // and the odd part
	even, odd      []float32 // (channel, column, row) of a patch, each with one value per filter
	below, above   []float32 // thresholds on the responses, bias included
	channels, side int
}

func (f filters) fold() foldedFilters {
	count, _ := f.weights.Dims()
	to := foldedFilters{
		count: count, channels: f.channels, side: f.size,
		evenCols: (f.size + 1) / 2, oddCols: f.size / 2,
		below: make([]float32, count), above: make([]float32, count),
	}
	to.even = make([]float32, f.channels*to.evenCols*f.size*count)
	to.odd = make([]float32, f.channels*to.oddCols*f.size*count)
	for i := range count {
		to.below[i], to.above[i] = float32(f.bias[i]-threshold), float32(f.bias[i]+threshold)
		row := f.weights.RawRowView(i)
		for c := range f.channels {
			for y := range f.size {
				to.set(i, c, y, row[(c*f.size+y)*f.size:][:f.size])
			}
		}
	}
	return to
}

// set folds the weights of filter i for row y of channel c.
func (f foldedFilters) set(i, c, y int, weights []float64) {
	for x := range f.evenCols {
		left, right := weights[x], weights[f.side-1-x]
		f.even[((c*f.evenCols+x)*f.side+y)*f.count+i] = float32((left + right) / 2)
		if x < f.oddCols {
			f.odd[((c*f.oddCols+x)*f.side+y)*f.count+i] = float32((left - right) / 2)
		}
	}
}

// foldRows writes, for each of the left columns j of a patch and each row of a plane of the given
// width, what the two parts of filters multiply at each position along the row: v[j] + v[size-1-j]
// and v[j] - v[size-1-j], counted from there; a middle column once. Each of even and odd is
// (column, row, position).
func (f foldedFilters) foldRows(even, odd, plane []float32, width int) {
	positions := width - f.side + 1
	n := len(plane) / width * positions
	for j := range f.oddCols {
		sums, differences := even[j*n:(j+1)*n], odd[j*n:(j+1)*n]
		for at := 0; len(sums) > 0; at += width {
			left, right := plane[at+j:][:positions], plane[at+f.side-1-j:][:positions]
			for i, v := range left {
				sums[i] = v + right[i]
				differences[i] = v - right[i]
			}
			sums, differences = sums[positions:], differences[positions:]
		}
	}
	if j := f.oddCols; j < f.evenCols {
		middle := even[j*n:]
		for at := 0; at < len(plane); at += width {
			copy(middle[at/width*positions:], plane[at+j:][:positions])
		}
	}
}
