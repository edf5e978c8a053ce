package features

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dpsgd/internal/kernel"
)

// randomProducts is the matrix of products of n random rows of the width, whose columns have
// deviations that fall as a power of their number.
func randomProducts(n, width int, power float64, pool *kernel.Pool) []float32 {
	r := rand.New(rand.NewPCG(3, 4))
	rows, a := make([]float32, n*width), make([]float32, n*n)
	for i := range rows {
		rows[i] = float32(r.NormFloat64() * math.Pow(float64(i%width+1), -power))
	}
	pool.Gemm(false, true, n, n, width, 1, rows, width, rows, width, 0, a, n)
	return a
}

// The iteration finds what the whole decomposition finds: eigenvalues to 1e-4, and what rounding of
// the first leaves; and vectors that are orthonormal and that the matrix leaves in their direction,
// but for 3% of the k-th eigenvalue and rounding of the first.
func TestTopPairsAreThoseOfTheWholeDecomposition(t *testing.T) {
	pool := kernel.NewPool(2)
	defer pool.Close()
	for _, c := range []struct {
		n, width, k int
		power       float64
	}{
		{600, 800, 60, 0.5}, {600, 800, 60, 1.5}, {600, 800, 1, 0}, {600, 70, 70, 1}, {610, 800, 300, 0.7},
	} {
		a := randomProducts(c.n, c.width, c.power, pool)
		want, _, err := decompose(a, c.n, c.k)
		check(t, err)
		got, vectors, err := topPairs(slices.Clone(a), c.n, min(c.n, c.width), c.k, pool)
		check(t, err)
		for i := range want {
			if !(math.Abs(got[i]-want[i]) <= 1e-4*want[i]+1e-6*want[0]) {
				t.Errorf("%+v: eigenvalue %d is %v, expected %v", c, i, got[i], want[i])
			}
		}
		checkPairs(t, a, c.n, got, vectors, 0.03)
	}
}

// checkPairs wants orthonormal rows of vectors with a·v = value·v, but for the part of the last
// value and rounding.
func checkPairs(t *testing.T, a []float32, n int, values []float64, vectors []float32, part float64) {
	t.Helper()
	k := len(values)
	image, products := make([]float32, k*n), make([]float32, k*k)
	(*kernel.Pool)(nil).Gemm(false, false, k, n, n, 1, vectors, n, a, n, 0, image, n)
	(*kernel.Pool)(nil).Gemm(false, true, k, k, n, 1, vectors, n, vectors, n, 0, products, k)
	for i, p := range products {
		want := 0.0
		if i/k == i%k {
			want = 1
		}
		if !(math.Abs(float64(p)-want) <= 1e-4) {
			t.Fatalf("the product of vectors %d and %d is %v, expected %v", i/k, i%k, p, want)
		}
	}
	for i, value := range values {
		squares := 0.0
		for j := range n {
			squares += math.Pow(float64(image[i*n+j])-value*float64(vectors[i*n+j]), 2)
		}
		if rest := math.Sqrt(squares); rest > part*values[k-1]+1e-6*values[0] {
			t.Errorf("the matrix moves vector %d by %v besides %v times itself, expected at most %v", i, rest, value, part*values[k-1]+1e-6*values[0])
		}
	}
}
