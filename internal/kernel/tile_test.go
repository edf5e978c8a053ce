package kernel

import (
	"fmt"
	"testing"
)

// TestPanelAgreesWithPortable runs the panel of every kernel set for every shape
// that a tile can have, on A and its transpose, and compares with the portable
// twin. C and what surrounds it must differ nowhere else.
func TestPanelAgreesWithPortable(t *testing.T) {
	for _, k := range supportedKernels() {
		for rows := 1; rows <= 2*k.tileRows+1; rows++ {
			for cols := 1; cols <= k.tileCols; cols++ {
				depth := (rows + cols) % 9
				for _, beta := range []float32{0, 0.5} {
					comparePanels(t, k, rows, cols, depth, beta, rows%2 == 0)
				}
			}
		}
	}
}

func comparePanels(t *testing.T, k *kernelSet, rows, cols, depth int, beta float32, transposed bool) {
	t.Helper()
	stride := cols + 5
	values := randoms(uint64(rows), (rows+1)*(depth+1))
	right := randoms(uint64(cols), (depth+1)*stride)
	a := blockA{data: values, rowStride: depth + 1, colStride: 1}
	if transposed {
		a = blockA{data: values, rowStride: 1, colStride: rows + 1}
	}
	a.tileStride = k.tileRows * a.rowStride
	got, want := randoms(3, rows*stride), randoms(3, rows*stride)
	k.panel(a, blockB{right, stride}, blockC{got, stride, rows, cols, depth}, 1.5, beta)

	// The twin computes row by row and column by column: tiles of its own size.
	for i := range rows {
		for j := range cols {
			single := blockA{data: a.data[i*a.rowStride:], rowStride: a.rowStride, colStride: a.colStride}
			portablePanel(single, blockB{right[j:], stride}, blockC{want[i*stride+j:], stride, 1, 1, depth}, 1.5, beta)
		}
	}
	checkClose(t, fmt.Sprintf("%s %d×%d×%d, beta %v, transposed %t", k.name, rows, cols, depth, beta, transposed),
		got, toFloat64(want), 2e-6)
}

// TestTranspose covers all bands and rests.
func TestTranspose(t *testing.T) {
	for _, k := range supportedKernels() {
		for rows := range 35 {
			for _, cols := range []int{0, 1, 7, 8, 9, 16, 30} {
				srcStride, dstStride := cols+2, rows+1
				src, dst := randoms(1, rows*srcStride), make([]float32, cols*dstStride)
				k.transpose(dst, dstStride, src, srcStride, rows, cols)
				for i, got := range dst {
					var want float32
					if row := i % dstStride; row < rows {
						want = src[row*srcStride+i/dstStride]
					}
					if got != want {
						t.Fatalf("%s %d×%d: dst[%d] = %v, want %v", k.name, rows, cols, i, got, want)
					}
				}
			}
		}
	}
}

// BenchmarkPanel measures the tiles alone, in the first-level cache; on amd64
// BenchmarkMultiplyAdds measures what they can reach at most.
func BenchmarkPanel(b *testing.B) {
	for _, k := range supportedKernels() {
		b.Run(k.name, func(b *testing.B) {
			const depth, tiles = 256, 8
			left, right := randoms(1, k.tileRows*depth), randoms(2, k.tileCols*depth)
			product := make([]float32, k.tileRows*k.tileCols*tiles)
			c := blockC{product, k.tileCols, tiles * k.tileRows, k.tileCols, depth}
			for b.Loop() {
				k.panel(blockA{left, 1, k.tileRows, 0}, blockB{right, k.tileCols}, c, 1, 0)
			}
			reportGFLOPs(b, tiles*k.tileRows*k.tileCols*depth)
		})
	}
}

// reportGFLOPs reports the rate of a benchmark with so many multiply-adds a round.
func reportGFLOPs(b *testing.B, multiplyAdds int) {
	b.ReportMetric(2*float64(multiplyAdds)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
