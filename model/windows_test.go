package model_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"dpsgd/internal/random"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
	"dpsgd/model"
)

// windowDraw draws convolutions and pools of every geometry that fits.
type windowDraw struct {
	*rand.Rand
	height, width, channels int // of the images that the next layer sees
}

// size draws a height and a width from least on.
func (d *windowDraw) size(least, most int) model.Size {
	s := model.Size{Height: least + d.IntN(most-least+1), Width: least + d.IntN(most-least+1)}
	if d.IntN(2) == 0 {
		s.Width = s.Height
	}
	return s
}

// fits moves on to the outputs of a window, if there are any.
func (d *windowDraw) fits(kernel, stride, padding, dilation model.Size) bool {
	outputs := func(size, k, s, p, d int) int {
		if room := size + 2*p - d*(k-1) - 1; room >= 0 {
			return room/s + 1
		}
		return 0
	}
	height := outputs(d.height, kernel.Height, stride.Height, padding.Height, dilation.Height)
	width := outputs(d.width, kernel.Width, stride.Width, padding.Width, dilation.Width)
	if height*width > 0 {
		d.height, d.width = height, width
	}
	return height*width > 0
}

func (d *windowDraw) convolution() model.Layer {
	groups := 1
	if d.IntN(3) > 0 {
		for groups = 1 + d.IntN(d.channels); d.channels%groups != 0; groups = 1 + d.IntN(d.channels) {
		}
	}
	for {
		l := model.Conv2D{Kernel: d.size(1, 4), Stride: d.size(1, 3), Padding: d.size(0, 3), Dilation: d.size(1, 3), Groups: groups, NoBias: d.IntN(3) == 0}
		if d.IntN(2) == 0 {
			l.Stride, l.Kernel = model.Both(1), model.Both(3)
		}
		if d.IntN(2) == 0 {
			l.Dilation = model.Both(1)
		}
		values := l.Kernel.Height * l.Kernel.Width * d.channels / groups
		if !d.fits(l.Kernel, l.Stride, l.Padding, l.Dilation) {
			continue
		}
		l.Out = groups * (1 + d.IntN(max(8/groups, 1)))
		d.channels = l.Out
		if values > 1 && d.IntN(4) == 0 {
			return model.StandardisedConv2D{Conv2D: l}
		}
		return l
	}
}

func (d *windowDraw) pool() model.Layer {
	for {
		kernel, stride := d.size(1, 4), d.size(1, 3)
		padding := model.Size{Height: d.IntN(kernel.Height/2 + 1), Width: d.IntN(kernel.Width/2 + 1)}
		if !d.fits(kernel, stride, padding, model.Both(1)) {
			continue
		}
		if d.IntN(2) == 0 {
			return model.MaxPool2D{Kernel: kernel, Stride: stride, Padding: padding}
		}
		return model.AvgPool2D{Kernel: kernel, Stride: stride, Padding: padding, OnlyInside: d.IntN(2) == 0}
	}
}

// Random convolutions and pools, with both engines: outputs, per-example norms and clipped sums are
// those of the network written out in float64, and no example adds more than the clip norm.
func TestRandomWindows(t *testing.T) {
	for seed := range uint64(slow.Number(t, "DPSGD_WINDOWS", 12, 1000)) {
		d := &windowDraw{rand.New(random.Seeded(1000 + seed)), 0, 0, 0}
		in := model.Input{Height: 1 + d.IntN(8), Width: 1 + d.IntN(8), Channels: []int{1, 2, 3, 4, 6, 8}[d.IntN(6)]}
		d.height, d.width, d.channels = in.Height, in.Width, in.Channels
		layers := model.Sequential{d.convolution(), model.Tanh, d.pool()}
		if d.IntN(2) == 0 {
			layers = append(layers, d.convolution(), model.SiLU)
		}
		layers = append(layers, model.Flatten{}, model.Linear{Out: classes})
		t.Run(fmt.Sprintf("seed %d: %+v on %+v", seed, layers, in), func(t *testing.T) {
			m := tiny.Must(model.New(layers, in, classes, seed))(t)
			const n = 2
			r, examples := newReference(m, layers), draw(m, n, 3)
			logits := predict(t, m, examples)
			for i := range n {
				want := r.logits(examples.image(i), in)
				if r.closest < near {
					return
				}
				if off := distance(logits[i*classes:(i+1)*classes], want); !(off <= 1e-5*(norm(want)+1)) {
					t.Errorf("output %d is off by %.2g", i, off)
				}
			}
			checkGradients(t, m, r, n, 0.7)
		})
	}
}

// near is a distance between two values in a window at which float32, or a step of the differences,
// may take the other one for the largest: then the gradient is another one, and nothing is
// compared.
const near = 1e-5
