package kernel

// The filters of a winograd: transformed as they are for outputs, and rotated and with
// channels exchanged for input gradients, packed into panels for the products.

// setFilters transforms filters (Out, 3, 3, In) for apply.
func (w *winograd) setFilters(filters []float32) {
	w.layOut()
	w.untransformed = filters
	w.pool.Run(w.panels, 1, w.runPanels)
	w.untransformed = nil
}

// setRotated transforms filters (In, 3, 3, Out) for the convolution with rows and columns reversed
// and in and out exchanged: that which takes the gradients with respect to the outputs of the
// convolution with these filters to those with respect to its images.
func (w *winograd) setRotated(filters []float32) {
	w.layOut()
	w.untransformed = filters
	w.pool.Run(w.In, 1, w.runRotated)
	w.untransformed = nil
}

// layOut finds the place of the transformed filters.
func (w *winograd) layOut() {
	w.panelCols = active.tileCols
	w.panels = ceilDiv(w.Out, w.panelCols)
	w.uStride = w.panels*w.panelCols*w.In + winogradPadding
	w.filters = grow(w.filters, w.points*w.points*w.uStride)
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
