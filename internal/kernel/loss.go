package kernel

import (
	"fmt"
	"math"
)

// SoftmaxCrossEntropy computes for every row of logits (rows, classes) the loss
//
//	losses[i] = log Σⱼ exp(logits[i][j]) - logits[i][labels[i]]
//
// and, unless dlogits is nil, its gradient softmax(logits[i]) - onehot(labels[i]).
// The number of rows is len(labels). Large logits do not overflow. A row that
// holds a NaN or +Inf gets NaN for loss and gradient and affects no other row.
//
// A row with a negative label is padding: loss and gradient are exactly zero
// whatever the logits hold. A label of classes or more panics. The slice of
// dlogits may be that of logits.
func SoftmaxCrossEntropy(losses, dlogits, logits []float32, labels []int32, classes int) {
	for i, label := range labels {
		if int(label) >= classes {
			panic(fmt.Sprintf("kernel: label %d of row %d, expected less than %d classes", label, i, classes))
		}
		row := logits[i*classes : (i+1)*classes]
		var grad []float32
		if dlogits != nil {
			grad = dlogits[i*classes : (i+1)*classes]
		}
		if label < 0 {
			losses[i] = 0
			clear(grad)
			continue
		}
		losses[i] = crossEntropyRow(grad, row, int(label))
	}
}

// crossEntropyRow returns the loss of one row and writes its gradient unless grad
// is nil.
func crossEntropyRow(grad, row []float32, label int) float32 {
	largest := row[0]
	for _, v := range row {
		if v > largest || v != v {
			largest = v
		}
	}
	target := row[label] - largest
	var sum float64
	if grad == nil {
		for _, v := range row {
			sum += float64(exp32(v - largest))
		}
	} else {
		for j, v := range row {
			grad[j] = v - largest
		}
		active.exp(grad, grad)
		for _, e := range grad {
			sum += float64(e)
		}
		scale := float32(1 / sum)
		for j := range grad {
			grad[j] *= scale
		}
		grad[label]--
	}
	return float32(math.Log(sum) - float64(target))
}
