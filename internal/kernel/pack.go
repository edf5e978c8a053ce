package kernel

import "sync"

// The copies of blocks of a product in the order in which its tiles read them.

// packBuffers holds a packed block of A and one of B.
type packBuffers struct{ a, b []float32 }

// packs keeps the buffers between products: as many as compute at one time.
var packs = sync.Pool{New: func() any { return new(packBuffers) }}

// packB copies depth×cols of op(B) from src into panels as wide as a tile, one after the other,
// each row by row. What is right of the last column is left undefined.
func (p *packBuffers) packB(k *kernelSet, src []float32, layout matrix, depth, cols int) {
	p.b = grow(p.b, roundUp(cols, k.tileCols)*depth)
	for col := 0; col < cols; col += k.tileCols {
		packStrips(k, p.b[col*depth:], k.tileCols, src[col*layout.colStride:], layout.rowStride, layout.colStride, depth, min(k.tileCols, cols-col))
	}
}

// packA copies rows×depth of op(A) from src into tiles, one after the other, each column by column.
func (p *packBuffers) packA(k *kernelSet, src []float32, layout matrix, rows, depth int) {
	p.a = grow(p.a, roundUp(rows, k.tileRows)*depth)
	for row := 0; row < rows; row += k.tileRows {
		packStrips(k, p.a[row*depth:], k.tileRows, src[row*layout.rowStride:], layout.colStride, layout.rowStride, depth, min(k.tileRows, rows-row))
	}
}

// packStrips copies count strips of width values: value w of strip s goes from
// src[s*stripStride+w*valueStride] to dst[s*pitch+w]. One of the two strides of src is 1.
func packStrips(k *kernelSet, dst []float32, pitch int, src []float32, stripStride, valueStride, count, width int) {
	switch {
	case valueStride != 1:
		k.transpose(dst, pitch, src, valueStride, width, count)
	case width == 16 && pitch == 16:
		for s := range count {
			*(*[16]float32)(dst[s*16:]) = *(*[16]float32)(src[s*stripStride:])
		}
	default:
		for s := range count {
			copy(dst[s*pitch:s*pitch+width], src[s*stripStride:])
		}
	}
}

// grow returns buffer with length n, in new memory only when it is too small.
func grow(buffer []float32, n int) []float32 {
	if cap(buffer) < n {
		return make([]float32, n)
	}
	return buffer[:n]
}
