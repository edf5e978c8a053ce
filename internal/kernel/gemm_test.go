package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// TestGemm compares every kernel with sums in float64, for shapes around the sizes at which tiles
// and blocks end, operands transposed or not, rows wider than the matrix, and the values of alpha
// and beta that take paths of their own. C starts as NaN where beta is zero; what lies between its
// rows must not change. In the shapes of several blocks every 13th element is looked at.
func TestGemm(t *testing.T) {
	sizes := []int{1, 2, 5, 6, 7, 8, 12, 13, 16, 17, 24, 31, 33, 47, 65}
	shapes := [][3]int{{11, 12, 1040}, {2, 1, 2000}, {390, 530, 260}, {67, 130, 700}, {193, 17, 321}, {1, 1000, 5}, {1000, 1, 5}, {1, 1, 2000}, {33, 129, 257}, {5, 128, 300}, {100, 480, 1050}}
	for i, m := range sizes {
		for j, n := range sizes {
			shapes = append(shapes, [3]int{m, n, sizes[(3*i+7*j)%len(sizes)]})
		}
	}
	scales := [][2]float32{{1, 0}, {1, 1}, {-0.5, 2}, {0, 1}}
	for _, k := range supportedKernels() {
		t.Run(k.name, func(t *testing.T) {
			defer use(k)()
			for i, s := range shapes {
				for trans := range 4 {
					c := gemmCase{
						transA: trans&1 != 0, transB: trans&2 != 0,
						m: s[0], n: s[1], k: s[2], gap: i % 3,
						alpha: scales[i%4][0], beta: scales[i%4][1],
					}
					c.check(t, nil)
				}
			}
		})
	}
}

// gemmCase is one product of random matrices.
type gemmCase struct {
	transA, transB bool
	m, n, k        int
	gap            int // values between rows that belong to nobody
	alpha, beta    float32
}

// operands returns A, B and C, with NaN between the rows, and their strides.
func (s gemmCase) operands() (a, b, c []float32, lda, ldb, ldc int) {
	a, lda = gappedMatrix(1, s.m, s.k, s.gap, s.transA)
	b, ldb = gappedMatrix(2, s.k, s.n, s.gap, s.transB)
	c, ldc = gappedMatrix(3, s.m, s.n, s.gap, false)
	if s.beta == 0 {
		fill(c, nan32)
	}
	return a, b, c, lda, ldb, ldc
}

// gappedMatrix returns a random matrix of rows×cols, stored transposed or not,
// and its stride. The last row has no gap behind it.
func gappedMatrix(seed uint64, rows, cols, gap int, transposed bool) ([]float32, int) {
	if transposed {
		rows, cols = cols, rows
	}
	stride := cols + gap
	x := randoms(seed, rows*stride)
	for i := range x {
		if i%stride >= cols {
			x[i] = nan32
		}
	}
	return x[:len(x)-gap], stride
}

func (s gemmCase) check(t *testing.T, p *Pool) {
	t.Helper()
	a, b, c, lda, ldb, ldc := s.operands()
	before := append([]float32(nil), c...)
	p.Gemm(s.transA, s.transB, s.m, s.n, s.k, s.alpha, a, lda, b, ldb, s.beta, c, ldc)
	every := 1
	if s.m*s.n*s.k > 1<<20 {
		every = 13
	}
	for i, got := range c {
		row, col := i/ldc, i%ldc
		if col >= s.n {
			if got == got {
				t.Fatalf("%+v: wrote %v right of row %d", s, got, row)
			}
			continue
		}
		if i%every != 0 {
			continue
		}
		want, size := s.reference(a, lda, b, ldb, before, ldc, row, col)
		// Every one of k+1 additions rounds by at most 2^-24 of the partial sum.
		if diff := math.Abs(float64(got) - want); !(diff <= float64(s.k+3)*size*0x1p-24) {
			t.Fatalf("%+v: C[%d][%d] = %v, want %v", s, row, col, got, want)
		}
	}
}

