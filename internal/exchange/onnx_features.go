package exchange

import (
	"cmp"
	"fmt"
	"math"

	"dpsgd/data"
	"dpsgd/features"
	"dpsgd/features/encoder"
	"dpsgd/features/scattering"
	"dpsgd/internal/kernel"
	"dpsgd/internal/trained"
	"dpsgd/model"
)

// featuresOf adds the public features of pictures as package features defines them, and subtracts
// their mean if the model has one. It rounds rows wherever the trainer keeps them in half
// precision.
func (n *onnxNetwork) featuresOf(m *trained.Model, d features.Definition, x string) (string, data.Shape) {
	n.part = "features"
	if d.Deskewed {
		x = n.deskewed(m.Data.Shape, x)
	}
	rows := ""
	if b := d.Backbone; b != nil {
		rows = n.backbone(b, m.Data.Shape, x)
	} else {
		rows = n.transformed(d, m.Data.Shape, x)
	}
	if d.Encoder != nil {
		rows = n.op("Concat", []string{rows, n.power(n.encoded(*d.Encoder, x), features.EncoderPower)}, attribute{"axis", 1})
	}
	x = n.halves(n.flattened(d.Flattening, rows))
	width := len(d.Flattening.Shift)
	if m.FeatureMean != nil {
		x = n.halves(n.unit(n.op("Sub", []string{x, n.floats("mean", m.FeatureMean, 1, width)})))
	}
	return x, data.Row(width)
}

// deskewed adds pictures x as package features deskews them. Values between places are products
// with hat functions: one matrix for the rows of a picture, one for the columns of each row.
func (g *onnxGraph) deskewed(shape data.Shape, x string) string {
	height, width := shape.Height, shape.Width
	line := func(n int, from float64) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(float64(i) + from)
		}
		return v
	}
	border, inside := make([]float32, height*width), max(0, height-2)*max(0, width-2)
	for i := range border {
		if r, c := i/width, i%width; r == 0 || c == 0 || r == height-1 || c == width-1 {
			border[i] = float32(height*width) / float32(height*width-inside)
		}
	}
	of := func(operator string, inputs ...string) string { return g.op(operator, inputs) }
	mean := func(x string) string {
		return g.op("ReduceMean", []string{x}, attribute{"axes", []int{2, 3}}, attribute{"keepdims", 1})
	}
	hat := func(distance string) string {
		return of("Relu", of("Sub", g.scalar("one", 1), of("Abs", distance)))
	}
	row, column := g.floats("row", line(height, 0), height, 1), g.floats("column", line(width, 0), width)
	ground := mean(of("Mul", x, g.floats("border", border, height, width)))
	x = of("Sub", x, ground)
	mass := g.op("ReduceSum", []string{of("Abs", x), g.integers("axis", 1)}, attribute{"keepdims", 1})
	mass = of("Div", mass, of("Add", mean(mass), g.scalar("nothing", 1e-12)))
	middle, centre := mean(of("Mul", mass, row)), mean(of("Mul", mass, column))
	down := of("Sub", row, middle)
	moment := of("Mul", mass, down)
	variance := of("Add", mean(of("Mul", moment, down)), g.scalar("least", 1e-6))
	slant := of("Clip", of("Div", mean(of("Mul", moment, of("Sub", column, centre))), variance), g.scalar("least", -1), g.scalar("most", 1))

	place := g.floats("place", line(height, -float64(height-1)/2), height, 1)
	x = of("MatMul", hat(of("Sub", of("Add", middle, place), g.floats("row", line(height, 0), height))), x)
	centre = of("Add", of("Add", centre, of("Mul", slant, place)), g.floats("place", line(width, -float64(width-1)/2), width))
	axis := g.integers("axis", 3)
	across := hat(of("Sub", of("Unsqueeze", centre, axis), g.floats("column", line(width, 0), width, 1)))
	return of("Relu", of("Add", of("Squeeze", of("MatMul", of("Unsqueeze", x, axis), across), axis), ground))
}

