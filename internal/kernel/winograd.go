package kernel

// winograd computes 3×3 convolutions of stride 1 by Winograd's minimal filtering F(m×m, 3×3) (Lavin
// and Gray, arXiv:1509.09308, section 4): the output is cut into tiles of m×m, the windows of n×n,
// n = m+2, that they depend on and the filters are transformed, and the products of all pairs of
// channels are n² matrix products, one for each element ξ of a transformed tile,
//
//	M[ξ] (tiles, out) = V[ξ] (tiles, in) · U[ξ] (in, out)
//
// from which the outputs are transformed back. m = 4 takes a quarter of the multiplications of the
// definition. The transforms are separable, and each is done down the columns of a whole row of
// tiles and then along its rows.
//
// Every output is computed in the same order of operations wherever its image stands in the batch,
// and from the values of its own image only.
type winograd struct {
	tiling
	pool                       *Pool
	filters                    []float32 // U[ξ] in panels, each (in, panelCols)
	panelCols, panels, uStride int

	// The call in progress, and its loop bodies, bound once.
	untransformed         []float32
	runPanels, runRotated func(worker, lo, hi int)
}

// winogradPadding is added between the matrices of different ξ, which are written to in turn and
// would otherwise lie a power of two apart, in few sets of the cache.
const winogradPadding = 16

// newWinograd returns the algorithm for c, nil when it does not apply or does not pay.
func newWinograd(c Conv, p *Pool) *winograd {
	if !c.suitsWinograd() {
		return nil
	}
	// The tile that takes fewer multiplications, parts outside of the image included.
	products := func(m int) int { return (m + 2) * (m + 2) * ceilDiv(c.OutHeight(), m) * ceilDiv(c.OutWidth(), m) }
	tile := 4
	if products(2) < products(4) {
		tile = 2
	}
	if products(tile) >= 9*c.Positions() {
		return nil
	}
	w := &winograd{tiling: newTiling(c, tile, p), pool: p}
	w.runPanels, w.runRotated = w.filterPanels, w.rotatedFilters
	return w
}

// transforms returns the one-dimensional transforms for tiles of w's size.
func (w *winograd) transforms() (window, filter, output tileTransform) {
	s := active.winograd
	if w.tile == 2 {
		return s.window4, s.filter4, s.output4
	}
	return s.window6, s.filter6, s.output6
}

// images computes images [lo, hi) of z (batch, OutHeight, OutWidth, Out) from x (batch, Height,
// Width, In) with the filters set before, and the bias (Out) unless it is nil.
func (w *winograd) images(worker int, z, x, bias []float32, lo, hi int) {
	rows := w.groupRows()
	g := w.newGroup(worker, rows)
	g.z, g.x, g.bias = z, x, bias
	for row, end := lo*w.tilesDown, hi*w.tilesDown; row < end; row += rows {
		g.compute(row, min(row+rows, end))
	}
}

// groupTiles is about how many tiles are computed together: enough that the transformed filters,
// which do not fit into the second-level cache where there are many channels, are read seldom; few
// enough that the transformed tiles do.
const groupTiles = 48

// groupRows returns the number of rows of tiles that are computed together: a multiple of the
// height of a tile of the matrix product.
func (w *winograd) groupRows() int {
	height := active.tileRows
	return height * max(1, (groupTiles+height*w.tilesAcross/2)/(height*w.tilesAcross))
}

// winogradGroup is the working memory for a group of rows of tiles.
type winogradGroup struct {
	*winograd
	windowTiles
	z, x, bias []float32
	outputs    []float32 // a row of tiles, transformed back along its rows
	clipped    []float32 // the outputs of a row of tiles that reaches out of the image
	m          []float32
	mStride    int
	tileRow    int // values in a row of outputs
}

func (w *winograd) newGroup(worker, rows int) winogradGroup {
	g := winogradGroup{winograd: w, tileRow: w.tile * w.tilesAcross * w.Out}
	g.windowRow, g.vPitch = (w.tile*w.tilesAcross+2)*w.In, w.In
	tiles, squares := rows*w.tilesAcross, w.points*w.points
	g.vStride, g.mStride = tiles*w.In+winogradPadding, tiles*w.Out+winogradPadding
	zeros := roundUp(w.Width*w.In, winogradPadding)
	clipped := w.tile * w.OutWidth() * w.Out
	buffer := w.scratch.get(worker, squares*(g.vStride+g.mStride)+zeros+w.points*(g.windowRow+g.tileRow)+clipped)
	g.v, g.m, g.zeros = cut(&buffer, squares*g.vStride), cut(&buffer, squares*g.mStride), cut(&buffer, zeros)
	g.windows, g.outputs = cut(&buffer, w.points*g.windowRow), cut(&buffer, w.points*g.tileRow)
	g.clipped = cut(&buffer, clipped)
	clear(g.zeros)
	clear(g.windows) // the columns of padding stay zero
	return g
}

// compute computes rows [lo, hi) of tiles, counted through the batch.
func (g *winogradGroup) compute(lo, hi int) {
	window, _, _ := g.transforms()
	for row := lo; row < hi; row++ {
		image := row / g.tilesDown
		g.transformWindows(&g.windowTiles, window, g.x[image*g.Height*g.Width*g.In:], row%g.tilesDown, (row-lo)*g.tilesAcross)
	}
	g.multiply((hi - lo) * g.tilesAcross)
	for row := lo; row < hi; row++ {
		image := row / g.tilesDown
		g.transformOutputs(g.z[image*g.OutHeight()*g.OutWidth()*g.Out:], row%g.tilesDown, (row-lo)*g.tilesAcross)
	}
}