// reference returns one element of C and the sum of the absolute values of its terms.
func (s gemmCase) reference(a []float32, lda int, b []float32, ldb int, c []float32, ldc, i, j int) (value, size float64) {
	for l := range s.k {
		at, bt := i*lda+l, l*ldb+j
		if s.transA {
			at = l*lda + i
		}
		if s.transB {
			bt = j*ldb + l
		}
		term := float64(s.alpha) * float64(a[at]) * float64(b[bt])
		value += term
		size += math.Abs(term)
	}
	if s.beta != 0 {
		term := float64(s.beta) * float64(c[i*ldc+j])
		value += term
		size += math.Abs(term)
	}
	return value, size
}

// TestGemmThreads computes the same product on 1 to 8 threads, large enough that
// all get a share, and wants the same bits.
func TestGemmThreads(t *testing.T) {
	cases := []gemmCase{
		{m: 130, n: 300, k: 270, alpha: 1},
		{transB: true, m: 1500, n: 33, k: 100, alpha: 1, beta: 1},
		{transA: true, m: 37, n: 1000, k: 129, alpha: 0.5, beta: -1, gap: 3},
		{transA: true, transB: true, m: 500, n: 313, k: 27, alpha: 1},
		{transB: true, m: 99, n: 10, k: 1024, alpha: 1, gap: 1},
		{transB: true, m: 130, n: 700, k: 600, alpha: 1},
	}
	for _, k := range supportedKernels() {
		defer use(k)()
		for _, s := range cases {
			var want []float32
			for threads := 1; threads <= 8; threads++ {
				p := NewPool(threads)
				a, b, c, lda, ldb, ldc := s.operands()
				p.Gemm(s.transA, s.transB, s.m, s.n, s.k, s.alpha, a, lda, b, ldb, s.beta, c, ldc)
				p.Close()
				if threads == 1 {
					want = c
					continue
				}
				for i := range c {
					if math.Float32bits(c[i]) != math.Float32bits(want[i]) {
						t.Fatalf("%s %+v: element %d is %v on %d threads, %v on one", k.name, s, i, c[i], threads, want[i])
					}
				}
			}
		}
	}
}

// TestGemmNaNStaysInItsRow puts a NaN into one row of op(A) and one column of
// op(B): the row and the column of C are NaN and nothing else is. It holds for
// alpha and beta zero too, which are multiplied in.
func TestGemmNaNStaysInItsRow(t *testing.T) {
	for _, k := range supportedKernels() {
		defer use(k)()
		for _, s := range []gemmCase{
			{m: 14, n: 35, k: 9, alpha: 1},
			{transA: true, m: 70, n: 50, k: 400, alpha: 0},
			{transB: true, m: 70, n: 19, k: 40, alpha: 1, beta: 1},
			{transB: true, m: 7, n: 7, k: 1024, alpha: 1},
			{transA: true, m: 40, n: 131, k: 300, alpha: 1, beta: 1},
		} {
			a, b, c, lda, ldb, ldc := s.operands()
			row, col, l := s.m/2, s.n/3, s.k-1
			if s.transA {
				a[l*lda+row] = nan32
			} else {
				a[row*lda+l] = nan32
			}
			if s.transB {
				b[col*ldb+l] = nan32
			} else {
				b[l*ldb+col] = nan32
			}
			(*Pool)(nil).Gemm(s.transA, s.transB, s.m, s.n, s.k, s.alpha, a, lda, b, ldb, s.beta, c, ldc)
			for i, v := range c {
				if isNaN, want := v != v, i/ldc == row || i%ldc == col; isNaN != want {
					t.Fatalf("%s %+v: C[%d][%d] = %v with NaN in row %d and column %d", k.name, s, i/ldc, i%ldc, v, row, col)
				}
			}
		}
	}
}

// TestGemmEmpty holds the cases without products: no rows or columns touch
// nothing, and an empty sum leaves beta·C.
func TestGemmEmpty(t *testing.T) {
	var p *Pool
	p.Gemm(false, false, 0, 5, 3, 1, nil, 3, nil, 5, 0, nil, 5)
	p.Gemm(false, false, 5, 0, 3, 1, nil, 3, nil, 0, 0, nil, 0)

	c := []float32{1, 2, 3, 4, 5, 6}
	p.Gemm(false, false, 2, 2, 0, 1, nil, 0, nil, 2, 2, c, 3)
	if want := []float32{2, 4, 3, 8, 10, 6}; !slices.Equal(c, want) {
		t.Errorf("beta 2 and k 0: C = %v, want %v", c, want)
	}
	c = []float32{nan32, 2, 3, 4}
	p.Gemm(false, false, 2, 2, 0, 1, nil, 0, nil, 2, 0, c, 2)
	if want := make([]float32, 4); !slices.Equal(c, want) {
		t.Errorf("beta 0 and k 0: C = %v, want %v", c, want)
	}
}

