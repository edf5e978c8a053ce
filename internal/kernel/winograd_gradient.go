package kernel

// winogradGradient computes the filter gradients of 3×3 convolutions of stride 1 by F(3×3, 2×2):
// for a tile of 2×2 outputs, the gradient is a correlation of the 4×4 window of the image with the
// 2×2 gradients of the outputs. Both are transformed, and the gradient of all tiles of one or many
// images is, for each of the 16 elements ξ,
//
//	M[ξ] (out, in) = D[ξ]ᵀ (out, tiles) · V[ξ] (tiles, in)
//
// and one transform back. That takes 4/9 of the multiplications of the definition.
//
// Unlike with larger tiles, the only products taken are such as the definition takes: of a window
// x₀…x₃ and gradients d₀, d₁, x₀ enters one ξ alone, whose other factor is d₀, x₃ one with d₁, and
// x₁ and x₂ belong to both. So rounding errors are relative to the terms of the definition, and a
// value far larger than its surroundings leaves nothing where it does not belong. The tests hold
// the gradient to 1e-6 of its norm. F(3×3, 4×4), with 1/4 of the multiplications, lacks this
// property.
type winogradGradient struct {
	tiling
	chunkTiles int // how many tiles are multiplied at a time, whole rows of them
}

const (
	gradientPoints  = 4
	gradientSquares = gradientPoints * gradientPoints
)

// newWinogradGradient returns the algorithm for c, nil when it does not apply.
func newWinogradGradient(c Conv, p *Pool) *winogradGradient {
	if !c.suitsWinograd() {
		return nil
	}
	t := newTiling(c, 2, p)
	return &winogradGradient{t, max(1, gradientTiles/t.tilesAcross) * t.tilesAcross}
}

// gradientTiles is about how many tiles are multiplied at a time: the matrices of one ξ stay in the
// second-level cache, and M, which does not where there are many channels, is updated seldom.
// Measured with BenchmarkConvolution on Zen 4.
const gradientTiles = 96

// partTiles is how many tiles a partial sum must have for its transform back to pay.
const partTiles = 128

// winogradSum is a sum of filter gradients in the making. Its memory belongs to a worker.
type winogradSum struct {
	*winogradGradient
	windowTiles
	tiles           int       // transformed and not yet multiplied
	begun           bool      // M holds something
	d               []float32 // as V for the gradients of the outputs
	dStride, dPitch int
	deltas          []float32 // a row of tiles, transformed down its columns
	deltaRow        int
	m               []float32
	mStride         int
	halfway         []float32 // a filter transformed back along its rows
}

// newSum returns an empty sum in the memory of a worker.
func (w *winogradGradient) newSum(worker int) winogradSum { return w.newSumOf(worker, w.Out) }

// newSumOf returns an empty sum like newSum, with room in M for only so many filters at a time.
func (w *winogradGradient) newSumOf(worker, filters int) winogradSum {
	s := winogradSum{winogradGradient: w}
	s.vPitch, s.dPitch = w.In+winogradPadding, w.Out+winogradPadding
	s.vStride, s.dStride = w.chunkTiles*s.vPitch+winogradPadding, w.chunkTiles*s.dPitch+winogradPadding
	s.mStride = filters*w.In + winogradPadding
	s.windowRow, s.deltaRow = (2*w.tilesAcross+2)*w.In, 2*w.tilesAcross*w.Out
	zeros := roundUp(max(w.Width*w.In, w.OutWidth()*w.Out), winogradPadding)
	halfway := gradientPoints * 3 * w.In
	buffer := w.scratch.get(worker, gradientSquares*(s.vStride+s.dStride+s.mStride)+gradientPoints*(s.windowRow+s.deltaRow)+zeros+halfway)
	s.v, s.d, s.m = cut(&buffer, gradientSquares*s.vStride), cut(&buffer, gradientSquares*s.dStride), cut(&buffer, gradientSquares*s.mStride)
	s.zeros, s.halfway = cut(&buffer, zeros), cut(&buffer, halfway)
	s.windows, s.deltas = cut(&buffer, gradientPoints*s.windowRow), cut(&buffer, gradientPoints*s.deltaRow)
	clear(s.zeros)
	clear(s.windows) // the columns of padding stay zero
	clear(s.deltas)
	return s
}

