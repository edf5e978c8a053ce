package kernel

import (
	"math"
	"sync"
)

// GroupNorm on AVX2: sums for each column, a value or three for each channel computed
// from them, and one pass that applies these.

// normColumns bounds the channels that the vector kernels of GroupNorm take; networks with more of
// them run the portable ones, except where all channels are one group.
const normColumns = 1024

// shortRow is the width of the rows into which an image of one group is cut if it has more
// channels, and the least width to which repeated fills up rows of fewer.
const shortRow = 64

// normScratch is the working memory for one image, with a value per channel in each array.
type normScratch struct {
	first, second, shift     [normColumns]float64 // sums over the positions, see columnSums
	mean, slope, scale, rest [normColumns]float32 // what is applied at every position
}

var normScratches = sync.Pool{New: func() any { return new(normScratch) }}

// normLayout returns how many columns to cut an image into, and whether the vector kernels take it.
func normLayout(channels, groups int) (columns int, ok bool) {
	if groups == 1 && channels > shortRow {
		return shortRow, true
	}
	return channels, channels <= normColumns
}

// sums returns the scratch's first and second, cleared, and its shift, for that many columns.
func (s *normScratch) sums(columns int) columnSums {
	clear(s.first[:columns])
	clear(s.second[:columns])
	return columnSums{s.first[:columns], s.second[:columns], s.shift[:columns]}
}

// moments returns mean and 1/√(variance + eps) of a group, the channels [from, to), with count
// values. The sums are of differences from one of these, at most √count standard deviations from
// the mean: so the variance cancels no more than a factor count + 1 of the 2^53 that float64 has.
func (s *normScratch) moments(from, to int, count, eps float64) (mean, inverseStd float64) {
	sum, squares := s.total(from, to)
	avg := sum / count
	variance := max(squares/count-avg*avg, 0)
	return s.shift[from] + avg, 1 / math.Sqrt(variance+eps)
}

// total returns the sums of first and second over the channels [from, to).
func (s *normScratch) total(from, to int) (first, second float64) {
	for ch := from; ch < to; ch++ {
		first += s.first[ch]
		second += s.second[ch]
	}
	return first, second
}

// repeated repeats the first columns of each of the values until they fill shortRow columns or
// more. It returns how many they fill.
func repeated(columns int, values ...*[normColumns]float32) int {
	width := columns
	for ; width < shortRow; width *= 2 {
		for _, v := range values {
			copy(v[width:2*width], v[:width])
		}
	}
	return width
}

func groupNormColumnsAVX2(xhat, inverseStd, x []float32, channels, groups int, eps float64) {
	columns, ok := normLayout(channels, groups)
	if !ok || len(x) < columns {
		portableGroupNorm(xhat, inverseStd, x, channels, groups, eps)
		return
	}
	s := normScratches.Get().(*normScratch)
	defer normScratches.Put(s)
	width, count := columns/groups, float64(len(x)/groups)
	sums := s.sums(columns) // of the differences from the first value of each group, and their squares
	for from := 0; from < columns; from += width {
		for ch := from; ch < from+width; ch++ {
			s.shift[ch] = float64(x[from])
		}
	}
	sums.add(termMoments, x, nil, columns)
	for g := range groups {
		from, to := g*width, (g+1)*width
		mean, inverse := s.moments(from, to, count, eps)
		// The difference from a rounded mean is exact or nearly so, and the rest corrects it.
		rounded := float32(mean)
		rest := float32((float64(rounded) - mean) * inverse)
		for ch := from; ch < to; ch++ {
			s.mean[ch], s.scale[ch], s.rest[ch] = rounded, float32(inverse), rest
		}
		inverseStd[g] = float32(inverse)
	}
	row := repeated(columns, &s.mean, &s.scale, &s.rest)
	normaliseAVX2(len(x), row, &xhat[0], &x[0], &s.mean[0], &s.scale[0], &s.rest[0])
}

func groupNormGradColumnsAVX2(dx, xhat, dxhat, inverseStd []float32, channels, groups int) {
	columns, ok := normLayout(channels, groups)
	if !ok || len(xhat) < columns {
		portableGroupNormGrad(dx, xhat, dxhat, inverseStd, channels, groups)
		return
	}
	s := normScratches.Get().(*normScratch)
	defer normScratches.Put(s)
	s.sums(columns).add(termDots, xhat, dxhat, columns)
	width, count := columns/groups, float64(len(xhat)/groups)
	for g := range groups {
		from, to, inverse := g*width, (g+1)*width, float64(inverseStd[g])
		sum, dot := s.total(from, to)
		slope, rest := float32(-dot/count*inverse), float32(-sum/count*inverse)
		for ch := from; ch < to; ch++ {
			s.slope[ch], s.scale[ch], s.rest[ch] = slope, inverseStd[g], rest
		}
	}
	row := repeated(columns, &s.slope, &s.scale, &s.rest)
	normaliseGradAVX2(len(dx), row, &dx[0], &xhat[0], &dxhat[0], &s.slope[0], &s.scale[0], &s.rest[0])
}

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
