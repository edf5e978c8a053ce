package model

import (
	"math"

	"dpsgd/data"
	"dpsgd/internal/setting"
)

// Binary is the cross-entropy of several labels, each of which an example has or not: the mean over
// the labels of -w·t·log σ(z) - (1-t)·log σ(-z), with the weight w of the label and t 0 or 1.
// PyTorch: nn.BCEWithLogitsLoss(pos_weight, reduction="none"), the mean of a row.
type Binary struct{}

var binary = setting.Kind[Loss]{Name: Binary{}.Name(), Also: []string{"bce", "multi_label", "binary_cross_entropy"}, Doc: "of several labels at once, data.labels", New: func() Loss { return Binary{} }}

func (Binary) Name() string    { return "binary" }
func (Binary) Task() data.Task { return data.Labels }

func (Binary) Rows(l *Learnt, losses, gradients, outputs, targets []float32) {
	n := len(outputs) / len(losses)
	for i := range losses {
		sum := 0.0
		for j := range n {
			z, t, w := float64(outputs[i*n+j]), float64(targets[i*n+j]), l.weight(j)
			sum += w*t*softplus(-z) + (1-t)*softplus(z)
			gradients[i*n+j] = float32(((1-t)*logistic(z) - w*t*logistic(-z)) / float64(n))
		}
		losses[i] = float32(sum / float64(n))
	}
}

// softplus returns log(1 + exp z), which does not overflow.
func softplus(z float64) float64 { return math.Max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) }

func logistic(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
