package kernel

import (
	"math"
	"unsafe"
)

// Products of integers of 16 bits, two in a word.

// MostOfPair is the largest magnitude of an integer of a pair.
const MostOfPair = 1<<15 - 1

// Pair writes the integers of two rows to the halves of dst, first to the lower ones, for
// [Pool.GemmPairs]. None may be above [MostOfPair] in magnitude. second may be nil, for zeros. It
// panics when a row is shorter than dst.
func Pair(dst []int32, first, second []int16) {
	if second != nil {
		active.pair(dst, first[:len(dst)], second[:len(dst)])
		return
	}
	for i, v := range first[:len(dst)] {
		dst[i] = int32(v) & 0xffff
	}
}

func portablePair(dst []int32, first, second []int16) {
	for i := range dst {
		dst[i] = int32(first[i])&0xffff | int32(second[i])<<16
	}
}

// GemmPairs computes C = AᵀB in 32 bits, where row i of A, k×m, and of B, k×n, hold the integers of
// rows 2i and 2i+1 in their halves. C, m×n, is exact as long as no sum of magnitudes of products,
// for one of its elements, is above 2^31-1. C must not overlap A or B.
func (p *Pool) GemmPairs(m, n, k int, a, b, c []int32) {
	p.multiply(active.ofPairs, true, false, m, n, k, 1, words(a), m, words(b), n, 0, words(c), n)
}

// words returns x as float32 in the same memory, for the loops of products, which only move values.
func words(x []int32) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// AddShifted adds x·2^shift, for a shift from 0 to 63, to dst, or puts it there if first is set. It
// panics when dst is shorter than x.
func AddShifted(dst []int64, x []int32, shift int, first bool) {
	active.addShifted(dst[:len(x)], x, shift, first)
}

func portableAddShifted(dst []int64, x []int32, shift int, first bool) {
	dst = dst[:len(x)]
	if first {
		clear(dst)
	}
	for i, v := range x {
		dst[i] += int64(v) << (shift & 63)
	}
}

// portablePairs implements kernelSet.panel for words that hold pairs of integers.
func portablePairs(a blockA, b blockB, c blockC, _, beta float32) {
	for i := range c.rows {
		at := i/portableRows*a.tileStride + i%portableRows*a.rowStride
		var sums [portableCols]int32
		for l := range c.depth {
			v := int32(math.Float32bits(a.data[at+l*a.colStride]))
			first, second := int32(int16(v)), v>>16
			for j, word := range b.data[l*b.stride : l*b.stride+c.cols] {
				w := int32(math.Float32bits(word))
				sums[j&(portableCols-1)] += first*int32(int16(w)) + second*(w>>16)
			}
		}
		for j, to := range c.data[i*c.stride : i*c.stride+c.cols] {
			if beta != 0 {
				sums[j] += int32(math.Float32bits(to))
			}
			c.data[i*c.stride+j] = math.Float32frombits(uint32(sums[j]))
		}
	}
}
