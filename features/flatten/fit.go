package flatten

import (
	"fmt"
	"math"
	"slices"

	"dpsgd/internal/kernel"
)

// Options says how rows are laid out and how much of them is flattened.
type Options struct {
	// Blocks are the parts of a row, from its first column to its last.
	Blocks []Block
	// Directions is k, how many principal directions are flattened.
	Directions int
}

// Block is a part of a row: Channels times Positions columns, those of one channel together.
type Block struct{ Channels, Positions int }

func (b Block) columns() int { return b.Channels * b.Positions }

// Flattening is the map that [Fit] learnt. It is safe for concurrent use.
type Flattening struct {
	blocks     []Block
	shift      []float32 // −mean of each column
	gain       []float32 // 1/scale of each column
	directions []float32 // (k, width), orthonormal rows
	damping    []float32 // 1 − √(eₖ/eᵢ) of each direction
	variances  []float64 // eᵢ
}

// minScale keeps channels that hardly vary on drawn pictures from filling the row.
const minScale = 1e-4

// Fit learns the map from n drawn rows, which lie one after the other. It leaves them as they are,
// takes memory for as many and for n·n more float32 values, and gives the same map for the same rows
// and any number of threads. It fails if there are fewer than two rows, if they are not n of what
// the blocks say, if a value is not finite, and if the rows do not vary along as many directions as
// are asked for; n rows vary along n−1 at most.
func Fit(rows []float32, n int, o Options, pool *kernel.Pool) (*Flattening, error) {
	width := 0
	for i, b := range o.Blocks {
		if b.Channels < 1 || b.Positions < 1 {
			return nil, fmt.Errorf("flatten: block %d has %d channels of %d positions, expected at least one of each", i, b.Channels, b.Positions)
		}
		width += b.columns()
	}
	if n < 2 || width == 0 || len(rows)/width != n || len(rows)%width != 0 {
		return nil, fmt.Errorf("flatten: %d values for %d drawn rows of %d columns, expected at least two rows and all their values", len(rows), n, width)
	}
	if most := min(n-1, width); o.Directions < 0 || o.Directions > most {
		return nil, fmt.Errorf("flatten: %d directions, expected 0 to %d for %d drawn rows of %d columns", o.Directions, most, n, width)
	}
	f := &Flattening{blocks: slices.Clone(o.Blocks)}
	if err := f.standardise(rows, width, pool); err != nil {
		return nil, err
	}
	if o.Directions == 0 {
		return f, nil
	}
	z := slices.Clone(rows)
	f.scaleRows(z, pool)
	if err := f.findDirections(z, n, o.Directions, pool); err != nil {
		return nil, err
	}
	return f, nil
}

// Variances returns e₁ ≥ … ≥ eₖ, the variances of the drawn rows, of norm 1 each, along the
// directions that are flattened: before that; after it, all are eₖ. The caller must not change them.
func (f *Flattening) Variances() []float64 { return f.variances }

// standardise learns the mean of every column and the scale of every channel.
func (f *Flattening) standardise(rows []float32, width int, pool *kernel.Pool) error {
	mean, deviation := make([]float64, width), make([]float64, width)
	pool.Run(width, 64, func(_, lo, hi int) { moments(mean[lo:hi], deviation[lo:hi], rows[lo:], width) })
	f.shift, f.gain = make([]float32, width), make([]float32, width)
	for j, m := range mean {
		f.shift[j] = float32(-m)
	}
	at := 0
	for _, b := range f.blocks {
		for range b.Channels {
			scale := 0.0
			for _, s := range deviation[at : at+b.Positions] {
				scale += s / float64(b.Positions)
			}
			if !(scale <= math.MaxFloat32) {
				return fmt.Errorf("flatten: a value of drawn rows in columns %d to %d is not finite, expected finite numbers", at, at+b.Positions-1)
			}
			for j := range b.Positions {
				f.gain[at+j] = float32(1 / max(scale, minScale))
			}
			at += b.Positions
		}
	}
	return nil
}

// moments writes the mean and the standard deviation, with n−1 degrees of freedom, of the first
// columns of rows, of which each begins width values after the one before.
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

// rounding is the part of the first variance that is lost in a product of float32 matrices: what
// is smaller is no variance.
const rounding = 1e-6

// findDirections learns the first k principal directions of the n rows of z, which it centres.
func (f *Flattening) findDirections(z []float32, n, k int, pool *kernel.Pool) error {
	width := len(f.gain)
	centre(z, n)
	// Principal directions of n rows are combinations of them, with the eigenvectors of their
	// products: a matrix of n by n instead of width by width.
	products := make([]float32, n*n)
	pool.Gemm(false, true, n, n, width, 1, z, width, z, width, 0, products, n)
	values, vectors, err := topPairs(products, n, min(n-1, width), k, pool)
	if err != nil || !(values[k-1] > rounding*values[0]) {
		return fmt.Errorf("flatten: %d drawn rows vary along fewer directions than the %d to flatten, expected fewer of these or other rows", n, k)
	}
	f.directions = make([]float32, k*width)
	pool.Gemm(false, false, k, width, n, 1, vectors, n, z, width, 0, f.directions, width)
	f.variances, f.damping = values, make([]float32, k)
	for i, e := range values {
		ToUnit(f.directions[i*width : (i+1)*width])
		f.damping[i] = float32(1 - math.Sqrt(values[k-1]/e))
		f.variances[i] = e / float64(n)
	}
	return nil
}
