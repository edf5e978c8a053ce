package kernel

import "math"

// GramProduct returns the squared norm of the gradient of one image with respect to the filters of
// a convolution of one group, without forming it: with U the lowered image (positions×taps) and V =
// dz (positions×Out) it is the sum of the elements of UUᵀ∘VVᵀ (Bu et al., arXiv:2205.10683, section
// 3). It returns the sum of their magnitudes as well, which shows how much they cancel, and a bound
// on what is missing from the sum because a product of two values rounds to a multiple of 2⁻¹⁴⁹.
func (c *Convolution) GramProduct(worker int, x, dz []float32) (sum, magnitude, underflow float64) {
	if c.StrideH != 1 || c.StrideW != 1 {
		return c.loweredGramProduct(worker, x, dz)
	}
	g := c.newGram(worker)
	g.pack(x, dz)
	for top := 0; top < g.outHeight; top += g.bandRows {
		g.computeBand(top, min(top+g.bandRows, g.outHeight))
	}
	return g.sum, g.magnitude, g.underflow(float64(g.largestU), float64(g.largestV))
}

// loweredGramProduct does what GramProduct does, by lowering: it forms UUᵀ and VVᵀ.
func (c *Convolution) loweredGramProduct(worker int, x, dz []float32) (sum, magnitude, underflow float64) {
	t, d, p := c.Positions(), c.Taps(), c.Out
	u, grams := c.cols.get(worker, t*d), c.grams.get(worker, 2*t*t)
	c.Lower(u, x, 0)
	uu, vv := grams[:t*t], grams[t*t:]
	serial.Gemm(false, true, t, t, d, 1, u, d, u, d, 0, uu, t)
	serial.Gemm(false, true, t, t, p, 1, dz, p, dz, p, 0, vv, t)
	for i, a := range uu {
		term := float64(a) * float64(vv[i])
		sum += term
		magnitude += math.Abs(term)
	}
	// No element is larger than the largest on the diagonal.
	var largestU, largestV float64
	for i := 0; i < t*t; i += t + 1 {
		largestU, largestV = max(largestU, float64(uu[i])), max(largestV, float64(vv[i]))
	}
	return sum, magnitude, c.underflow(largestU, largestV)
}

// underflow returns a bound on the error of Σ UUᵀ∘VVᵀ by products that round to a multiple of
// 2⁻¹⁴⁹, given the largest elements of UUᵀ and VVᵀ. An element of UUᵀ is a sum of Taps products and
// one of VVᵀ of Out, however they are grouped, and sums so small are exact.
func (c Conv) underflow(largestU, largestV float64) float64 {
	t, d, p := float64(c.Positions()), float64(c.Taps()), float64(c.Out)
	return t * t * 0x1p-149 * (d*(largestV+p*0x1p-149) + p*largestU)
}

// convolutionGram computes Σ UUᵀ∘VVᵀ, as in GramProduct, for a convolution of stride 1 without
// lowering. With X the pixels of the padded image, G = XXᵀ, and taps k as displacements,
//
//	(UUᵀ)[s,t] = Σₖ G[s+k, t+k],
//
// in In multiplications and Taps/In additions an element, not Taps multiplications. Pixels and
// positions are counted in rows of the padded width, so that s+k is one addition; positions to the
// right of the output have zeros in VVᵀ. Both matrices are symmetric: only what is right of the
// diagonal is computed, and counted twice. Where they are large this is done for a band of rows of
// the output at a time.
type convolutionGram struct {
	Conv
	outHeight, outWidth int
	width               int // of the padded image
	bandRows            int
	pixels, positions   operand
	offsets             []int

	sum, magnitude     float64
	largestU, largestV float32 // on the diagonals
}

// operand is X or V, with its padded form and its product with itself.
type operand struct {
	rows           []float32 // (pixels or positions, channels) as given
	rowWidth       int       // in a row of the image or output
	left           int       // columns of padding before them
	top            int       // rows of padding above
	height         int       // rows, without padding
	channels       int
	padded, panels []float32 // rows with padding, and the same transposed in panels of the kernel's width
	first, last    int       // columns of the product that can be other than zero, whole panels
	product        []float32 // a band of XXᵀ or VVᵀ, the columns counted with padding
	pitch          int
}

// gramBandValues is about how many values the products of one band may take in memory.
const gramBandValues = 1 << 19

func (c *Convolution) newGram(worker int) convolutionGram {
	g := convolutionGram{Conv: c.Conv, outHeight: c.OutHeight(), outWidth: c.OutWidth(), width: c.Width + 2*c.PadW}
	g.pixels = operand{rowWidth: c.Width, left: c.PadW, top: c.PadH, height: c.Height, channels: c.In}
	g.positions = operand{rowWidth: g.outWidth, height: g.outHeight, channels: c.Out}
	for _, m := range []*operand{&g.pixels, &g.positions} {
		m.layOut(g.width)
	}
	taken := func(rows int) int { // by a band of so many rows
		return min(rows+c.spanH()-1, c.Height)*c.Width*g.pixels.pitch + rows*g.outWidth*g.positions.pitch
	}
	g.bandRows = g.outHeight
	for g.bandRows > 1 && taken(g.bandRows) > gramBandValues {
		g.bandRows--
	}
	bands := [2]int{min(g.bandRows+c.spanH()-1, c.Height) * c.Width, g.bandRows * g.outWidth}
	buffer := c.grams.get(worker, g.pixels.values(bands[0])+g.positions.values(bands[1]))
	buffer = g.pixels.take(buffer, bands[0])
	g.positions.take(buffer, bands[1])
	if c.offsets[worker] == nil {
		c.offsets[worker] = make([]int, c.KernelH*c.KernelW)
	}
	g.offsets = c.offsets[worker]
	return g
}

