package records

import (
	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/release"
)

// Means contributes the mean of each client's rows of features: what is released of them is their
// sum, in which clients count alike.
type Means struct {
	own     [][]int
	batcher *data.Batcher
	row     []float32
	labels  []int32
	mean    []float32
	square  []float64
}

var _ release.Contributor = (*Means)(nil)

// NewMeans contributes the means of clients who hold these rows.
func NewMeans(rows *data.Features, own [][]int) (*Means, error) {
	batcher, err := data.NewBatcher(rows, data.Normalisation{})
	width := rows.Shape().Values()
	return &Means{own, batcher, make([]float32, width), make([]int32, 1), make([]float32, width), make([]float64, 1)}, err
}

// Capacity implements [release.Contributor].
func (m *Means) Capacity() int { return 1 }

// Contributions returns the mean of the client with this index; of one without examples it is zero.
func (m *Means) Contributions(indices []int) (clip.Batch, error) {
	clear(m.mean)
	own := m.own[indices[0]]
	for i := range own {
		if err := m.batcher.Fill(m.row, m.labels, own[i:i+1]); err != nil {
			return clip.Batch{}, err
		}
		kernel.Axpy(m.mean, 1/float32(len(own)), m.row)
	}
	m.square[0] = kernel.SumSquares(m.mean)
	return clip.Batch{SquaredNorms: m.square, Parts: []clip.Part{clip.Stored(m.mean, len(m.mean))}}, nil
}
