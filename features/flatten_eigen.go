package features

import (
	"errors"
	"slices"

	"gonum.org/v1/gonum/mat"

	"dpsgd/internal/kernel"
)

// errDependent tells that vectors have fewer dimensions than there are of them.
var errDependent = errors.New("flatten: dependent vectors")

// eigenChunk is the number of eigenpairs that are looked for together: the decompositions on a subspace
// cost the cube of its dimension, its products with the matrix no more than that.
const eigenChunk = 256

// topPairs returns the k largest eigenvalues of a, a symmetric, positive semidefinite matrix (n, n)
// of the given rank or less, from the largest, and a unit eigenvector of each as the rows of vectors
// (k, n). They are the same for any number of threads. It overwrites a.
//
// A whole decomposition takes a minute where n is some thousands. This is subspace iteration under a
// filter, see [subspace.leading], a chunk at a time: what is found is subtracted from the matrix
// (Hotelling's deflation), whose largest eigenvalues then are the next ones.
func topPairs(a []float32, n, rank, k int, pool *kernel.Pool) (values []float64, vectors []float32, err error) {
	if n < 600 || 3*k >= 2*n {
		return decompose(a, n, k)
	}
	for found := 0; found < k; found = len(values) {
		want := min(eigenChunk, k-found)
		s := newSubspace(a, n, min(want+max(want/4, 32), rank-found), pool)
		more, basis, err := s.leading(want)
		if errors.Is(err, errDependent) { // the rank is lower: seldom enough to take a minute
			more, basis, err = decompose(a, n, want)
		}
		if err != nil {
			return nil, nil, err
		}
		deflate(a, n, more, basis, pool)
		values, vectors = append(values, more...), append(vectors, basis...)
	}
	all := &subspace{n: n, size: k, pool: pool, basis: vectors}
	err = all.orthonormalise() // across chunks
	return values, all.basis, err
}

// deflate subtracts from a eigenvalues with their eigenvectors, the rows of vectors.
func deflate(a []float32, n int, values []float64, vectors []float32, pool *kernel.Pool) {
	scaled := make([]float32, len(vectors))
	for i, e := range values {
		kernel.Axpy(scaled[i*n:], float32(e), vectors[i*n:(i+1)*n])
	}
	pool.Gemm(true, false, n, n, len(values), -1, scaled, n, vectors, n, 1, a, n)
}

// decompose is topPairs by the whole decomposition of a.
func decompose(a []float32, n, k int) (values []float64, vectors []float32, err error) {
	symmetric := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			symmetric.SetSym(i, j, float64(a[i*n+j]))
		}
	}
	var e mat.EigenSym
	if !e.Factorize(symmetric, true) {
		return nil, nil, errors.New("flatten: no eigenvalues, expected a matrix of finite values")
	}
	values = e.Values(nil) // from the smallest
	slices.Reverse(values)
	var columns mat.Dense
	e.VectorsTo(&columns)
	vectors = make([]float32, k*n)
	for i := range k {
		for j := range n {
			vectors[i*n+j] = float32(columns.At(j, n-1-i))
		}
	}
	return values[:k], vectors, nil
}
