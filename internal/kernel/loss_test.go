package kernel

import (
	"fmt"
	"math"
	"testing"
)

// crossEntropy is the definition for one row, in float64.
func crossEntropy(row []float64, label int) float64 {
	largest := math.Inf(-1)
	for _, v := range row {
		largest = max(largest, v)
	}
	var sum float64
	for _, v := range row {
		sum += math.Exp(v - largest)
	}
	return math.Log(sum) + largest - row[label]
}

func TestSoftmaxCrossEntropy(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, classes := range []int{1, 2, 10, 101} {
			const rows = 7
			logits := randoms(1, rows*classes)
			Axpy(logits, 4, randoms(2, len(logits)))
			labels := make([]int32, rows)
			want := make([]float64, rows)
			for i := range labels {
				labels[i] = int32(i * 5 % classes)
				want[i] = crossEntropy(toFloat64(logits[i*classes:(i+1)*classes]), int(labels[i]))
			}
			losses, dlogits := make([]float32, rows), make([]float32, len(logits))
			SoftmaxCrossEntropy(losses, dlogits, logits, labels, classes)
			checkClose(t, "losses", losses, want, 1e-6)
			checkGradient(t, "dlogits", dlogits, logits, func(x []float64) float64 {
				var sum float64
				for i, label := range labels {
					sum += crossEntropy(x[i*classes:(i+1)*classes], int(label))
				}
				return sum
			})
		}
	})
}

// TestSoftmaxCrossEntropyExtremes walks through logits beyond the range of exp.
func TestSoftmaxCrossEntropyExtremes(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		for _, c := range []struct {
			logits []float32
			loss   float32
			grad   []float32
		}{
			{[]float32{1e30, 0}, 0, []float32{0, 0}},
			{[]float32{0, 1000}, 1000, []float32{-1, 1}},
			{[]float32{-1e30, -1e30}, math.Ln2, []float32{-0.5, 0.5}},
			{[]float32{5, -inf32}, 0, []float32{0, 0}},
			{[]float32{-inf32, 5}, inf32, []float32{-1, 1}},
		} {
			losses, grad := make([]float32, 1), make([]float32, 2)
			SoftmaxCrossEntropy(losses, grad, c.logits, []int32{0}, 2)
			if losses[0] != c.loss || grad[0] != c.grad[0] || grad[1] != c.grad[1] {
				t.Errorf("%v: loss %v, gradient %v, want %v, %v", c.logits, losses[0], grad, c.loss, c.grad)
			}
		}
	})
}

// TestSoftmaxCrossEntropyIsolation: a row that is not finite is NaN from end to
// end and the others do not change; a padding row is zero whatever it holds.
func TestSoftmaxCrossEntropyIsolation(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		const rows, classes = 5, 3
		clean := randoms(1, rows*classes)
		labels := []int32{0, 1, 2, -1, 1}
		wantLosses, wantGrad := make([]float32, rows), make([]float32, rows*classes)
		SoftmaxCrossEntropy(wantLosses, wantGrad, clean, labels, classes)
		for _, bad := range []float32{nan32, inf32} {
			for at := range clean {
				logits := append([]float32(nil), clean...)
				logits[at] = bad
				losses, grad := make([]float32, rows), make([]float32, rows*classes)
				SoftmaxCrossEntropy(losses, grad, logits, labels, classes)
				for i := range grad {
					row := i / classes
					if row == at/classes && labels[row] >= 0 {
						if grad[i] == grad[i] || losses[row] == losses[row] {
							t.Fatalf("%v in row %d: loss %v, gradient %v", bad, row, losses[row], grad[i])
						}
					} else if grad[i] != wantGrad[i] || losses[row] != wantLosses[row] {
						t.Fatalf("%v at %d changes row %d", bad, at, row)
					}
				}
			}
		}
		for _, v := range append(wantGrad[9:12:12], wantLosses[3]) {
			if math.Float32bits(v) != 0 {
				t.Errorf("padding row has loss %v and gradient %v, want zeros", wantLosses[3], wantGrad[9:12])
			}
		}
	})
}

func TestSoftmaxCrossEntropyLabelTooLarge(t *testing.T) {
	defer func() {
		if v := recover(); v != "kernel: label 3 of row 1, expected less than 3 classes" {
			t.Errorf("recovered %v", v)
		}
	}()
	SoftmaxCrossEntropy(make([]float32, 2), make([]float32, 6), make([]float32, 6), []int32{2, 3}, 3)
}

// Two rows with the same logits; the second is padding.
func ExampleSoftmaxCrossEntropy() {
	losses, dlogits := make([]float32, 2), make([]float32, 4)
	SoftmaxCrossEntropy(losses, dlogits, []float32{0, 0, 0, 0}, []int32{1, -1}, 2)
	fmt.Println(losses, dlogits)
	// Output: [0.6931472 0] [0.5 -0.5 0 0]
}
