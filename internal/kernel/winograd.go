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
	z, x, bias, untransformed        []float32
	batch                            int
	runGroups, runPanels, runRotated func(worker, lo, hi int)
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
	w.runGroups, w.runPanels, w.runRotated = w.groups, w.filterPanels, w.rotatedFilters
	return w
}

// transforms returns the transforms of the tile.
func (w *winograd) transforms() (window, filter, output tileTransform) {
	s := active.winograd
	if w.tile == 2 {
		return s.window4, s.filter4, s.output4
	}
	return s.window6, s.filter6, s.output6
}

// apply computes z (batch, OutHeight, OutWidth, Out) from x (batch, Height, Width, In) with the
// filters set before, and the bias (Out) unless it is nil.
func (w *winograd) apply(z, x, bias []float32, batch int) {
	w.z, w.x, w.bias, w.batch = z, x, bias, batch
	w.pool.Run(ceilDiv(batch*w.tilesDown, w.groupRows()), 1, w.runGroups)
	w.z, w.x, w.bias = nil, nil, nil
}

// groups computes groups [lo, hi) of rows of tiles.
func (w *winograd) groups(worker, lo, hi int) {
	rows := w.groupRows()
	g := w.newGroup(worker, rows)
	for i := lo; i < hi; i++ {
		g.compute(i*rows, min((i+1)*rows, w.batch*w.tilesDown))
	}
}

// groupTiles is about how many tiles are computed together: enough that the transformed filters,
// which do not fit into the second-level cache where there are many channels, are read seldom; few
// enough that the transformed tiles do.
const groupTiles = 48

// groupRows returns the number of rows of tiles that are computed together: a whole number of tiles
// of the matrix product.
func (w *winograd) groupRows() int {
	height := active.tileRows
	return height * max(1, (groupTiles+height*w.tilesAcross/2)/(height*w.tilesAcross))
}

// winogradGroup is the working memory for a group of rows of tiles.
type winogradGroup struct {
	*winograd
	windowTiles
	outputs []float32 // a row of tiles, transformed back along its rows
	clipped []float32 // the outputs of a row of tiles that reaches out of the image
	m       []float32
	mStride int
	tileRow int // values in a row of outputs
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

// multiply computes M from V.
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

// transformOutputs transforms a row of tiles from M, from tile first on, to the image z.
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
