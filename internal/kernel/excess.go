package kernel

// How far responses pass thresholds, summed over positions: the second pass of features that are
// pooled after a soft threshold.

// Excess sums, for each column, by how much values exceeded one threshold and fell below another.
type Excess struct{ Above, Below []float32 }

// AddExcess takes x and y as matrices of len(scale) rows that are as long as low, and adds to sums,
// over all rows i,
//
//	Above[j] += max(scale[i]·(x[i][j] + y[i][j]) - high[j], 0)
//	Below[j] += max(low[j] - scale[i]·(x[i][j] + y[i][j]), 0)
//
// and to differences the same of x - y. The two may share their slices. It panics when a slice is
// shorter than that.
func AddExcess(sums, differences Excess, x, y, scale, low, high []float32) {
	rows, columns := len(scale), len(low)
	if rows == 0 || columns == 0 {
		return
	}
	for _, e := range []*Excess{&sums, &differences} {
		e.Above, e.Below = e.Above[:columns], e.Below[:columns]
	}
	active.addExcess(sums, differences, x[:rows*columns], y[:rows*columns], scale, low, high[:columns])
}

func portableAddExcess(sums, differences Excess, x, y, scale, low, high []float32) {
	addExcessFrom(0, sums, differences, x, y, scale, low, high)
}

// addExcessFrom is portableAddExcess for the columns from first on.
func addExcessFrom(first int, sums, differences Excess, x, y, scale, low, high []float32) {
	columns := len(low)
	for i, s := range scale {
		row, other := x[i*columns:(i+1)*columns], y[i*columns:(i+1)*columns]
		for j := first; j < columns; j++ {
			sums.add(j, s*(row[j]+other[j]), low[j], high[j])
			differences.add(j, s*(row[j]-other[j]), low[j], high[j])
		}
	}
}

func (e Excess) add(j int, v, low, high float32) {
	e.Above[j] += max(v-high, 0)
	e.Below[j] += max(low-v, 0)
}
