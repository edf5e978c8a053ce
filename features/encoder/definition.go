package encoder

import "dpsgd/internal/kernel"

// Definition is everything that the values of a picture of one shape follow from, for programs that
// compute them otherwise: repeat a grey picture to three channels, halve it by means of 2×2 pixels,
// pad it with zeros, multiply by Gain and add Shift, apply stem and blocks to the result and to its
// mirror image, and average the maps of every block but the first over Cells·Cells cells and over
// both views.
type Definition struct {
	Channels                 int // of a picture
	Halvings                 int
	Top, Left, Bottom, Right int // pixels of padding
	Gain, Shift              float64
	Stem                     ConvolutionDefinition
	Blocks                   []BlockDefinition
}

// BlockDefinition is a block with the matrices (Cells, side) that average its maps.
type BlockDefinition struct {
	A, B          ConvolutionDefinition
	Shortcut      *ConvolutionDefinition // nil: x itself
	Rows, Columns []float32              // nil for maps that are not averaged
}

// ConvolutionDefinition is a convolution with square kernels and a bias.
type ConvolutionDefinition struct {
	Out, In, Size, Stride, Padding int
	Weights, Bias                  []float32 // (Out, In, row, column); (Out)
}

// Definition returns everything that the values of e follow from.
func (e *Encoder) Definition() Definition {
	height, width := e.shape.Height>>e.halvings, e.shape.Width>>e.halvings
	top, left := (e.seen.Height-height)/2, (e.seen.Width-width)/2
	d := Definition{
		Channels: e.shape.Channels, Halvings: e.halvings, Top: top, Left: left, Bottom: e.seen.Height - height - top, Right: e.seen.Width - width - left,
		Gain: gain, Shift: black, Stem: e.stem.definition(),
	}
	for i, b := range e.blocks {
		to := BlockDefinition{A: b.a.definition(), B: b.b.definition()}
		if b.s != nil {
			s := b.s.definition()
			to.Shortcut = &s
		}
		if i > 0 {
			to.Rows, to.Columns = means(b.b.OutHeight()), means(b.b.OutWidth())
		}
		d.Blocks = append(d.Blocks, to)
	}
	return d
}

func (l layer) definition() ConvolutionDefinition {
	d := ConvolutionDefinition{Out: l.Out, In: l.In, Size: l.KernelH, Stride: l.StrideH, Padding: l.PadH, Weights: make([]float32, len(l.filters)), Bias: l.bias}
	kernel.Transpose(d.Weights, l.filters, l.Out, l.KernelH*l.KernelW, l.In)
	return d
}

// cell returns the cell of position i of n, and how many positions it has. The last cell takes what
// is left.
func cell(i, n int) (number, positions int) {
	size := n / Cells
	if number = min(i/size, Cells-1); number == Cells-1 {
		return number, n - number*size
	}
	return number, size
}

// means returns the matrix (Cells, n) that averages n positions over cells.
func means(n int) []float32 {
	m := make([]float32, Cells*n)
	for i := range n {
		number, positions := cell(i, n)
		m[number*n+i] = 1 / float32(positions)
	}
	return m
}
