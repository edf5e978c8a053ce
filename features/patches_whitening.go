package features

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
)

// A whitening maps patches x to matrix·(x - mean), whose covariance is about the identity.
type whitening struct {
	mean   *mat.VecDense
	matrix *mat.Dense
}

// newWhitening estimates the symmetric whitening matrix of patches in rows, (covariance +
// regularisation)^(-1/2): "ZCA" in Bell, Sejnowski, "The independent components of natural scenes
// are edge filters" (Vision Research 37, 1997).
func newWhitening(patches *mat.Dense) (whitening, error) {
	mean, covariance := patchMoments(patches)
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) {
		return whitening{}, errors.New("patches: the covariance of the patches has no eigenvectors that could be found")
	}
	var vectors, scaled, matrix mat.Dense
	eigen.VectorsTo(&vectors)
	values := eigen.Values(nil)
	scaled.Apply(func(_, j int, v float64) float64 {
		return v / math.Sqrt(max(values[j], 0)+regularisation)
	}, &vectors)
	matrix.Mul(&scaled, vectors.T())
	return whitening{mean, &matrix}, nil
}

// momentRows is the number of patches that are centred at a time.
const momentRows = 1000

// patchMoments returns mean and covariance of the rows.
func patchMoments(patches *mat.Dense) (*mat.VecDense, *mat.SymDense) {
	rows, n := patches.Dims()
	mean := mat.NewVecDense(n, nil)
	for i := range rows {
		mean.AddScaledVec(mean, 1/float64(rows), patches.RowView(i))
	}
	covariance := mat.NewSymDense(n, nil)
	centred := mat.NewDense(momentRows, n, nil)
	for from := 0; from < rows; from += momentRows {
		block := centred.Slice(0, min(momentRows, rows-from), 0, n).(*mat.Dense)
		block.Apply(func(i, j int, _ float64) float64 { return patches.At(from+i, j) - mean.AtVec(j) }, block)
		covariance.SymRankK(covariance, 1/float64(max(rows-1, 1)), block.T())
	}
	return mean, covariance
}

// filters returns the functions x → d·whitened x of the chosen patches d, themselves whitened and
// of norm 1, as weights·x - bias.
func (w whitening) filters(patches *mat.Dense, chosen []int) (weights *mat.Dense, bias []float64, err error) {
	n := w.mean.Len()
	weights, bias = mat.NewDense(len(chosen), n, nil), make([]float64, len(chosen))
	var centred, d, row mat.VecDense
	for i, number := range chosen {
		centred.SubVec(patches.RowView(number), w.mean)
		d.MulVec(w.matrix, &centred)
		norm := mat.Norm(&d, 2)
		if norm == 0 {
			return nil, nil, errors.New("patches: the patches of the drawn pictures are all alike")
		}
		row.MulVec(w.matrix, &d)
		row.ScaleVec(1/norm, &row)
		bias[i] = mat.Dot(&row, w.mean)
		// A patch has mean 0, so a constant is nothing to it: the filter gets sum 0, and means
		// need not be subtracted from patches.
		constant := mat.Sum(&row) / float64(n)
		for j := range n {
			weights.Set(i, j, row.AtVec(j)-constant)
		}
	}
	return weights, bias, nil
}
