package model

import (
	"dpsgd/data"
	"dpsgd/internal/setting"
)

// Squared is the squared difference of an output and the number to learn, which is scaled from its
// bounds to [-1, 1]. PyTorch: nn.MSELoss(reduction="none").
type Squared struct{}

var squared = setting.Kind[Loss]{Name: Squared{}.Name(), Also: []string{"mse", "mean_squared_error", "l2"}, Doc: "of a number between data.bounds", New: func() Loss { return Squared{} }}

func (Squared) Name() string    { return "squared" }
func (Squared) Task() data.Task { return data.Number }

func (Squared) Rows(l *Learnt, losses, gradients, outputs, targets []float32) {
	for i, z := range outputs {
		d := float64(z) - l.Scaled(targets[i])
		losses[i], gradients[i] = float32(d*d), float32(2*d)
	}
}

// Scaled returns a number that is learnt as the network sees it: the bounds are -1 and 1, and a
// number beyond one of them is that one.
func (l *Learnt) Scaled(number float32) float64 {
	return max(-1, min(1, (2*float64(number)-l.Low-l.High)/(l.High-l.Low)))
}

// Number returns the number that an output stands for, within the bounds.
func (l *Learnt) Number(output float32) float64 {
	return max(l.Low, min(l.High, (l.Low+l.High+float64(output)*(l.High-l.Low))/2))
}