// multiply computes M from V, for that number of tiles.
func (g *winogradGroup) multiply(tiles int) {
	k := active
	for xi := range g.points * g.points {
		m := g.m[xi*g.mStride:]
		a := blockA{g.v[xi*g.vStride:], g.In, 1, k.tileRows * g.In}
		for panel := range g.panels {
			col := panel * g.panelCols
			b := blockB{g.filters[xi*g.uStride+col*g.In:], g.panelCols}
			k.panel(a, b, blockC{m[col:], g.Out, tiles, min(g.panelCols, g.Out-col), g.In}, 1, 0)
		}
	}
}

// transformOutputs transforms tiles of M, from first on, to a row of tiles of z, and adds the bias.
func (g *winogradGroup) transformOutputs(z []float32, row, first int) {
	var from vectors
	_, _, output := g.transforms()
	for i := range g.points {
		for j := range g.points {
			from[j] = g.m[(i*g.points+j)*g.mStride+first*g.Out:]
		}
		output(g.tilesAcross, g.Out, g.outputs[i*g.tileRow:], g.Out, g.tile*g.Out, from, g.Out)
	}
	for i := range g.points {
		from[i] = g.outputs[i*g.tileRow : (i+1)*g.tileRow]
	}
	line := g.OutWidth() * g.Out
	inside := min(g.tile, g.OutHeight()-row*g.tile)
	to := z[row*g.tile*line:][:inside*line]
	if inside == g.tile {
		output(1, line, to, line, 0, from, 0)
	} else {
		output(1, line, g.clipped, line, 0, from, 0)
		copy(to, g.clipped)
	}
	if g.bias != nil {
		AddBias(to, g.bias)
	}
}

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

// suitsWinograd reports whether Winograd's filtering can compute c: 3×3, of stride 1, one group,
// not dilated, with numbers of channels that are multiples of 8.
func (c Conv) suitsWinograd() bool {
	return c.KernelH == 3 && c.KernelW == 3 && c.StrideH == 1 && c.StrideW == 1 &&
		c.dilationH() == 1 && c.dilationW() == 1 && c.groups() == 1 &&
		c.In > 0 && c.Out > 0 && c.In%8 == 0 && c.Out%8 == 0 && c.Positions() > 0
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// windowTiles holds the transformed windows V of some tiles, and memory for the transform.
type windowTiles struct {
	v               []float32
	vStride, vPitch int       // from one ξ to the next, and from one tile
	zeros           []float32 // a row of padding
	windows         []float32 // a row of tiles, transformed down its columns
	windowRow       int
}

// transformWindows transforms the windows of a row of tiles of image x to V, from tile first on.
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

// cut takes the first n values off buffer and returns them.
func cut(buffer *[]float32, n int) []float32 {
	part := (*buffer)[:n:n]
	*buffer = (*buffer)[n:]
	return part
}

// setFilters transforms filters (Out, 3, 3, In) for apply. Rotated filters are (In, 3, 3, Out), for
// the convolution with rows and columns reversed and in and out exchanged: it takes the gradients
// with respect to the outputs of the convolution with these filters to those with respect to its
// images.
func (w *winograd) setFilters(filters []float32, rotated bool) {
	w.panelCols = active.tileCols
	w.panels = ceilDiv(w.Out, w.panelCols)
	w.uStride = w.panels*w.panelCols*w.In + winogradPadding
	w.filters = grow(w.filters, w.points*w.points*w.uStride)
	w.untransformed = filters
	if rotated {
		w.pool.Run(w.In, 1, w.runRotated)
	} else {
		w.pool.Run(w.panels, 1, w.runPanels)
	}
	w.untransformed = nil
}

// filterPanels transforms the filters of the outputs of panels [lo, hi).
func (w *winograd) filterPanels(worker, lo, hi int) {
	_, filter, _ := w.transforms()
	line := 3 * w.In
	for first := lo * w.panelCols; first < min(hi*w.panelCols, w.Out); first += w.panelCols {
		cols := min(w.panelCols, w.Out-first)
		size := cols * w.In // of all filters of the panel at one ξ
		buffer := w.scratch.get(worker, w.points*line+w.points*w.points*size)
		columns, transformed := buffer[:w.points*line], buffer[w.points*line:]
		for o := range cols {
			g := w.untransformed[(first+o)*3*line:]
			filter(1, line, columns, line, 0, vectors{g, g[line:], g[2*line:]}, 0)
			filter(w.points, w.In, transformed[o*w.In:], size, w.points*size,
				vectors{columns, columns[w.In:], columns[2*w.In:]}, line)
		}
		for xi := range w.points * w.points {
			active.transpose(w.filters[xi*w.uStride+first*w.In:], w.panelCols, transformed[xi*size:], w.In, cols, w.In)
		}
	}
}

// rotatedFilters transforms the filters that belong to inputs [lo, hi). Panels are as wide as the
// kernel's tiles, the last one may be narrower.
func (w *winograd) rotatedFilters(worker, lo, hi int) {
	_, filter, _ := w.transforms()
	line, whole := 3*w.Out, w.Out/w.panelCols
	columns := w.scratch.get(worker, w.points*line)
	for i := lo; i < hi; i++ {
		g := w.untransformed[i*3*line:]
		filter(1, line, columns, line, 0, vectors{g[2*line:], g[line:], g}, 0)
		for row := range w.points {
			from := columns[row*line:]
			src := vectors{from[2*w.Out:], from[w.Out:], from}
			to := w.filters[row*w.points*w.uStride+i*w.panelCols:]
			if whole > 0 {
				filter(whole, w.panelCols, to, w.uStride, w.panelCols*w.In, src, w.panelCols)
			}
			if done := whole * w.panelCols; done < w.Out {
				filter(1, w.Out-done, to[done*w.In:], w.uStride, 0, src.from(done), 0)
			}
		}
	}
}
