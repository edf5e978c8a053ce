package features

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"dpsgd/internal/kernel"
)

var testBlocks = []Block{{Channels: 4, Positions: 9}, {Channels: 5, Positions: 4, Weight: 0.4}}

const testWidth = 4*9 + 5*4

// correlated returns n rows of the width whose columns have means, different deviations and much in
// common.
func correlated(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 0))
	rows := make([]float32, n*testWidth)
	for i := range n {
		shared := [3]float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
		for j := range testWidth {
			v := r.NormFloat64() + 3*shared[j%3] + shared[j%2]
			rows[i*testWidth+j] = float32(5 + float64(j%7)*v)
		}
	}
	return rows
}

// mapOf is the map of the package's documentation in float64, one value at a time. Its directions
// are eigenvectors of the covariance of the columns.
func mapOf(drawn []float32, n, k int) func(row []float32) []float64 {
	mean, deviation := make([]float64, testWidth), make([]float64, testWidth)
	for j := range testWidth {
		for i := range n {
			mean[j] += float64(drawn[i*testWidth+j]) / float64(n)
		}
		for i := range n {
			deviation[j] += math.Pow(float64(drawn[i*testWidth+j])-mean[j], 2) / float64(n-1)
		}
	}
	first, scale := make([]int, testWidth), make([]float64, testWidth) // of the block of each column; of its channel
	column := 0
	for _, b := range testBlocks {
		begin := column
		for range b.Channels {
			average := 0.0
			for p := range b.Positions {
				average += math.Sqrt(deviation[column+p]) / float64(b.Positions)
			}
			for range b.Positions {
				first[column], scale[column] = begin, math.Max(average, 1e-4)
				column++
			}
		}
	}
	unit := func(z []float64) {
		squares := 0.0
		for _, v := range z {
			squares += v * v
		}
		for j := range z {
			z[j] /= math.Max(math.Sqrt(squares), 1e-8)
		}
	}
	standardised := func(row []float32) []float64 {
		z := make([]float64, testWidth)
		for j, v := range row {
			z[j] = (float64(v) - mean[j]) / scale[j]
		}
		unit(z[:first[testWidth-1]])
		unit(z[first[testWidth-1]:])
		for j := first[testWidth-1]; j < testWidth; j++ {
			z[j] *= 0.4
		}
		unit(z)
		return z
	}
	values, vectors := principal(n, func(i int) []float64 { return standardised(drawn[i*testWidth : (i+1)*testWidth]) })
	return func(row []float32) []float64 {
		z := standardised(row)
		result := slices.Clone(z)
		for i := range k {
			along := 0.0
			for j := range z {
				along += vectors.At(j, testWidth-1-i) * z[j]
			}
			for j := range z {
				result[j] -= (1 - math.Sqrt(values[testWidth-k]/values[testWidth-1-i])) * along * vectors.At(j, testWidth-1-i)
			}
		}
		unit(result)
		return result
	}
}

// principal returns the eigenvalues, from the smallest, and eigenvectors of the covariance of n
// rows.
func principal(n int, row func(i int) []float64) ([]float64, *mat.Dense) {
	mean, covariance := make([]float64, testWidth), mat.NewSymDense(testWidth, nil)
	for i := range n {
		for j, v := range row(i) {
			mean[j] += v / float64(n)
		}
	}
	for i := range n {
		z := row(i)
		for j := range z {
			z[j] -= mean[j]
		}
		covariance.SymRankOne(covariance, 1/float64(n), mat.NewVecDense(testWidth, z))
	}
	var e mat.EigenSym
	if !e.Factorize(covariance, true) {
		panic("no decomposition")
	}
	var vectors mat.Dense
	e.VectorsTo(&vectors)
	return e.Values(nil), &vectors
}

func testFit(drawn []float32, n, k int, pool *kernel.Pool) *Flattening {
	return must(fitFlattening(drawn, n, testBlocks, k, pool))
}

// The image of rows, of those that were drawn and of others, is that of the definition: for few
// rows and for so many that directions are found by iteration.
func TestApplyIsTheDefinition(t *testing.T) {
	for _, n := range []int{100, 700} {
		for _, k := range []int{0, 1, 8, 40} {
			drawn := correlated(1, n)
			f, definition := testFit(drawn, n, k, nil), mapOf(drawn, n, k)
			rows := slices.Concat(drawn[:20*testWidth], correlated(2, 20))
			images := slices.Clone(rows)
			f.apply(images, nil)
			for i := range 40 {
				for j, want := range definition(rows[i*testWidth : (i+1)*testWidth]) {
					if got := float64(images[i*testWidth+j]); !(math.Abs(got-want) <= 2e-5) {
						t.Fatalf("%d drawn rows, %d directions: value %d of row %d is %v, expected %v", n, k, j, i, got, want)
					}
				}
			}
		}
	}
}

