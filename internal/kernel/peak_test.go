package kernel

import "testing"

func BenchmarkPanel(b *testing.B) {
	for _, k := range supportedKernels() {
		b.Run(k.name, func(b *testing.B) {
			const depth = 256
			x, y, z := randoms(1, k.rows*depth), randoms(2, k.cols*depth), make([]float32, k.rows*k.cols*4)
			for b.Loop() {
				k.panel(blockA{x, 1, k.rows, 0}, blockB{y, k.cols}, blockC{z, k.cols, 4 * k.rows, k.cols, depth}, 1, 0)
			}
			b.ReportMetric(2*4*depth*float64(k.rows*k.cols)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
