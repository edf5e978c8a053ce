package exchange

import (
	"fmt"
	"math"

	"dpsgd/features/encoder"
	"dpsgd/model"
)

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
