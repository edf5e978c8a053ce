package features

import (
	"fmt"
	"math"
	"slices"

	"dpsgd/internal/kernel"
)

// Block is Channels times Positions columns of a row, those of one channel side by side.
type Block struct {
	Channels, Positions int
	Weight              float64 // the norm that the block gets beside the others; 0 is 1
}

// Norm returns the norm that the block gets beside the others.
func (b Block) Norm() float64 {
	if b.Weight == 0 {
		return 1
	}
	return b.Weight
}

// Columns returns the number of columns of a row in a block.
func (b Block) Columns() int { return b.Channels * b.Positions }

func widthOf(row []Block) (columns int) {
	for _, b := range row {
		columns += b.Columns()
	}
	return columns
}

// Flattening is a normalisation of features that [fitFlattening] learnt from drawn pictures, which
// are nobody's data. It is safe for concurrent use, and nobody changes its slices.
//
// Features of natural pictures vary a thousand times as much along their first principal direction
// as along the thousandth, and a linear model that is trained for few, noisy steps learns little
// more than the first.
//
// A row x is made of blocks; a block is of channels, each a group of consecutive columns, one for
// every position of a grid that its responses were pooled on. With the mean m of every column over
// the drawn rows and one scale s for each channel, the standard deviation of its columns averaged
// over the positions,
//
//	z = (x − m)/s, each block given its own norm w, then the row divided by its norm
//	z = z − Σᵢ (1 − √(eₖ/eᵢ))·uᵢ·(uᵢᵀz)
//	z = z/‖z‖
//
// where u₁ … uₖ are the first k principal directions of the drawn z, and e₁ ≥ … ≥ eₖ their
// variances: afterwards the variance is eₖ along all of them, and what it was along others. This is
// whitening that stops at the k-th direction, where drawn pictures say little about real ones. With
// k = 0 the second line is left out.
type Flattening struct {
	Blocks     []Block   // of a row, from its first column to its last
	Shift      []float32 // −m of each column
	Gain       []float32 // 1/s of each column
	Directions []float32 // u, (k, width), orthonormal rows
	Damping    []float32 // 1 − √(eₖ/eᵢ) of each direction
}

// minScale is the least s, so that channels that hardly vary on drawn pictures do not fill the row.
const minScale = 1e-4

// fitFlattening learns the flattening with k directions from n drawn rows of blocks, at least two,
// one after the other. It does not change the rows, takes memory for a copy of them and n·n float32
// values, and returns the same for any number of threads. It fails if a value is not finite, and if
// the rows vary along fewer than k directions; n rows vary along n−1 at most.
func fitFlattening(rows []float32, n int, blocks []Block, k int, pool *kernel.Pool) (*Flattening, error) {
	width := widthOf(blocks)
	if most := min(n-1, width); k < 0 || k > most {
		return nil, fmt.Errorf("flatten: found features.directions %d, expected 0 to %d for %d features.pictures of %d values", k, most, n, width)
	}
	f := &Flattening{Blocks: slices.Clone(blocks)}
	if err := f.standardise(rows, width, pool); err != nil {
		return nil, err
	}
	if k == 0 {
		return f, nil
	}
	z := slices.Clone(rows)
	f.scaleRows(z, pool)
	if err := f.findDirections(z, n, k, pool); err != nil {
		return nil, err
	}
	return f, nil
}

// standardise sets Shift and Gain from the columns' means and the channels' scales in rows.
func (f *Flattening) standardise(rows []float32, width int, pool *kernel.Pool) error {
	mean, deviation := make([]float64, width), make([]float64, width)
	pool.Run(width, 64, func(_, lo, hi int) { moments(mean[lo:hi], deviation[lo:hi], rows[lo:], width) })
	f.Shift, f.Gain = make([]float32, width), make([]float32, width)
	for j, m := range mean {
		f.Shift[j] = float32(-m)
	}
	at := 0
	for _, b := range f.Blocks {
		for range b.Channels {
			scale := 0.0
			for _, s := range deviation[at : at+b.Positions] {
				scale += s / float64(b.Positions)
			}
			if !(scale <= math.MaxFloat32) {
				return fmt.Errorf("flatten: a value of drawn rows in columns %d to %d is not finite, expected finite numbers", at, at+b.Positions-1)
			}
			for j := range b.Positions {
				f.Gain[at+j] = float32(1 / max(scale, minScale))
			}
			at += b.Positions
		}
	}
	return nil
}

