package kernel

import (
	"fmt"
	"math"
)

// The activations write to y the function of each element of x, the gradients to dx the derivative
// times each element of dy. ReLU, Tanh and Sigmoid take the derivative from the result y, GELU and
// SiLU from the argument x. NaN in gives NaN out, but for a NaN in dy where ReLU is flat. SiLU and
// GELU of -Inf are NaN, as in PyTorch. A source longer than the destination is cut; a shorter one
// panics.

// ReLU computes max(x, 0).
func ReLU(y, x []float32) { active.relu(y, x[:len(y)]) }

// ReLUGrad computes dy where y > 0 and 0 elsewhere; y may be the argument of ReLU
// as well as its result.
func ReLUGrad(dx, y, dy []float32) { active.reluGrad(dx, y[:len(dx)], dy[:len(dx)]) }

// Tanh computes the hyperbolic tangent. It is exactly odd and at most 1.
func Tanh(y, x []float32) { active.tanh(y, x[:len(y)]) }

// TanhGrad computes (1 - y²)·dy for y = tanh(x).
func TanhGrad(dx, y, dy []float32) { active.tanhGrad(dx, y[:len(dx)], dy[:len(dx)]) }

// Sigmoid computes 1/(1 + exp(-x)).
func Sigmoid(y, x []float32) { active.sigmoid(y, x[:len(y)]) }

// SigmoidGrad computes y·(1 - y)·dy for y = sigmoid(x).
func SigmoidGrad(dx, y, dy []float32) { active.sigmoidGrad(dx, y[:len(dx)], dy[:len(dx)]) }

// SiLU computes x·sigmoid(x), also called swish.
func SiLU(y, x []float32) { active.silu(y, x[:len(y)]) }

// SiLUGrad computes s·(1 + x·(1 - s))·dy with s = sigmoid(x).
func SiLUGrad(dx, x, dy []float32) { active.siluGrad(dx, x[:len(dx)], dy[:len(dx)]) }

// GELU computes x·Φ(x) with the distribution function Φ of the standard normal:
// the exact form, which is PyTorch's default.
func GELU(y, x []float32) { active.gelu(y, x[:len(y)]) }

// GELUGrad computes (Φ(x) + x·φ(x))·dy with the density φ of the standard normal.
func GELUGrad(dx, x, dy []float32) { active.geluGrad(dx, x[:len(dx)], dy[:len(dx)]) }

// Add computes z = x + y, for instance where a residual branch joins.
func Add(z, x, y []float32) { active.add(z, x[:len(z)], y[:len(z)]) }

// each returns a loop that applies f to every element. eachSlope returns one that multiplies the
// derivative, slope, of each x by dy, the gradient of the output.
func each(f func(float32) float32) func(y, x []float32) {
	return func(y, x []float32) {
		for i, v := range x {
			y[i] = f(v)
		}
	}
}

func eachSlope(slope func(float32) float32) func(dx, x, dy []float32) {
	return func(dx, x, dy []float32) {
		for i, v := range x {
			dx[i] = slope(v) * dy[i]
		}
	}
}

func portableReLU(y, x []float32) {
	for i, v := range x {
		if v < 0 { // false for a NaN, which stays
			v = 0
		}
		y[i] = v
	}
}

func portableReLUGrad(dx, y, dy []float32) {
	for i, v := range y {
		switch {
		case v > 0:
			dx[i] = dy[i]
		case v <= 0:
			dx[i] = 0
		default:
			dx[i] = v
		}
	}
}

func portableTanhGrad(dx, y, dy []float32) {
	for i, v := range y {
		dx[i] = (1 - v*v) * dy[i]
	}
}

func portableSigmoidGrad(dx, y, dy []float32) {
	for i, v := range y {
		dx[i] = (v - v*v) * dy[i]
	}
}

func portableAdd(z, x, y []float32) {
	for i, v := range x {
		z[i] = v + y[i]
	}
}

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
