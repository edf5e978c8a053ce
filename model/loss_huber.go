package model

import (
	"math"

	"dpsgd/data"
	"dpsgd/internal/setting"
)

// Huber is half of the squared difference d of an output and the scaled number to learn, and beyond
// |d| = Delta it goes on as a line, δ·(|d| - δ/2): single numbers far off move it less. PyTorch:
// nn.HuberLoss(delta, reduction="none").
type Huber struct{ Delta float64 }

var huber = setting.Kind[Loss]{Name: Huber{}.Name(), Also: []string{"smooth_l1"}, Doc: "of a number between data.bounds; single numbers far off count less", New: func() Loss { return &Huber{Delta: 0.5} }}

func (Huber) Name() string    { return "huber" }
func (Huber) Task() data.Task { return data.Number }

func (h *Huber) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "huber_delta", Doc: "From this difference on, as a share of half the distance of data.bounds, huber is a line.",
		Format: setting.Number{Min: 0, Max: 2, OpenMin: true}, Value: &h.Delta}}
}

func (h Huber) Rows(l *Learnt, losses, gradients, outputs, targets []float32) {
	for i, z := range outputs {
		d := float64(z) - l.Scaled(targets[i])
		far := math.Abs(d)
		losses[i], gradients[i] = float32(d*d/2), float32(d)
		if far > h.Delta {
			losses[i], gradients[i] = float32(h.Delta*(far-h.Delta/2)), float32(math.Copysign(h.Delta, d))
		}
	}
}
