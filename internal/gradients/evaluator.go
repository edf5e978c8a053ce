package gradients

import (
	"slices"

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
	score.Test
	Loss float64 // the mean
}

// Evaluator predicts a set of examples with the current parameters of a model.
type Evaluator struct {
	running
	set      data.Set
	learnt   model.Learnt
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
	return &Evaluator{newRunning(executor, network, batcher, nil, pool), set, m.Learnt(), set.Len()}, nil
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
	Label   int       // the class of the example; 0 where a class is not what is learnt
	Targets []float32 // what is learnt in place of a class; nil for a class
	Outputs []float32 // a logit for each class or label, or the number; valid until the next prediction
	Loss    float32
}

// Run returns the results over all examples.
func (e *Evaluator) Run() (Evaluation, error) {
	_, found, err := e.Examine()
	return found, err
}

// Examine returns every prediction, too.
func (e *Evaluator) Examine() (*score.Examination, Evaluation, error) {
	x := score.Examine(e.learnt.Loss.Task(), e.set.Classes(), e.set.Len())
	err := e.Each(func(_ int, p Prediction) { x.Add(p.Label, p.Targets, p.Outputs, p.Loss) })
	if err != nil {
		return nil, Evaluation{}, err
	}
	x.Close()
	return x, Evaluation{x.Test, x.TestLoss}, nil
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
		e.executor.RunFirst(len(indices), e.input.batch)
		outputs, losses := e.executor.Values(e.network.Logits).Float32, e.executor.Values(e.network.Losses).Float32
		width := len(outputs) / e.input.batch
		for i, example := range indices {
			row := outputs[i*width : (i+1)*width]
			if e.learnt.Loss.Task() == data.Number {
				row[0] = float32(e.learnt.Number(row[0]))
			}
			visit(example, Prediction{e.set.Label(example), e.set.Targets(example), row, losses[i]})
		}
	}
	return nil
}

// First returns the outputs for the first examples, at most n of them.
func (e *Evaluator) First(n int) (outputs [][]float32, err error) {
	all := e.examples
	defer func() { e.examples = all }()
	e.examples = min(n, all)
	err = e.Each(func(_ int, p Prediction) { outputs = append(outputs, slices.Clone(p.Outputs)) })
	return outputs, err
}

// Show makes e predict another set from now on, whose examples have the same shape.
func (e *Evaluator) Show(set data.Set, n data.Normalisation) error {
	batcher, err := data.NewBatcher(set, n)
	if err == nil {
		e.input.batcher, e.set, e.examples = batcher, set, set.Len()
	}
	return err
}
