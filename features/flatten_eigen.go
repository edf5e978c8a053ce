package features

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"dpsgd/internal/kernel"
)

// errDependent says that the vectors of a basis are linearly dependent.
var errDependent = errors.New("flatten: dependent vectors")

// eigenChunk is the number of eigenpairs that are computed together. A decomposition on a subspace
// takes time with the cube of its dimension.
const eigenChunk = 256

// topPairs returns the k largest eigenvalues of a, a symmetric, positive semidefinite matrix (n, n)
// of the given rank or less, from the largest, and a unit eigenvector of each as the rows of
// vectors (k, n). They are the same for any number of threads. It overwrites a.
//
// A whole decomposition takes a minute where n is some thousands. This is subspace iteration under
// a filter, see [subspace.leading], for a chunk of pairs at a time. The pairs found are subtracted
// from the matrix (Hotelling's deflation), whose largest eigenvalues then are the next ones.
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

// deflate subtracts e·vᵀv from a for every eigenvalue e and its eigenvector v, a row of vectors.
func deflate(a []float32, n int, values []float64, vectors []float32, pool *kernel.Pool) {
	scaled := make([]float32, len(vectors))
	for i, e := range values {
		kernel.Axpy(scaled[i*n:], float32(e), vectors[i*n:(i+1)*n])
	}
	pool.Gemm(true, false, n, n, len(values), -1, scaled, n, vectors, n, 1, a, n)
}

// decompose returns what topPairs does, by the whole decomposition of a, which it does not change.
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

// subspace is a space of vectors that a symmetric matrix is applied to again and again.
type subspace struct {
	a       []float32 // (n, n)
	n, size int
	pool    *kernel.Pool
	basis   []float32 // (size, n)
	image   []float32 // basis·a after ritz; else working memory
}

// newSubspace returns the space of the images under a of size random vectors, always the same.
func newSubspace(a []float32, n, size int, pool *kernel.Pool) *subspace {
	s := &subspace{a, n, size, pool, make([]float32, size*n), make([]float32, size*n)}
	normals := rand.New(rand.NewPCG(1, 2))
	for i := range s.image {
		s.image[i] = float32(normals.NormFloat64())
	}
	s.multiply(s.basis, s.image, 1, 0)
	return s
}

const (
	maxPasses = 40   // several times what was ever needed
	settled   = 1e-5 // relative growth of an eigenvalue below which it counts as found
)

// leading returns the want largest eigenvalues and their eigenvectors, which share memory with the
// basis. It fails with errDependent if the rank of the matrix is below the subspace's dimension.
//
// It is subspace iteration with a Chebyshev filter (Zhou, Saad, Tiago and Chelikowsky,
// "Self-consistent-field calculations using Chebyshev-filtered subspace iteration", J. Comput.
// Phys. 219, 2006, algorithm 4.3): a polynomial of the matrix that is small on [0, edge], the edge
// being its smallest eigenvalue on the subspace, and grows fast above it. Between filters, the
// matrix is decomposed on the subspace, by Rayleigh and Ritz. It ends when the last wanted
// eigenvalue hardly grows; the relative error of an eigenvalue is about the square of that of its
// eigenvector.
func (s *subspace) leading(want int) (values []float64, vectors []float32, err error) {
	for pass, last := 0, 0.0; ; pass++ {
		if err := s.orthonormalise(); err != nil {
			return nil, nil, err
		}
		if values, err = s.ritz(); err != nil {
			return nil, nil, err
		}
		if grown := values[want-1] > last*(1+settled); !grown || pass == maxPasses {
			return values[:want], s.basis[:want*s.n], nil
		}
		last = values[want-1]
		s.filter(values[0], max(values[s.size-1], rounding*values[0]))
	}
}

// multiply computes y = alpha·x·a + beta·y.
func (s *subspace) multiply(y, x []float32, alpha, beta float32) {
	s.pool.Gemm(false, false, s.size, s.n, s.n, alpha, x, s.n, s.a, s.n, beta, y, s.n)
}

// combine replaces the vectors of the basis by combinations of them with coefficients (size, size),
// and, if image is true, those of the image by the same combinations.
func (s *subspace) combine(coefficients []float32, image bool) {
	spare := make([]float32, len(s.basis))
	s.pool.Gemm(false, false, s.size, s.n, s.size, 1, coefficients, s.size, s.basis, s.n, 0, spare, s.n)
	s.basis, spare = spare, s.basis
	if image {
		s.pool.Gemm(false, false, s.size, s.n, s.size, 1, coefficients, s.size, s.image, s.n, 0, spare, s.n)
		s.image = spare
	}
}

// orthonormalise replaces the basis by L⁻¹·basis, which is orthonormal, where L is the Cholesky
// factor of the products of its vectors, taken in float64. It does so twice, for what float32 loses
// the first time (Fukaya, Nakatsukasa, Yanagisawa and Yamamoto, "CholeskyQR2", ScalA 2014).
func (s *subspace) orthonormalise() error {
	for range 2 {
		products := mat.NewSymDense(s.size, nil)
		products.SymOuterK(1, toFloat64(s.basis, s.size, s.n))
		var cholesky mat.Cholesky
		if !cholesky.Factorize(products) {
			return errDependent
		}
		var inverse mat.TriDense // of L, which it holds first
		cholesky.LTo(&inverse)
		if !lapack64.Trtri(inverse.RawTriangular()) {
			return errDependent
		}
		rows := make([]float32, s.size*s.size)
		for i := range s.size {
			for j := range i + 1 {
				rows[i*s.size+j] = float32(inverse.At(i, j))
			}
		}
		s.combine(rows, false)
	}
	return nil
}

func toFloat64(x []float32, rows, cols int) *mat.Dense {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return mat.NewDense(rows, cols, y)
}

// ritz decomposes the matrix on the subspace, whose basis is orthonormal. It returns the
// eigenvalues there, from the largest, and leaves the eigenvectors in basis, their images in image.
func (s *subspace) ritz() (values []float64, err error) {
	s.multiply(s.image, s.basis, 1, 0)
	h := make([]float32, s.size*s.size)
	s.pool.Gemm(false, true, s.size, s.size, s.n, 1, s.image, s.n, s.basis, s.n, 0, h, s.size)
	values, vectors, err := decompose(h, s.size, s.size)
	if err != nil {
		return nil, err
	}
	s.combine(vectors, true)
	return values, nil
}

// maxGrowth bounds the factor by which a filter may lengthen a vector against those that it damps:
// float32 keeps seven digits, and eigenvectors in the basis contain that little of each other.
const maxGrowth = 1e9

// maxDegree bounds what a filter costs between two decompositions.
const maxDegree = 12

// filter replaces the basis by basis·T((2/edge)·a − 1), where T is the Chebyshev polynomial of the
// highest degree that maxGrowth and maxDegree allow: T₀ = 1, T₁ = x, T_{i+1} = 2·x·T_i − T_{i−1},
// above 1 cosh(i·arcosh x). Call it after ritz, with the largest eigenvalue and, as edge, with the
// number below which eigenvalues are to be damped.
func (s *subspace) filter(largest, edge float64) {
	degree := math.Log(2*maxGrowth) / math.Acosh(2*largest/edge-1)
	before, now := s.basis, s.image
	for i, v := range now {
		now[i] = float32(2/edge)*v - before[i]
	}
	for range int(min(degree, maxDegree)) - 1 {
		s.multiply(before, now, float32(4/edge), -1)
		kernel.Axpy(before, -2, now)
		before, now = now, before
	}
	s.basis, s.image = now, before
}