// The image of a row does not depend, bit for bit, on the rows beside it, their number, or the
// threads; the map does not depend on the threads.
func TestRowsDoNotTouchEachOther(t *testing.T) {
	pool := kernel.NewPool(2)
	defer pool.Close()
	const n = 2*flattenBatch + 7
	drawn, rows := correlated(1, 700), correlated(2, n)
	f := testFit(drawn, 700, 20, pool)
	together, alone := slices.Clone(rows), slices.Clone(rows)
	f.apply(together, pool)
	rows[5*testWidth] = float32(math.NaN())
	f.apply(rows, nil)
	g := testFit(drawn, 700, 20, nil)
	for i := range n {
		row := alone[i*testWidth : (i+1)*testWidth]
		g.apply(row, nil)
		if !slices.Equal(row, together[i*testWidth:(i+1)*testWidth]) {
			t.Fatalf("row %d has another image alone than among %d", i, n)
		}
		if i != 5 && !slices.Equal(row, rows[i*testWidth:(i+1)*testWidth]) {
			t.Fatalf("row %d has another image beside a row that is not finite", i)
		}
	}
	if v := rows[5*testWidth+3]; v == v {
		t.Errorf("a row that is not finite becomes %v", v)
	}
}

// Columns that never change in drawn rows do no harm, and the drawn mean becomes zero.
func TestWhatDoesNotVary(t *testing.T) {
	const n = 100
	drawn := correlated(1, n)
	for i := range n {
		for j := range 9 {
			drawn[i*testWidth+j] = 3
		}
	}
	f := testFit(drawn, n, 10, nil)
	mean := make([]float32, testWidth)
	for j, v := range f.Shift {
		mean[j] = -v
	}
	f.apply(mean, nil)
	if slices.ContainsFunc(mean, func(v float32) bool { return v != 0 }) {
		t.Errorf("the drawn mean becomes %v, expected zeros", mean)
	}
	f.apply(drawn, nil)
	for i := range n {
		if norm := math.Sqrt(kernel.SumSquares(drawn[i*testWidth : (i+1)*testWidth])); !(math.Abs(norm-1) <= 1e-6) {
			t.Errorf("the norm of row %d is %v, expected 1", i, norm)
		}
	}
}

func TestFitChecksWhatItIsGiven(t *testing.T) {
	drawn := correlated(1, 30)
	infinite := slices.Clone(drawn)
	infinite[40] = float32(math.Inf(1))
	for _, c := range []struct {
		rows []float32
		n, k int
		says string
	}{
		{drawn, 30, 30, "found features.directions 30, expected 0 to 29 for 30 features.pictures of 56 values"},
		{drawn, 30, -1, "found features.directions -1, expected 0 to 29"},
		{infinite, 30, 1, "columns 40 to 43 is not finite"},
		{make([]float32, 1680), 30, 1, "30 drawn rows vary along fewer directions than the 1 to flatten"},
		{slices.Repeat(drawn[:10*56], 3), 30, 10, "30 drawn rows vary along fewer directions than the 10 to flatten"},
		{slices.Repeat(drawn[:10*56], 60), 600, 30, "600 drawn rows vary along fewer directions than the 30 to flatten"},
	} {
		_, err := fitFlattening(c.rows, c.n, testBlocks, c.k, nil)
		if err == nil || !strings.HasPrefix(err.Error(), "flatten: ") || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, expected one line that says %q", err, c.says)
		}
	}
}

// BenchmarkFit and BenchmarkApply are at the size of patch features of CIFAR-10: 768 channels on a
// grid of 3 by 3.
func BenchmarkFit(b *testing.B) {
	rows := benchmarkRows(2400)
	for _, k := range []int{0, 256, 1000} {
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			pool := kernel.NewPool(runtime.GOMAXPROCS(0))
			defer pool.Close()
			for b.Loop() {
				benchmarkFit(rows, k, pool)
			}
		})
	}
}

func BenchmarkApply(b *testing.B) {
	rows, drawn := benchmarkRows(4096), benchmarkRows(2400)
	for _, k := range []int{0, 256} {
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			pool := kernel.NewPool(runtime.GOMAXPROCS(0))
			defer pool.Close()
			f := benchmarkFit(drawn, k, pool)
			for b.Loop() {
				f.apply(rows, pool)
			}
			b.ReportMetric(50000/4096.*b.Elapsed().Seconds()/float64(b.N), "s/50,000-rows")
		})
	}
}

const benchmarkChannels = 768

func benchmarkRows(n int) []float32 {
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]float32, n*benchmarkChannels*9)
	for i := range rows {
		rows[i] = r.Float32()
	}
	return rows
}

func benchmarkFit(drawn []float32, k int, pool *kernel.Pool) *Flattening {
	return must(fitFlattening(drawn, len(drawn)/benchmarkChannels/9, []Block{{Channels: benchmarkChannels, Positions: 9}}, k, pool))
}