// backbone adds the public network behind features.
func (n *onnxNetwork) backbone(b *features.BackboneDefinition, shape data.Shape, x string) string {
	shift, scale := make([]float32, shape.Channels), make([]float32, shape.Channels)
	for c := range shift {
		shift[c], scale[c] = float32(b.Mean[c]), float32(1/b.Deviation[c])
	}
	x = n.op("Sub", []string{x, n.floats("mean", shift, 1, shape.Channels, 1, 1)})
	x = n.op("Mul", []string{x, n.floats("inverse_deviation", scale, 1, shape.Channels, 1, 1)})
	body := &onnxNetwork{onnxGraph: n.onnxGraph, network: networkFor(b.Network, b.Layers)}
	rows := body.sequential(b.Layers, "", shape.Dims(), x)
	n.err = cmp.Or(n.err, body.err)
	return rows
}

// transformed adds the transform of x, raised to a power and normalised in groups: (N, values).
func (g *onnxGraph) transformed(d features.Definition, shape data.Shape, x string) string {
	if s := d.Scattering; s != nil {
		values := s.Coefficients * s.Full.OutHeight * s.Full.OutWidth // of each channel
		x = g.power(g.scatter(*s, shape, x), d.Power)
		if d.Groups > 0 {
			x = g.instanceNorm(x, d.Groups, values)
		}
		return g.op("Reshape", []string{x, g.integers("row", -1, s.Channels*values)})
	}
	var scales []string
	for _, p := range d.Patches {
		scales = append(scales, g.responses(p, x))
	}
	return g.power(g.op("Concat", scales, attribute{"axis", 1}), d.Power)
}

// power adds the values of x raised to a power and returns the name of the result.
func (g *onnxGraph) power(x string, power float64) string {
	switch power {
	case 1:
		return x
	case 0.5:
		return g.op("Sqrt", []string{x})
	}
	return g.op("Pow", []string{x, g.scalar("power", power)})
}

// responses adds the features by a dictionary of patches: the mean of those of the scaled picture
// and of its mirror image.
func (g *onnxGraph) responses(d features.PatchDefinition, x string) string {
	if d.Scale == 2 {
		x = g.op("AveragePool", []string{x}, window(model.Both(2), model.Both(2), model.Both(0))...)
		x = g.reflected(x, d.Border)
	}
	x = g.op("Sub", []string{x, g.op("ReduceMean", []string{x}, attribute{"axes", []int{1, 2, 3}}, attribute{"keepdims", 1})})
	c := g.patchConstants(d)
	both := g.op("Add", []string{g.excess(d, c, x), g.excess(d, c, g.mirrored(x))})
	return g.op("Mul", []string{both, g.scalar("half", 0.5)})
}

// reflected adds pictures x enlarged on each side by so many pixels, by reflection at their edges.
func (g *onnxGraph) reflected(x string, by int) string {
	return g.op("Pad", []string{x, g.integers("border", 0, 0, by, by, 0, 0, by, by)}, attribute{"mode", "reflect"})
}

// patchConstants holds the names of the constants that a picture and its mirror image share.
type patchConstants struct{ ones, weights, above, below, rows, columns string }

func (g *onnxGraph) patchConstants(d features.PatchDefinition) patchConstants {
	channels := d.Scaled.Channels
	above, below := make([]float32, d.Filters), make([]float32, d.Filters)
	for i, b := range d.Bias {
		above[i], below[i] = b+float32(d.Threshold), b-float32(d.Threshold)
	}
	return patchConstants{
		ones:    g.floats("ones", ones(channels*d.Size*d.Size), 1, channels, d.Size, d.Size),
		weights: g.floats("filters", d.Weights, d.Filters, channels, d.Size, d.Size),
		above:   g.floats("above", above, 1, d.Filters, 1, 1), below: g.floats("below", below, 1, d.Filters, 1, 1),
		rows: g.floats("rows", d.Rows, d.Pooling, len(d.Rows)/d.Pooling), columns: g.floats("columns", transposed(d.Columns, d.Pooling), len(d.Columns)/d.Pooling, d.Pooling),
	}
}

