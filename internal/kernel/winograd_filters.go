package kernel

// The filters of a winograd: transformed as they are for outputs, and rotated and with
// channels exchanged for input gradients, packed into panels for the products.

// setFilters transforms filters (out, 3, 3, in) for apply.
func (w *winograd) setFilters(filters []float32) {
	w.layOut()
	w.untransformed = filters
	w.pool.Run(w.panels, 1, w.runPanels)
	w.untransformed = nil
}

func (w *winograd) filterPanels(worker, lo, hi int) {
	for panel := lo; panel < hi; panel++ {
		w.filterPanel(worker, w.untransformed, panel)
	}
}

// setRotated transforms filters (in, 3, 3, out) for the convolution with rows and columns reversed
// and in and out exchanged: that which takes the gradients with respect to the outputs of the
// convolution with these filters to those with respect to its images.
func (w *winograd) setRotated(filters []float32) {
	w.layOut()
	w.untransformed = filters
	w.pool.Run(w.in, 1, w.runRotated)
	w.untransformed = nil
}

func (w *winograd) rotatedFilters(worker, lo, hi int) {
	for i := lo; i < hi; i++ {
		w.rotatedFilter(worker, w.untransformed, i)
	}
}

// layOut finds the place of the transformed filters.
func (w *winograd) layOut() {
	w.panelCols = active.tileCols
	w.panels = ceilDiv(w.out, w.panelCols)
	w.uStride = w.panels*w.panelCols*w.in + winogradPadding
	w.filters = grow(w.filters, w.points*w.points*w.uStride)
}

// filterPanel transforms the filters of the outputs of one panel.
func (w *winograd) filterPanel(worker int, filters []float32, panel int) {
	first := panel * w.panelCols
	cols := min(w.panelCols, w.out-first)
	size := cols * w.in // of all filters of the panel at one ξ
	buffer := w.scratch.get(worker, w.points*3*w.in+w.points*w.points*size)
	columns, transformed := buffer[:w.points*3*w.in], buffer[w.points*3*w.in:]
	_, filter, _ := w.transforms()
	line := 3 * w.in
	for o := range cols {
		g := filters[(first+o)*3*line:]
		filter(1, line, columns, line, 0, vectors{g, g[line:], g[2*line:]}, 0)
		filter(w.points, w.in, transformed[o*w.in:], size, w.points*size,
			vectors{columns, columns[w.in:], columns[2*w.in:]}, line)
	}
	for xi := range w.points * w.points {
		active.transpose(w.filters[xi*w.uStride+first*w.in:], w.panelCols, transformed[xi*size:], w.in, cols, w.in)
	}
}

// rotatedFilter transforms the filters that belong to input i. Panels are as wide as the kernel's
// tiles, the last one may be narrower.
func (w *winograd) rotatedFilter(worker int, filters []float32, i int) {
	line := 3 * w.out
	columns := w.scratch.get(worker, w.points*line)
	_, filter, _ := w.transforms()
	g := filters[i*3*line:]
	filter(1, line, columns, line, 0, vectors{g[2*line:], g[line:], g}, 0)
	whole := w.out / w.panelCols
	for row := range w.points {
		from := columns[row*line:]
		src := vectors{from[2*w.out:], from[w.out:], from}
		to := w.filters[row*w.points*w.uStride+i*w.panelCols:]
		if whole > 0 {
			filter(whole, w.panelCols, to, w.uStride, w.panelCols*w.in, src, w.panelCols)
		}
		if done := whole * w.panelCols; done < w.out {
			filter(1, w.out-done, to[done*w.in:], w.uStride, 0, src.from(done), 0)
		}
	}
}
