package model

import (
	"math"

	"dpsgd/internal/random"
)

// Parameter describes one tensor of a network that can be trained.
type Parameter struct {
	// Name as in the state_dict of PyTorch's nn.Sequential, such as "0.weight".
	Name string
	// Shape in PyTorch's layout.
	Shape []int
	// Offset of the first value in the network's parameter vector.
	Offset int

	frozen   bool  // not trained; Offset counts in the vector of these
	variance bool  // its values are at least 0
	order    []int // memory order: axis i in memory is axis order[i] of Shape; nil where both agree
}

// Size returns the number of values.
func (p Parameter) Size() int { return product(p.Shape) }

// eachPair calls f once for every value, with its offset in memory and its offset in PyTorch's
// layout, in the order of memory.
func (p Parameter) eachPair(f func(memory, torch int)) {
	order := p.order
	if order == nil {
		for i := range p.Size() {
			f(i, i)
		}
		return
	}
	strides := make([]int, len(p.Shape))
	for axis, stride := len(p.Shape)-1, 1; axis >= 0; axis-- {
		strides[axis] = stride
		stride *= p.Shape[axis]
	}
	index := make([]int, len(order)) // counts in memory order, last axis fastest
	for memory := range p.Size() {
		torch := 0
		for i, axis := range order {
			torch += index[i] * strides[axis]
		}
		f(memory, torch)
		for i := len(order) - 1; i >= 0; i-- {
			if index[i]++; index[i] < p.Shape[order[i]] {
				break
			}
			index[i] = 0
		}
	}
}

// initialiser fills the values of a parameter before training, with draws from src if it is random.
type initialiser func(values []float32, src *random.Public)

// uniform returns an initialiser that draws from ±1/√fanIn: PyTorch's for linear and convolution.
func uniform(fanIn int) initialiser { return within(1 / math.Sqrt(float64(fanIn))) }

// within returns an initialiser that draws from ±bound.
func within(bound float64) initialiser {
	return func(values []float32, src *random.Public) {
		for i := range values {
			values[i] = float32(bound * (2*src.Float64() - 1))
		}
	}
}

// gaussian returns an initialiser that draws normal values of that deviation, by the method of Box
// and Muller.
func gaussian(deviation float64) initialiser {
	return func(values []float32, src *random.Public) {
		for i := range values {
			length := math.Sqrt(-2 * math.Log(src.Float64()))
			values[i] = float32(deviation * length * math.Cos(2*math.Pi*src.Float64()))
		}
	}
}

// constant returns an initialiser that fills a parameter with one value.
func constant(v float32) initialiser {
	return func(values []float32, _ *random.Public) {
		for i := range values {
			values[i] = v
		}
	}
}

func product(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}