// excess adds how far responses are above and below their thresholds, averaged over the cells.
func (g *onnxGraph) excess(d features.PatchDefinition, c patchConstants, x string) string {
	n := float64(d.Scaled.Channels * d.Size * d.Size)
	sum := g.op("Conv", []string{x, c.ones})
	squares := g.op("Conv", []string{g.op("Mul", []string{x, x}), c.ones})
	mean := g.op("Mul", []string{g.op("Mul", []string{sum, sum}), g.scalar("inverse_n", 1/n)})
	variance := g.op("Relu", []string{g.op("Sub", []string{squares, mean})})
	variance = g.op("Mul", []string{variance, g.scalar("inverse_freedom", 1/(n-1))})
	deviation := g.op("Sqrt", []string{g.op("Add", []string{variance, g.scalar("contrast_floor", d.ContrastFloor)})})
	r := g.op("Div", []string{g.op("Conv", []string{x, c.weights}), deviation})
	above := g.op("Relu", []string{g.op("Sub", []string{r, c.above})})
	below := g.op("Relu", []string{g.op("Sub", []string{c.below, r})})
	both := g.op("Concat", []string{above, below}, attribute{"axis", 1})
	return g.op("Flatten", []string{g.op("MatMul", []string{g.op("MatMul", []string{c.rows, both}), c.columns})})
}

// scatter adds the scattering transform of each channel by itself: (N·channels, coefficients, rows,
// columns).
func (g *onnxGraph) scatter(d scattering.Definition, shape data.Shape, x string) string {
	x = g.op("Reshape", []string{x, g.integers("planes", -1, 1, shape.Height, shape.Width)})
	first := g.moduli(d, d.Fine, d.FineMargin, 1, x)
	full := g.op("Concat", []string{x, first}, attribute{"axis", 1})
	planes := g.op("Reshape", []string{full, g.integers("planes", -1, 1, shape.Height, shape.Width)})
	second := g.moduli(d, d.Coarse, d.CoarseMargin, d.CoarseStride, planes)
	half := g.op("Reshape", []string{second, g.integers("orders", -1, (1+d.Angles)*d.Angles, d.Half.Height, d.Half.Width)})
	return g.op("Concat", []string{g.average(d.Full, full), g.average(d.Half, half)}, attribute{"axis", 1})
}

// moduli adds the moduli of the convolutions of planes (N, 1, height, width) with wavelets: (N,
// angles, rows, columns).
func (g *onnxGraph) moduli(d scattering.Definition, w scattering.Wavelets, margin, stride int, x string) string {
	x = g.reflected(x, margin)
	part := func(name string, filters []float32) string {
		y := g.op("Conv", []string{x, g.floats(name, filters, d.Angles, 1, w.Size, w.Size)}, window(model.Both(w.Size), model.Both(stride), model.Both(0))...)
		return g.op("Mul", []string{y, y})
	}
	squares := g.op("Add", []string{part("real", w.Real), part("imaginary", w.Imaginary)})
	return g.op("Sqrt", []string{g.op("Add", []string{squares, g.scalar("smallest", d.Smallest)})})
}

// average adds the weighted means of the planes of x over windows.
func (g *onnxGraph) average(a scattering.Average, x string) string {
	vertical := g.floats("vertical", a.Vertical, a.OutHeight, a.Height)
	across := transposed(a.Horizontal, a.OutWidth)
	return g.op("MatMul", []string{g.op("MatMul", []string{vertical, x}), g.floats("horizontal", across, a.Width, a.OutWidth)})
}

func transposed(m []float32, rows int) []float32 {
	t := make([]float32, len(m))
	kernel.Transpose(t, m, 1, rows, len(m)/rows)
	return t
}

// flattened adds the linear map and the norms of a [features.Flattening].
func (g *onnxGraph) flattened(d *features.Flattening, x string) string {
	width := len(d.Shift)
	x = g.op("Mul", []string{g.op("Add", []string{x, g.floats("shift", d.Shift, 1, width)}), g.floats("gain", d.Gain, 1, width)})
	if len(d.Blocks) > 1 {
		var parts []string
		at := 0
		for _, b := range d.Blocks {
			part := g.op("Slice", []string{x, g.integers("from", at), g.integers("to", at+b.Columns()), g.integers("columns", 1)})
			part = g.unit(part)
			if b.Norm() != 1 {
				part = g.op("Mul", []string{part, g.scalar("norm", b.Norm())})
			}
			parts, at = append(parts, part), at+b.Columns()
		}
		x = g.op("Concat", parts, attribute{"axis", 1})
	}
	x = g.unit(x)
	k := len(d.Damping)
	if k == 0 {
		return x
	}
	directions := g.floats("directions", d.Directions, k, width)
	along := g.op("Gemm", []string{x, directions}, attribute{"transB", 1})
	along = g.op("Mul", []string{along, g.floats("damping", d.Damping, 1, k)})
	return g.unit(g.op("Sub", []string{x, g.op("Gemm", []string{along, directions})}))
}

