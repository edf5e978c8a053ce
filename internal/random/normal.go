package random

import (
	"unsafe"

	"dpsgd/internal/kernel"
)

// Normals fills dst with independent standard normal numbers: those that [kernel.Normals] makes of the next words of
// src, one word each. What is missing from a multiple of [kernel.NormalsBlock] at the end is drawn and discarded.
func Normals(dst []float64, src *Source) {
	const piece = bufferWords
	for len(dst) >= kernel.NormalsBlock {
		n := min(len(dst)/kernel.NormalsBlock*kernel.NormalsBlock, piece)
		// The words are drawn to where the normals will be, and turned in place.
		words := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(dst))), n)
		src.Fill(words)
		kernel.Normals(dst[:n], words)
		dst = dst[n:]
	}
	if len(dst) > 0 {
		Normals(src.tail[:], src)
		copy(dst, src.tail[:])
		clear(src.tail[:])
	}
}
