package features

import "dpsgd/data"

// PatchDefinition is everything that the features of a picture follow from, for programs that compute
// them in another way. With the scaled picture, of which the mean is subtracted, and for every
// patch p of it of n values, with r = Weights·p/√(variance of p, of n-1 degrees of freedom, +
// ContrastFloor), a cell's features are the means over the patches in it of max(r - Bias -
// Threshold, 0), for every filter, and then of max(Bias - Threshold - r, 0). Those of the mirror
// image of the scaled picture are averaged with them.
type PatchDefinition struct {
	PatchOptions
	Scaled                   data.Shape // of what responses are taken of
	Border                   int        // by which a half is extended by reflection, in pixels
	Weights                  []float32  // (filter, channel, row, column)
	Bias                     []float32  // of each filter
	Threshold, ContrastFloor float64
	RowEdges, ColumnEdges    []int // cell i lies between edges i and i+1, in positions of patches
}

// Definition returns the definition of p.
func (p *patchFeatures) Definition() PatchDefinition {
	d := PatchDefinition{
		PatchOptions: p.options, Scaled: p.scaled, Border: halfBorder, Threshold: threshold, ContrastFloor: contrastFloor,
		RowEdges:    gridEdges(p.scaled.Height-p.options.Size+1, p.options.Pooling),
		ColumnEdges: gridEdges(p.scaled.Width-p.options.Size+1, p.options.Pooling),
	}
	for i, b := range p.filters.bias {
		d.Bias = append(d.Bias, float32(b))
		for _, w := range p.filters.weights.RawRowView(i) {
			d.Weights = append(d.Weights, float32(w))
		}
	}
	return d
}
