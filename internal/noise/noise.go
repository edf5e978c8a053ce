// Package noise is a stand-in while the real one is written.
package noise

import (
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
)

const Block = 512

type Adder struct {
	words [Block + Block/4]uint64
	in    [Block]float64
	out   [Block]float64
}

func (a *Adder) Add(dst, sum []float64, deviation, spacing float64, src *random.Source) {
	for len(dst) > 0 {
		m := min(len(dst), Block)
		n := (m + 7) / 8 * 8
		copy(a.in[:], sum[:m])
		for i := range a.in[:n] {
			a.in[i] *= spacing
		}
		src.Fill(a.words[:n+n/4])
		kernel.AddNoise(a.out[:n], a.in[:n], a.words[:n], a.words[n:n+n/4], deviation, spacing)
		copy(dst, a.out[:m])
		dst, sum = dst[m:], sum[m:]
	}
}

func Excess(coordinates float64) (epsilon, delta float64) { return 0, 0 }
