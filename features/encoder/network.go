package encoder

import (
	_ "embed"
	"encoding/binary"

	"dpsgd/data"
	"dpsgd/internal/kernel"
)

// widths are the channels of the stages. Each has a block of two convolutions; the stem and every
// stage but the first halve the sides, so that maps have sides of an eighth in the end.
var widths = [...]int{64, 128, 256}

const stride = 8

// A layer is a convolution with a bias. Batch normalisation is part of its weights.
type layer struct {
	*kernel.Convolution
	filters, bias []float32
}

func (l layer) shape() data.Shape {
	return data.Shape{Height: l.OutHeight(), Width: l.OutWidth(), Channels: l.Out}
}

// linear writes the outputs of n pictures to z.
func (l layer) linear(z, x []float32, n int) { l.Forward(0, z, x, l.bias, 0, n) }

func (l layer) forward(z, x []float32, n int) {
	l.linear(z, x, n)
	z = z[:n*l.shape().Values()]
	kernel.ReLU(z, z)
}

// A block is max(b(max(a(x), 0)) + s(x), 0), where s is x itself if the block does not change its
// shape (He et al., "Deep Residual Learning", CVPR 2016).
type block struct {
	a, b layer
	s    *layer
}

// forward writes the outputs of n pictures to y. It overwrites z and t.
func (b block) forward(y, x, z, t []float32, n int) {
	b.a.forward(z, x, n)
	b.b.linear(y, z, n)
	y = y[:n*b.b.shape().Values()]
	if b.s != nil {
		b.s.linear(t, x, n)
		x = t
	}
	kernel.Add(y, y, x[:len(y)])
	kernel.ReLU(y, y)
}

// encoderWeights holds the weights of every convolution and then its bias, in the order in which
// the layers take them, as halves: little-endian binary16.
//
//go:embed encoder.bin
var encoderWeights []byte

// SHA256 is the hash of the weights.
const SHA256 = "dda89cc51235868154cbc4e8f5da14784ac9d4c0a38fe22b2202b14231dba02b"

// weightsReader hands out the weights, layer by layer.
type weightsReader struct{ rest []byte }

func weights() *weightsReader { return &weightsReader{encoderWeights} }

func (w *weightsReader) take(n int) []float32 {
	halves, values := make([]uint16, n), make([]float32, n)
	for i := range halves {
		halves[i] = binary.LittleEndian.Uint16(w.rest[2*i:])
	}
	w.rest = w.rest[2*n:]
	kernel.FromHalves(values, halves)
	return values
}

func (w *weightsReader) layer(c kernel.Conv) layer {
	l := layer{Convolution: kernel.NewConvolution(c, nil)}
	l.filters, l.bias = w.take(c.Out*c.KernelH*c.KernelW*c.In), w.take(c.Out)
	l.Prepare(l.filters)
	return l
}

func (w *weightsReader) block(at data.Shape, in, out, stride int) (b block) {
	c := kernel.Conv{Height: at.Height, Width: at.Width, In: in, Out: out, KernelH: 3, KernelW: 3, StrideH: stride, StrideW: stride, PadH: 1, PadW: 1}
	b.a = w.layer(c)
	then := b.a.shape()
	b.b = w.layer(kernel.Conv{Height: then.Height, Width: then.Width, In: out, Out: out, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1})
	if stride > 1 {
		c.KernelH, c.KernelW, c.PadH, c.PadW = 1, 1, 0, 0
		s := w.layer(c)
		b.s = &s
	}
	return b
}
