package kernel

import (
	"math"
	"math/rand/v2"
)

var nan32 = float32(math.NaN())

// use makes every kernel run on k until the returned function is called.
func use(k *microKernel) func() {
	before := active
	active = k
	return func() { active = before }
}

// randoms returns n standard normals from a stream of their own.
func randoms(seed uint64, n int) []float32 {
	src := rand.New(rand.NewPCG(seed, 0))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(src.NormFloat64())
	}
	return x
}

func fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}
