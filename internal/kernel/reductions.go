package kernel

// The functions here sum in float64 what is float32: the rows of a matrix, for the gradients of
// values per channel, and squares, for norms. Axpy adds one vector to another.

// SumRows writes to dst the sum of the rows of z, each cols long. Sums are taken in float64 and
// rounded once. The length of z must be a multiple of cols; no rows give zeros.
func SumRows(dst, z []float32, cols int) { active.sumRows(dst[:cols], false, 1, z, nil) }

// AddScaledSumRows adds alpha times the sum of the rows of z, which SumRows describes, to dst.
func AddScaledSumRows(dst []float32, alpha float32, z []float32, cols int) {
	active.sumRows(dst[:cols], true, alpha, z, nil)
}

// SumRowProducts writes to dst the sum over the rows of x∘y, as SumRows does for x:
// the gradient of the gain of ScaleShift. It panics when y is shorter than x.
func SumRowProducts(dst, x, y []float32, cols int) {
	active.sumRows(dst[:cols], false, 1, x, y[:len(x)])
}

// AddScaledSumRowProducts adds alpha times the sum over the rows of x∘y to dst.
func AddScaledSumRowProducts(dst []float32, alpha float32, x, y []float32, cols int) {
	active.sumRows(dst[:cols], true, alpha, x, y[:len(x)])
}

// SumSquares returns the sum of x[i]², products and sum in float64, where the
// square of a float32 is exact.
func SumSquares(x []float32) float64 { return active.sumSquares(x) }

// Axpy adds alpha·x to y. It panics when y is shorter than x.
func Axpy(y []float32, alpha float32, x []float32) { active.axpy(y[:len(x)], alpha, x) }

// sumColumns is the number of columns that sumRows holds in float64 at a time.
const sumColumns = 128

func portableSumRows(dst []float32, keep bool, alpha float32, x, y []float32) {
	cols := len(dst)
	for from := 0; from < cols; from += sumColumns {
		var sums [sumColumns]float64
		to := min(from+sumColumns, cols)
		for row := 0; row < len(x); row += cols {
			if y == nil {
				for j, v := range x[row+from : row+to] {
					sums[j] += float64(v)
				}
				continue
			}
			other := y[row+from : row+to]
			for j, v := range x[row+from : row+to] {
				sums[j] += float64(v) * float64(other[j])
			}
		}
		storeSums(dst[from:to], keep, alpha, sums[:])
	}
}

// storeSums writes alpha·sums to dst, or adds them if keep is set.
func storeSums(dst []float32, keep bool, alpha float32, sums []float64) {
	for j, sum := range sums[:len(dst)] {
		v := float32(float64(alpha) * sum)
		if keep {
			v += dst[j]
		}
		dst[j] = v
	}
}

func portableSumSquares(x []float32) float64 {
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		v := x[i : i+4 : i+4]
		s0 += float64(v[0]) * float64(v[0])
		s1 += float64(v[1]) * float64(v[1])
		s2 += float64(v[2]) * float64(v[2])
		s3 += float64(v[3]) * float64(v[3])
	}
	for ; i < len(x); i++ {
		s0 += float64(x[i]) * float64(x[i])
	}
	return (s0 + s1) + (s2 + s3)
}

func portableAxpy(y []float32, alpha float32, x []float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += alpha * v
	}
}

// Excess sums, for each column, by how much values were above one threshold and below another.
type Excess struct{ Above, Below []float32 }

// AddExcess takes x and y as matrices of len(scale) rows that are as long as low, and adds to sums,
// over all rows i,
//
//	Above[j] += max(scale[i]·(x[i][j] + y[i][j]) - high[j], 0)
//	Below[j] += max(low[j] - scale[i]·(x[i][j] + y[i][j]), 0)
//
// and to differences the same of x - y, all in float32. sums and differences may share their slices.
// AddExcess panics when a slice is shorter than that.
func AddExcess(sums, differences Excess, x, y []int32, scale, low, high []float32) {
	rows, columns := len(scale), len(low)
	if rows == 0 || columns == 0 {
		return
	}
	for _, e := range []*Excess{&sums, &differences} {
		e.Above, e.Below = e.Above[:columns], e.Below[:columns]
	}
	active.addExcess(sums, differences, x[:rows*columns], y[:rows*columns], scale, low, high[:columns])
}

func portableAddExcess(sums, differences Excess, x, y []int32, scale, low, high []float32) {
	addExcessFrom(0, sums, differences, x, y, scale, low, high)
}

// addExcessFrom does what portableAddExcess does for the columns from first on.
func addExcessFrom(first int, sums, differences Excess, x, y []int32, scale, low, high []float32) {
	columns := len(low)
	for i, s := range scale {
		row, other := x[i*columns:(i+1)*columns], y[i*columns:(i+1)*columns]
		for j := first; j < columns; j++ {
			v, w := float32(row[j]), float32(other[j])
			sums.add(j, s*(v+w), low[j], high[j])
			differences.add(j, s*(v-w), low[j], high[j])
		}
	}
}

func (e Excess) add(j int, v, low, high float32) {
	e.Above[j] += max(v-high, 0)
	e.Below[j] += max(low-v, 0)
}