// layOut sets first, last and pitch for padded rows of that width. Behind the last column are zeros
// for a row of padding below, the displacement of the last tap and the rest of a block.
func (m *operand) layOut(width int) {
	cols := active.tileCols
	m.first = m.top * width / cols * cols
	m.last = roundUp((m.top+m.height)*width, cols)
	m.pitch = roundUp(max(m.last, (2*m.top+m.height)*width)+gramBlock, 16)
	if m.pitch%256 == 0 {
		m.pitch += 16 // rows a power of two apart fall into few sets of the cache
	}
}

func (m *operand) values(rows int) int { return 2*m.last*m.channels + rows*m.pitch }

func (m *operand) take(buffer []float32, rows int) []float32 {
	n := m.last * m.channels
	m.padded, m.panels, m.product = buffer[:n], buffer[n:2*n], buffer[2*n:2*n+rows*m.pitch]
	return buffer[2*n+rows*m.pitch:]
}

// pack writes the image and the gradients of the outputs into panels.
func (g *convolutionGram) pack(x, dz []float32) {
	g.pixels.rows, g.positions.rows = x, dz
	g.pixels.pack(g.width)
	g.positions.pack(g.width)
}

func (m *operand) pack(width int) {
	line := m.rowWidth * m.channels
	clear(m.padded)
	for y := range m.height {
		copy(m.padded[((m.top+y)*width+m.left)*m.channels:], m.rows[y*line:(y+1)*line])
	}
	cols := active.tileCols
	for col := m.first; col < m.last; col += cols {
		active.transpose(m.panels[col*m.channels:], cols, m.padded[col*m.channels:], m.channels, cols, m.channels)
	}
}

// multiply computes the part right of the diagonal of the operand's product with itself, for rows
// [from, to) of the image or output.
func (m *operand) multiply(from, to, width int) {
	k := active
	count, first := (to-from)*m.rowWidth, from*m.rowWidth
	for row := range count {
		clear(m.product[row*m.pitch+m.last : (row+1)*m.pitch])
	}
	a := blockA{m.rows[first*m.channels:], m.channels, 1, k.tileRows * m.channels}
	for col := m.first; col < m.last; col += k.tileCols {
		// The rows whose diagonal is left of the panel's end.
		y, x := (col+k.tileCols)/width-m.top-from, (col+k.tileCols)%width-m.left
		rows := min(max(y*m.rowWidth+min(max(x, 0), m.rowWidth), 0), count)
		if rows > 0 {
			b := blockB{m.panels[col*m.channels:], k.tileCols}
			k.panel(a, b, blockC{m.product[col:], m.pitch, rows, k.tileCols, m.channels}, 1, 0)
		}
	}
}

// computeBand adds the contributions of the positions in rows [top, bottom) of the output.
func (g *convolutionGram) computeBand(top, bottom int) {
	firstPixels := max(top-g.PadH, 0)
	g.pixels.multiply(min(firstPixels, g.Height), max(min(bottom-1+g.spanH()-g.PadH, g.Height), min(firstPixels, g.Height)), g.width)
	g.positions.multiply(top, bottom, g.width)
	for y := top; y < bottom; y++ {
		for x := range g.outWidth {
			g.computePosition(y, x, (y-top)*g.outWidth+x, firstPixels)
		}
	}
}

// computePosition adds the row of UUᵀ∘VVᵀ of position (y, x), which the band holds in row row.
func (g *convolutionGram) computePosition(y, x, row, firstPixels int) {
	taps, s := 0, y*g.width+x
	var u float32
	down, across := g.dilationH(), g.dilationW()
	above, below := tapsInside(y-g.PadH, g.Height, g.spanH(), down)
	left, right := tapsInside(x-g.PadW, g.Width, g.spanW(), across)
	for ky := above; ky < below; ky += down {
		pixel := (y+ky-g.PadH-firstPixels)*g.Width + x + left - g.PadW
		at := pixel*g.pixels.pitch + s + ky*g.width + left
		for kx := left; kx < right; kx += across {
			u += g.pixels.product[at]
			g.offsets[taps] = at + 1
			at += across * (g.pixels.pitch + 1)
			taps++
		}
	}
	diagonal := row*g.positions.pitch + s
	v := g.positions.product[diagonal]
	g.largestU, g.largestV = max(g.largestU, u), max(g.largestV, v)
	rest := roundUp((g.outHeight-1)*g.width+g.outWidth-1-s, gramBlock)
	sum, magnitude := active.gramRow(g.offsets[:taps], g.pixels.product, g.positions.product[diagonal+1:diagonal+1+rest])
	term := float64(u) * float64(v)
	g.sum += 2*sum + term
	g.magnitude += 2*magnitude + math.Abs(term)
}

// tapsInside returns which taps of a window are inside of an image of size rows (or columns), if
// the first one is in row at: those first, first+dilation, … rows further, below end.
func tapsInside(at, size, span, dilation int) (first, end int) {
	first, end = max(-at, 0), min(span, size-at)
	if dilation > 1 {
		first = roundUp(first, dilation)
	}
	return first, end
}

// gramBlock is the number of elements that gramRow takes at a time.
const gramBlock = 32

func portableGramRow(offsets []int, base, v []float32) (sum, magnitude float64) {
	for i, b := range v {
		var u float32
		for _, offset := range offsets {
			u += base[offset+i]
		}
		term := float64(u) * float64(b)
		sum += term
		magnitude += math.Abs(term)
	}
	return sum, magnitude
}