// moments writes the mean and the standard deviation, with n−1 degrees of freedom, of each of the
// first len(mean) columns of rows. Each row begins width values after the one before.
func moments(mean, deviation []float64, rows []float32, width int) {
	n := 0.0
	for at := 0; at < len(rows); at += width {
		n++
		for j, v := range rows[at : at+len(mean)] {
			mean[j] += float64(v)
		}
	}
	for j := range mean {
		mean[j] /= n
	}
	for at := 0; at < len(rows); at += width {
		for j, v := range rows[at : at+len(mean)] {
			d := float64(v) - mean[j]
			deviation[j] += d * d
		}
	}
	for j, sum := range deviation {
		deviation[j] = math.Sqrt(sum / (n - 1))
	}
}

// rounding is the share of the largest variance that is lost in a product of float32 matrices. A
// smaller variance counts as none.
const rounding = 1e-6

// findDirections sets Directions to the first k principal directions of the n rows of z, and
// Damping to match. It subtracts the mean of the rows from z.
func (f *Flattening) findDirections(z []float32, n, k int, pool *kernel.Pool) error {
	width := len(f.Gain)
	sum := make([]float32, width)
	kernel.SumRows(sum, z, width)
	for at := 0; at < len(z); at += width {
		kernel.Axpy(z[at:], -1/float32(n), sum)
	}
	// Principal directions of n rows are combinations of them, with the eigenvectors of their
	// products: a matrix of n by n instead of width by width.
	products := make([]float32, n*n)
	pool.Gemm(false, true, n, n, width, 1, z, width, z, width, 0, products, n)
	values, vectors, err := topPairs(products, n, min(n-1, width), k, pool)
	if err != nil || !(values[k-1] > rounding*values[0]) {
		return fmt.Errorf("flatten: %d drawn rows vary along fewer directions than the %d to flatten, expected fewer of these or other rows", n, k)
	}
	f.Directions = make([]float32, k*width)
	pool.Gemm(false, false, k, width, n, 1, vectors, n, z, width, 0, f.Directions, width)
	f.Damping = make([]float32, k)
	for i, e := range values {
		toUnit(f.Directions[i*width : (i+1)*width])
		f.Damping[i] = float32(1 - math.Sqrt(values[k-1]/e))
	}
	return nil
}

// flattenBatch is the number of rows that are flattened together: enough for a fast product of
// matrices, and few enough to stay in the processor's caches.
const flattenBatch = 1024

// apply replaces each of the rows, which lie one after the other, by its flattened row. That
// depends on the row alone, bit for bit: not on the others, their number or the threads. It has
// norm 1, but the mean of the drawn rows becomes zero, and a row with a value that is not finite
// becomes one that is not finite.
func (f *Flattening) apply(rows []float32, pool *kernel.Pool) {
	width := len(f.Gain)
	k := len(f.Damping)
	along := make([]float32, min(flattenBatch, len(rows)/width)*k)
	for ; len(rows) > 0; rows = rows[min(flattenBatch*width, len(rows)):] {
		z := rows[:min(flattenBatch*width, len(rows))]
		f.scaleRows(z, pool)
		if k == 0 {
			continue
		}
		n := len(z) / width
		c := along[:n*k]
		pool.Gemm(false, true, n, k, width, 1, z, width, f.Directions, width, 0, c, k)
		kernel.ScaleChannels(c, c, f.Damping)
		pool.Gemm(false, false, n, width, k, -1, c, k, f.Directions, width, 1, z, width)
		eachRow(z, width, pool, toUnit)
	}
}

// scaleRows applies Shift and Gain, then gives every block of a row its norm, and the row the norm 1.
func (f *Flattening) scaleRows(rows []float32, pool *kernel.Pool) {
	eachRow(rows, len(f.Gain), pool, func(z []float32) {
		kernel.Axpy(z, 1, f.Shift)
		kernel.ScaleChannels(z, z, f.Gain)
		rest := z
		for _, b := range f.Blocks {
			toNorm(rest[:b.Columns()], b.Norm())
			rest = rest[b.Columns():]
		}
		if len(f.Blocks) > 1 {
			toUnit(z)
		}
	})
}

func eachRow(rows []float32, width int, pool *kernel.Pool, change func(row []float32)) {
	pool.Run(len(rows)/width, 1, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			change(rows[i*width : (i+1)*width])
		}
	})
}

// minNorm is the least number that a row is divided by to give it norm 1.
const minNorm = 1e-8

// toUnit divides z by its norm, or by minNorm if that is larger.
func toUnit(z []float32) { toNorm(z, 1) }

func toNorm(z []float32, norm float64) {
	factor := float32(norm / math.Max(math.Sqrt(kernel.SumSquares(z)), minNorm))
	for j, v := range z {
		z[j] = v * factor
	}
}
