package kernel

// What the convolutions and the filter gradients by Winograd's filtering share: tiles of the output
// and the windows of the image that they depend on.

// tiling cuts the output of a 3×3 convolution into tiles of m×m and the image into the windows of
// n×n, n = m+2, that these depend on.
type tiling struct {
	Conv
	tile, points           int // m and n
	tilesDown, tilesAcross int // in an image
	scratch                workspace
}

func newTiling(c Conv, tile int, p *Pool) tiling {
	return tiling{c, tile, tile + 2, ceilDiv(c.OutHeight(), tile), ceilDiv(c.OutWidth(), tile), newWorkspace(p, imageSpace)}
}

// suitsWinograd tells whether the transforms are made for the geometry: vectors of channels are a
// multiple of 8 long.
func (c Conv) suitsWinograd() bool {
	return c.KernelH == 3 && c.KernelW == 3 && c.StrideH == 1 && c.StrideW == 1 &&
		c.dilationH() == 1 && c.dilationW() == 1 && c.groups() == 1 &&
		c.In > 0 && c.Out > 0 && c.In%8 == 0 && c.Out%8 == 0 && c.Positions() > 0
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// windowTiles is the transformed windows V of some tiles, and the memory that the transform takes.
type windowTiles struct {
	v               []float32
	vStride, vPitch int       // from one ξ to the next, and from one tile
	zeros           []float32 // a row of padding
	windows         []float32 // a row of tiles, transformed down its columns
	windowRow       int
}

// transformWindows transforms a row of tiles of the image x to V, from tile first on.
func (t *tiling) transformWindows(w *windowTiles, transform tileTransform, x []float32, row, first int) {
	var from vectors
	for i := range t.points {
		from[i] = w.zeros
		if y := row*t.tile - t.PadH + i; y >= 0 && y < t.Height {
			from[i] = x[y*t.Width*t.In : (y+1)*t.Width*t.In]
		}
	}
	transform(1, t.Width*t.In, w.windows[t.PadW*t.In:], w.windowRow, 0, from, 0)
	for i := range t.points {
		for j := range t.points {
			from[j] = w.windows[i*w.windowRow+j*t.In : (i+1)*w.windowRow]
		}
		transform(t.tilesAcross, t.In, w.v[i*t.points*w.vStride+first*w.vPitch:], w.vStride, w.vPitch, from, t.tile*t.In)
	}
}

// cut takes n values off a buffer.
func cut(buffer *[]float32, n int) []float32 {
	part := (*buffer)[:n:n]
	*buffer = (*buffer)[n:]
	return part
}
