package kernel

// Sums over the rows of a matrix on AVX2, one or two for each column: what sumRows and
// GroupNorm are made of.

// columnTerms names what columnSums sums over the rows of a matrix, per column.
type columnTerms int

const (
	termX        columnTerms = iota // first: x
	termProducts                    // first: x·y
	termMoments                     // first: x - shift, second: (x - shift)²
	termDots                        // first: y, second: x·y
)

// columnSums are float64 sums, one of each kind per column.
type columnSums struct {
	first, second []float64 // second is nil where the terms have none
	shift         []float64 // for termMoments
}

// add adds the terms of all rows of x, and of y where the terms have one, to the sums. Rows are
// stride values apart. If they have more values than there are columns, the columns are their first
// values, and x ends with the last row's columns. Otherwise the last row may be cut.
func (s columnSums) add(terms columnTerms, x, y []float32, stride int) {
	cols := len(s.first)
	if cols == stride {
		done := s.addFolded(terms, x, y)
		x = x[done:]
		if y != nil {
			y = y[done:]
		}
	}
	rows, whole := (len(x)+stride-cols)/stride, cols/reduceBlock*reduceBlock
	if rows > 0 && whole > 0 {
		s.addBlocks(terms, whole/reduceBlock, rows, stride, x, y)
	}
	if whole < cols {
		for row := range rows {
			s.addScalars(terms, whole, row*stride, row*stride+cols, x, y)
		}
	}
	s.addScalars(terms, 0, rows*stride, len(x), x, y)
}

// addFolded adds rows, several taken as one so that their columns are whole blocks, and returns how
// many elements: none if columns are whole blocks anyway or rows are too few.
func (s columnSums) addFolded(terms columnTerms, x, y []float32) int {
	cols := len(s.first)
	several := reduceBlock / min(cols&-cols, reduceBlock) // by their greatest common divisor
	width := several * cols
	rows := len(x) / width
	if several == 1 || rows < 2 {
		return 0
	}
	for from := 0; from < width; from += reduceBlock {
		var first, second, shift [reduceBlock]float64
		block := columnSums{first[:], second[:], shift[:]}
		if terms == termMoments {
			for j := range shift {
				shift[j] = s.shift[(from+j)%cols]
			}
		}
		var other []float32
		if y != nil {
			other = y[from:]
		}
		block.addBlocks(terms, 1, rows, width, x[from:], other)
		for j := range first {
			s.first[(from+j)%cols] += first[j]
			if s.second != nil {
				s.second[(from+j)%cols] += second[j]
			}
		}
	}
	return rows * width
}

// addBlocks adds the terms of the first reduceBlock·blocks columns, of that number of rows.
func (s columnSums) addBlocks(terms columnTerms, blocks, rows, stride int, x, y []float32) {
	stride *= 4 // bytes
	switch terms {
	case termX:
		sumColumnsAVX2(blocks, rows, stride, &x[0], &s.first[0])
	case termProducts:
		sumProductsAVX2(blocks, rows, stride, &x[0], &y[0], &s.first[0])
	case termMoments:
		sumMomentsAVX2(blocks, rows, stride, &x[0], &s.shift[0], &s.first[0], &s.second[0])
	case termDots:
		sumAndDotAVX2(blocks, rows, stride, &y[0], &x[0], &s.first[0], &s.second[0])
	}
}

// addScalars adds the terms of one row, x[from:to], but for its columns before first.
func (s columnSums) addScalars(terms columnTerms, first, from, to int, x, y []float32) {
	for j := first; j < to-from; j++ {
		v := float64(x[from+j])
		switch terms {
		case termX:
			s.first[j] += v
		case termProducts:
			s.first[j] += v * float64(y[from+j])
		case termMoments:
			d := v - s.shift[j]
			s.first[j] += d
			s.second[j] += d * d
		case termDots:
			d := float64(y[from+j])
			s.first[j] += d
			s.second[j] += v * d
		}
	}
}

// sumRowsColumnsAVX2 implements kernelSet.sumRows, column by column.
func sumRowsColumnsAVX2(dst []float32, keep bool, alpha float32, x, y []float32) {
	cols := len(dst)
	if len(x) == cols && cols > 0 { // one row
		switch {
		case y == nil && keep:
			axpyAVX2(cols, &dst[0], &dst[0], &x[0], alpha)
			return
		case y == nil && alpha == 1:
			copy(dst, x)
			return
		case !keep && alpha == 1:
			scaleChannelsAVX2(cols, cols, &dst[0], &x[0], &y[0])
			return
		}
	}
	terms := termX
	if y != nil {
		terms = termProducts
	}
	for from := 0; from < cols; from += sumColumns {
		var sums [sumColumns]float64
		to := min(from+sumColumns, cols)
		if len(x) > 0 {
			end := len(x) - cols + to
			var other []float32
			if y != nil {
				other = y[from:end]
			}
			columnSums{first: sums[:to-from]}.add(terms, x[from:end], other, cols)
		}
		storeSums(dst[from:to], keep, alpha, sums[:])
	}
}
