package gradients

import (
	"dpsgd/data"
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/score"
	"dpsgd/model"
)

// evaluationBatch is how many test examples one run of the prediction graph holds.
const evaluationBatch = 100

// Evaluation holds the results of a model on examples that count as public.
type Evaluation struct {
	Accuracy float64 // share of examples whose largest logit is the label's
	Loss     float64 // mean cross-entropy
}

// Evaluator predicts a set of examples with the current parameters of a model.
type Evaluator struct {
	running
	examples int
}

// NewEvaluator declares and compiles the graph by which m predicts the examples of a set.
func NewEvaluator(m *model.Model, set data.Set, n data.Normalisation, pool *kernel.Pool) (*Evaluator, error) {
	batcher, err := data.NewBatcher(set, n)
	if err != nil {
		return nil, err
	}
	network, executor, err := predicting(graph.NewBuilder(pool), m, min(evaluationBatch, set.Len()))
	if err != nil {
		return nil, err
	}
	return &Evaluator{newRunning(executor, network, batcher, nil, pool), set.Len()}, nil
}

// predicting declares and compiles the graph by which m predicts batches of that many examples.
func predicting(b *graph.Builder, m *model.Model, batch int) (*model.Network, *graph.Executor, error) {
	network, err := m.Prediction(b, batch)
	if err != nil {
		return nil, nil, err
	}
	executor, err := b.Compile(network.Logits, network.Losses)
	return network, executor, err
}

// Prediction is what a model predicts for one example.
type Prediction struct {
	Label  int       // the class of the example
	Class  int       // the predicted class: the largest logit, the first of equal ones
	Logits []float32 // one for each class; valid until the next prediction
	Loss   float32   // cross-entropy
}

// Run returns accuracy and loss over all examples.
func (e *Evaluator) Run() (Evaluation, error) { return e.Count(nil) }

// Count does what Run does, and counts every prediction in m, unless m is nil.
func (e *Evaluator) Count(m *score.Matrix) (Evaluation, error) {
	var correct int
	var loss float64
	err := e.Each(func(_ int, p Prediction) {
		if p.Class == p.Label {
			correct++
		}
		loss += float64(p.Loss)
		if m != nil {
			m.Add(p.Label, p.Class)
		}
	})
	n := float64(e.examples)
	return Evaluation{Accuracy: float64(correct) / n, Loss: loss / n}, err
}

// Each predicts all examples and calls visit with each prediction, in the order of the examples.
func (e *Evaluator) Each(visit func(example int, p Prediction)) error {
	indices := make([]int, 0, e.input.batch)
	for start := 0; start < e.examples; start += e.input.batch {
		indices = indices[:0]
		for i := start; i < min(start+e.input.batch, e.examples); i++ {
			indices = append(indices, i)
		}
		if err := e.input.fill(indices); err != nil {
			return err
		}
		e.executor.RunAll()
		logits, losses := e.executor.Values(e.network.Logits).Float32, e.executor.Values(e.network.Losses).Float32
		classes := len(logits) / e.input.batch
		for i, example := range indices {
			row := logits[i*classes : (i+1)*classes]
			visit(example, Prediction{int(e.input.labels[i]), largest(row), row, losses[i]})
		}
	}
	return nil
}

// largest returns the index of the largest value, the first of equal ones.
func largest(values []float32) int {
	best := 0
	for i, v := range values {
		if v > values[best] {
			best = i
		}
	}
	return best
}

// Show makes e predict another set from now on, whose examples have the same shape.
func (e *Evaluator) Show(set data.Set, n data.Normalisation) error {
	batcher, err := data.NewBatcher(set, n)
	if err == nil {
		e.input.batcher, e.examples = batcher, set.Len()
	}
	return err
}