func BenchmarkGemm(b *testing.B) {
	for _, s := range gemmShapes {
		for _, k := range supportedKernels() {
			b.Run(fmt.Sprintf("%s/%s", s.name, k.name), func(b *testing.B) {
				defer use(k)()
				x, y, z := randoms(1, s.m*s.k), randoms(2, s.k*s.n), make([]float32, s.m*s.n)
				lda, ldb := s.k, s.n
				if s.transA {
					lda = s.m
				}
				if s.transB {
					ldb = s.k
				}
				var p *Pool
				b.ReportAllocs()
				for b.Loop() {
					p.Gemm(s.transA, s.transB, s.m, s.n, s.k, 1, x, lda, y, ldb, 0, z, s.n)
				}
				reportGFLOPs(b, s.m*s.n*s.k)
			})
		}
	}
}

// gemmShapes are the products that training consists of.
var gemmShapes = []struct {
	name           string
	transA, transB bool
	m, n, k        int
}{
	{"1024", false, false, 1024, 1024, 1024},
	{"mlp1000-forward", false, true, 256, 1000, 784},
	{"mlp1000-weights", true, false, 1000, 784, 256},
	// One image of cifar-cnn (32,32,64,64,128,128 channels, 3×3) forward,
	// weight gradient, and input gradient.
	{"conv1-forward", false, true, 1024, 32, 27},
	{"conv2-forward", false, true, 1024, 32, 288},
	{"conv3-forward", false, true, 256, 64, 288},
	{"conv5-forward", false, true, 64, 128, 576},
	{"conv1-weights", true, false, 32, 27, 1024},
	{"conv2-weights", true, false, 32, 288, 1024},
	{"conv4-weights", true, false, 64, 576, 256},
	{"conv6-weights", true, false, 128, 1152, 64},
	{"conv2-input", false, false, 1024, 288, 32},
	{"conv6-input", false, false, 64, 1152, 128},
	{"gram-64", false, true, 64, 64, 1152},
	// A layer of ten outputs on long rows.
	{"head-forward", false, true, 256, 10, 6912},
	{"head-weights", true, false, 10, 6912, 256},
	{"small", false, false, 16, 25, 16},
}

// TestDotsAgreeWithPortable computes every shape that begins, fills and leaves tiles, and compares
// with the portable twin. What lies between the rows of C must not change, and an element must be
// the same bit for bit when it is computed alone: a row of a product does not depend on how many
// others there are.
func TestDotsAgreeWithPortable(t *testing.T) {
	const k, gap = 3 * dotLanes, 2
	onEachKernelSet(t, func(t *testing.T) {
		if active.dots == nil {
			t.Skip("has tiles alone")
		}
		for rows := 1; rows <= 9; rows++ {
			for cols := 1; cols <= mostDots; cols++ {
				a, b := randoms(1, rows*(k+1)), randoms(2, cols*(k+gap))
				got, want := randoms(3, rows*(cols+gap)), randoms(3, rows*(cols+gap))
				active.dots(got, cols+gap, rows, cols, k, a, k+1, b, k+gap)
				portableDots(want, cols+gap, rows, cols, k, a, k+1, b, k+gap)
				checkClose(t, "products of rows", got, toFloat64(want), 1e-5)
				for i := range rows {
					for j := range cols {
						var alone [1]float32
						active.dots(alone[:], 1, 1, 1, k, a[i*(k+1):], k, b[j*(k+gap):], k)
						if alone[0] != got[i*(cols+gap)+j] {
							t.Fatalf("%d×%d: C[%d][%d] is %v, and %v alone", rows, cols, i, j, got[i*(cols+gap)+j], alone[0])
						}
					}
				}
			}
		}
	})
}
