package model

import (
	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"
)

// CrossEntropy is the softmax cross-entropy of classes. With class weights w and smoothing s of K
// classes, the loss of an example of class y is Σ aᵢ·(log Σⱼ exp zⱼ - zᵢ), where aᵢ = s·wᵢ/K, and
// (1-s)·w_y more for i = y. PyTorch: nn.CrossEntropyLoss(weight, label_smoothing,
// reduction="none").
type CrossEntropy struct{ Smoothing float64 }

var crossEntropy = setting.Kind[Loss]{Name: CrossEntropy{}.Name(), Also: []string{"softmax", "nll"}, Doc: "of classes", New: func() Loss { return &CrossEntropy{} }}

func (CrossEntropy) Name() string    { return "cross_entropy" }
func (CrossEntropy) Task() data.Task { return data.Class }

func (c *CrossEntropy) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "label_smoothing", Doc: "The share of an example that is learnt as of all classes alike.",
		Format: setting.Number{Min: 0, Max: 1, OpenMax: true}, Value: &c.Smoothing, Later: true}}
}

func (c CrossEntropy) Rows(l *Learnt, losses, gradients, outputs, targets []float32) {
	classes := len(outputs) / len(targets)
	kernel.SoftmaxCrossEntropy(losses, gradients, outputs, targets, classes)
	if l.Weights == nil && c.Smoothing == 0 {
		return
	}
	for i, target := range targets {
		c.row(l, &losses[i], gradients[i*classes:][:classes], outputs[i*classes:][:classes], int(target))
	}
}

// row turns the plain loss of an example and its gradient into the weighted, smoothed ones.
func (c CrossEntropy) row(l *Learnt, loss *float32, gradient, outputs []float32, label int) {
	all, sum := 0.0, 0.0 // Σ aᵢ, Σ aᵢ·(z_y - zᵢ)
	share := make([]float64, len(outputs))
	for i, z := range outputs {
		share[i] = c.Smoothing / float64(len(outputs)) * l.weight(i)
		if i == label {
			share[i] += (1 - c.Smoothing) * l.weight(i)
		}
		all += share[i]
		sum += share[i] * (float64(outputs[label]) - float64(z))
	}
	gradient[label]++ // it is the softmax now
	for i, p := range gradient {
		gradient[i] = float32(all*float64(p) - share[i])
	}
	*loss = float32(all*float64(*loss) + sum)
}

// weight returns the weight of a class or label.
func (l *Learnt) weight(i int) float64 {
	if l.Weights == nil {
		return 1
	}
	return l.Weights[i]
}