// add adds weight times the filter gradient of one image x, whose outputs have the gradient dz.
func (s *winogradSum) add(x, dz []float32, weight float32) {
	for row := range s.tilesDown {
		s.transform(x, dz, row, weight)
		if s.tiles == s.chunkTiles {
			s.multiply()
		}
	}
}

// transform transforms a row of tiles of the image x to V, and of weight times dz to D.
func (s *winogradSum) transform(x, dz []float32, row int, weight float32) {
	s.transformWindows(&s.windowTiles, active.winograd.window4, x, row, s.tiles)
	s.transformDeltas(dz, row, weight)
	s.tiles += s.tilesAcross
}

// transformDeltas transforms a row of tiles of weight times dz, the gradients with respect to the
// outputs, to D.
func (s *winogradSum) transformDeltas(dz []float32, row int, weight float32) {
	line := s.OutWidth() * s.Out
	from := vectors{dz[2*row*line:], s.zeros}
	if 2*row+1 < s.OutHeight() {
		from[1] = dz[(2*row+1)*line:]
	}
	delta := active.winograd.delta4
	delta(weight, 1, line, s.deltas, s.deltaRow, 0, from, 0)
	for i := range gradientPoints {
		columns := s.deltas[i*s.deltaRow : (i+1)*s.deltaRow]
		delta(1, s.tilesAcross, s.Out, s.d[i*gradientPoints*s.dStride+s.tiles*s.dPitch:], s.dStride, s.dPitch,
			vectors{columns, columns[s.Out:]}, 2*s.Out)
	}
}

// multiply adds the products of the tiles that are transformed and not yet multiplied to M.
func (s *winogradSum) multiply() {
	if s.tiles == 0 {
		return
	}
	beta := float32(0)
	if s.begun {
		beta = 1
	}
	s.multiplyFilters(0, s.Out, beta)
	s.tiles, s.begun = 0, true
}

// multiplyFilters computes M = beta·M + D·V for that number of filters, from filter first on. They
// are at the beginning of M.
func (s *winogradSum) multiplyFilters(first, filters int, beta float32) {
	k := active
	for xi := range gradientSquares {
		a := blockA{s.d[xi*s.dStride+first:], 1, s.dPitch, k.tileRows}
		for col := 0; col < s.In; col += k.tileCols {
			b := blockB{s.v[xi*s.vStride+col:], s.vPitch}
			k.panel(a, b, blockC{s.m[xi*s.mStride+col:], s.In, filters, min(k.tileCols, s.In-col), s.tiles}, 1, beta)
		}
	}
}

// result writes the sum to g (Out, 3, 3, In) and makes the sum empty.
func (s *winogradSum) result(g []float32) {
	s.multiply()
	if !s.begun {
		clear(g[:s.Out*s.Taps()])
		return
	}
	s.transformBack(g, s.Out)
	s.begun = false
}

// transformBack transforms that number of filters, from the beginning of M, and writes them to g.
func (s *winogradSum) transformBack(g []float32, filters int) {
	gradient, line, h := active.winograd.gradient4, 3*s.In, s.halfway
	for o := range filters {
		m := s.m[o*s.In:]
		gradient(gradientPoints, s.In, h, s.In, line,
			vectors{m, m[s.mStride:], m[2*s.mStride:], m[3*s.mStride:]}, gradientPoints*s.mStride)
		gradient(1, line, g[o*3*line:], line, 0, vectors{h, h[line:], h[2*line:], h[3*line:]}, 0)
	}
}

// pieces calls emit with the gradients of one image for a few filters at a time, which stay in the
// second-level cache on their way through M, and copies them to g unless it is nil: to transform
// back to g itself takes longer where g is not in a cache. All tiles of the image must fit a chunk.
func (s *winogradSum) pieces(g, x, dz, piece []float32, emit func(piece []float32)) {
	for row := range s.tilesDown {
		s.transform(x, dz, row, 1)
	}
	size := s.Taps()
	for o := 0; o < s.Out; o += len(piece) / size {
		filters := min(len(piece)/size, s.Out-o)
		s.multiplyFilters(o, filters, 0)
		s.transformBack(piece, filters)
		emit(piece[:filters*size])
		g = g[copy(g, piece[:filters*size]):]
	}
	s.tiles = 0
}
