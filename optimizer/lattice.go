package optimizer

import (
	"fmt"
	"math"

	"dpsgd/internal/random"
)

// lattice is the set of multiples of spacing, a power of two, so that dividing by it and multiplying with it are exact.
type lattice struct {
	spacing float64
}

// latticeBits is how much finer than the bound the lattice is. At 30, rounding the sum of a million coordinates costs
// 10^-6 of noise, and sums of 2^22 bounds and noise up to MaxNoiseMultiplier have room in 53 bits.
const latticeBits = 30

// latticeFor returns the lattice for sums of the given bound: its spacing is in (bound·2^-31, bound·2^-30]. It
// depends on nothing but the bound, which is public.
func latticeFor(bound float64) (lattice, error) {
	const most = 0x1p512 // far from the ends of float64
	if !(bound >= 1/most && bound <= most) {
		return lattice{}, fmt.Errorf("optimizer: bound of the sum is %g, must be from %g to %g", bound, 1/most, most)
	}
	_, exponent := math.Frexp(bound) // bound = f·2^exponent, f in [1/2, 1)
	return lattice{math.Ldexp(1, exponent-1-latticeBits)}, nil
}

// index returns the number of the lattice point next to x, saturated where an int64 plus noise might overflow.
func (l lattice) index(x float64) int64 {
	const most = 0x1p61
	return int64(max(-most, min(most, math.RoundToEven(x/l.spacing))))
}

// addNoise rounds the values to the lattice and adds Gaussian noise of the given standard deviation, on the lattice
// too, in integers. Every chunk of coordinates has its own stream, split off src in order, so that the result is the
// same on any number of processors.
func (l lattice) addNoise(values []float64, deviation float64, src *random.Source) {
	streams := make([]*random.Source, chunks(len(values)))
	for i := range streams {
		streams[i] = src.Split()
	}
	inUnits := deviation / l.spacing
	inChunks(len(values), func(chunk, from, to int) {
		var normals [512]float64
		var words [512]uint64
		for from < to {
			block := values[from:min(from+len(normals), to)]
			random.Normals(normals[:len(block)], streams[chunk])
			streams[chunk].Fill(words[:len(block)])
			for i, v := range block {
				block[i] = float64(l.index(v)+roundAtRandom(normals[i]*inUnits, words[i])) * l.spacing
			}
			from += len(block)
		}
	})
}

// roundAtRandom rounds x, |x| < 2^52, up with a probability equal to its fractional part and down otherwise, as the
// random word decides: the mean is x. Rounding to nearest would put the last bit of x on the borders between integers,
// and make some integers more likely than others by a relative 2^-20; at random, these errors average out.
func roundAtRandom(x float64, word uint64) int64 {
	down := math.Floor(x)
	uniform := float64(int64(word>>12)) * 0x1p-52
	return int64(down) + int64(x-down+uniform) // the last term is 0 or 1, also when the fraction rounds to 1
}
