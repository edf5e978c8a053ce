package gradients

import (
	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/kernel"
)

// Rows contributes rows of features, without labels, to a release of their noisy sum.
type Rows struct {
	batcher *data.Batcher
	values  []float32
	targets []float32
	squares []float64
}

// rowsBatch is the largest number of rows that Contributions takes at a time.
const rowsBatch = 128

// NewRows returns the Rows of a set of features.
func NewRows(set *data.Features) (*Rows, error) {
	batcher, err := data.NewBatcher(set, data.Normalisation{})
	if err != nil {
		return nil, err
	}
	return &Rows{
		batcher: batcher, values: make([]float32, rowsBatch*set.Shape().Values()), targets: make([]float32, rowsBatch*batcher.Targets()),
		squares: make([]float64, rowsBatch),
	}, nil
}

func (r *Rows) Capacity() int { return rowsBatch }

// Contributions returns the rows with these indices, at most Capacity. They last until the next
// call.
func (r *Rows) Contributions(indices []int) (clip.Batch, error) {
	width := r.batcher.Shape().Values()
	if err := r.batcher.Fill(r.values, r.targets, indices); err != nil {
		return clip.Batch{}, err
	}
	for i := range indices {
		r.squares[i] = kernel.SumSquares(r.values[i*width : (i+1)*width])
	}
	return clip.Batch{SquaredNorms: r.squares, Parts: []clip.Part{clip.Stored(r.values, width)}}, nil
}
