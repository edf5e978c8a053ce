package kernel

import (
	"fmt"
	"math"
)

// The loss of a classifier and its gradient.

// SoftmaxCrossEntropy computes for every row of logits (rows, classes) the loss
//
//	losses[i] = log Σⱼ exp(logits[i][j]) - logits[i][labels[i]]
//
// and its gradient softmax(logits[i]) - onehot(labels[i]).
// The number of rows is len(labels). Large logits do not overflow. A row that
// holds a NaN or +Inf gets NaN for loss and gradient and affects no other row.
//
// A row with a negative label is padding: loss and gradient are exactly zero whatever the logits
// hold. A label of classes or more panics. dlogits may be the same slice as logits.
func SoftmaxCrossEntropy[L int32 | float32](losses, dlogits, logits []float32, labels []L, classes int) {
	for i, label := range labels {
		if int(label) >= classes {
			panic(fmt.Sprintf("kernel: label %v of row %d, expected less than %d classes", label, i, classes))
		}
	}
	// Enough rows at a time that the exponentials of a block are one loop, few
	// enough that they stay in the cache.
	rows := max(1, lossBlock/classes)
	for from := 0; from < len(labels); from += rows {
		to := min(from+rows, len(labels))
		crossEntropyRows(losses[from:to], dlogits[from*classes:to*classes], logits[from*classes:to*classes], labels[from:to], classes)
	}
}

// lossBlock is about how many logits a call of crossEntropyRows gets.
const lossBlock = 2048

// crossEntropyRows does what SoftmaxCrossEntropy does, for a few rows, with the gradient in grad.
func crossEntropyRows[L int32 | float32](losses, grad, logits []float32, labels []L, classes int) {
	for i, label := range labels {
		row, to := logits[i*classes:][:classes], grad[i*classes:][:classes]
		if label < 0 {
			clear(to)
			continue
		}
		largest := largest(row)
		losses[i] = row[int(label)] - largest
		for j, v := range row {
			to[j] = v - largest
		}
	}
	active.exp(grad, grad)
	for i, label := range labels {
		row := grad[i*classes:][:classes]
		if label < 0 {
			losses[i] = 0
			clear(row)
			continue
		}
		var even, odd float64
		for j := 0; j+1 < len(row); j += 2 {
			even += float64(row[j])
			odd += float64(row[j+1])
		}
		if len(row)%2 == 1 {
			even += float64(row[len(row)-1])
		}
		sum := even + odd
		scale := float32(1 / sum)
		for j := range row {
			row[j] *= scale
		}
		row[int(label)]--
		losses[i] = float32(math.Log(sum) - float64(losses[i]))
	}
}

// largest returns the largest value of a row, or any of its values if one is NaN:
// the sum over the differences from it is NaN then in any case. It compares integers in
// the order of the values, which processors do without a branch to mispredict.
func largest(row []float32) float32 {
	most := int32(math.MinInt32)
	for _, v := range row {
		most = max(most, ordered(int32(math.Float32bits(v))))
	}
	return math.Float32frombits(uint32(ordered(most)))
}

// ordered turns the bits of a float32 into an integer that sorts like the value, and back.
func ordered(bits int32) int32 { return bits ^ bits>>31&math.MaxInt32 }