// encoded adds the averaged maps of pictures x as package encoder defines them: (N, values).
func (g *onnxGraph) encoded(d encoder.Definition, x string) string {
	if d.Channels == 1 {
		x = g.op("Concat", []string{x, x, x}, attribute{"axis", 1})
	}
	for range d.Halvings {
		x = g.op("AveragePool", []string{x}, window(model.Both(2), model.Both(2), model.Both(0))...)
	}
	x = g.op("Pad", []string{x, g.integers("frame", 0, 0, d.Top, d.Left, 0, 0, d.Bottom, d.Right)})
	x = g.op("Add", []string{g.op("Mul", []string{x, g.scalar("gain", d.Gain)}), g.scalar("shift", d.Shift)})
	c := newEncoderConstants(g, d)
	own, mirrored := g.averagedMaps(d, c, x), g.averagedMaps(d, c, g.mirrored(x))
	return g.op("Mul", []string{g.op("Add", []string{own, mirrored}), g.scalar("half", 0.5)})
}

// mirrored adds the mirror images of pictures x.
func (g *onnxGraph) mirrored(x string) string {
	return g.op("Slice", []string{x, g.integers("last", -1), g.integers("first", math.MinInt32), g.integers("columns", 3), g.integers("backwards", -1)})
}

// encoderConstants holds the names of the constants that a picture and its mirror image share.
type encoderConstants struct {
	stem   [2]string // weights and bias
	blocks []encoderBlockConstants
}

type encoderBlockConstants struct {
	a, b, shortcut [2]string
	rows, columns  string
}

func newEncoderConstants(g *onnxGraph, d encoder.Definition) (c encoderConstants) {
	of := func(name string, d encoder.ConvolutionDefinition) [2]string {
		return [2]string{g.floats(name, d.Weights, d.Out, d.In, d.Size, d.Size), g.floats(name+".bias", d.Bias, d.Out)}
	}
	c.stem = of("stem", d.Stem)
	for i, b := range d.Blocks {
		name := func(part string) string { return fmt.Sprintf("block%d.%s", i, part) }
		to := encoderBlockConstants{a: of(name("a"), b.A), b: of(name("b"), b.B)}
		if b.Shortcut != nil {
			to.shortcut = of(name("shortcut"), *b.Shortcut)
		}
		if b.Rows != nil {
			to.rows = g.floats(name("rows"), b.Rows, encoder.Cells, len(b.Rows)/encoder.Cells)
			to.columns = g.floats(name("columns"), transposed(b.Columns, encoder.Cells), len(b.Columns)/encoder.Cells, encoder.Cells)
		}
		c.blocks = append(c.blocks, to)
	}
	return c
}

// averagedMaps adds the averaged maps of one view.
func (g *onnxGraph) averagedMaps(d encoder.Definition, c encoderConstants, x string) string {
	conv := func(d encoder.ConvolutionDefinition, names [2]string, x string) string {
		return g.op("Conv", []string{x, names[0], names[1]}, window(model.Both(d.Size), model.Both(d.Stride), model.Both(d.Padding))...)
	}
	relu := func(x string) string { return g.op("Relu", []string{x}) }
	x = relu(conv(d.Stem, c.stem, x))
	var averages []string
	for i, b := range d.Blocks {
		names, shortcut := c.blocks[i], x
		if b.Shortcut != nil {
			shortcut = conv(*b.Shortcut, names.shortcut, x)
		}
		x = relu(g.op("Add", []string{conv(b.B, names.b, relu(conv(b.A, names.a, x))), shortcut}))
		if b.Rows != nil {
			averages = append(averages, g.op("Flatten", []string{g.op("MatMul", []string{g.op("MatMul", []string{names.rows, x}), names.columns})}))
		}
	}
	return g.op("Concat", averages, attribute{"axis", 1})
}
