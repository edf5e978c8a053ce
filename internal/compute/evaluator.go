package compute

import (
	"dpsgd/data"
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/model"
)

// evaluationBatch is how many test examples one run of the prediction graph holds.
const evaluationBatch = 100

// Evaluation is how a model does on examples that count as public.
type Evaluation struct {
	Accuracy float64 // share of examples whose largest logit is the label's
	Loss     float64 // mean cross-entropy
}

// Evaluator predicts a set of examples with the current parameters of a model.
type Evaluator struct {
	examples int
	input    Input
	network  *model.Network
	executor *graph.Executor
}

// NewEvaluator declares and compiles the prediction of a set by m.
func NewEvaluator(m *model.Model, set data.Set, n data.Normalisation, pool *kernel.Pool) (*Evaluator, error) {
	batcher, err := data.NewBatcher(set, n)
	if err != nil {
		return nil, err
	}
	b := graph.NewBuilder(pool)
	batch := min(evaluationBatch, set.Len())
	network, err := m.Prediction(b, batch)
	if err != nil {
		return nil, err
	}
	executor, err := b.Compile(network.Logits, network.Losses)
	if err != nil {
		return nil, err
	}
	return &Evaluator{examples: set.Len(), input: NewInput(executor, network, batcher, nil, pool), network: network, executor: executor}, nil
}

// Run evaluates all examples.
func (e *Evaluator) Run() (Evaluation, error) {
	var correct int
	var loss float64
	indices := make([]int, 0, e.input.Batch)
	for start := 0; start < e.examples; start += e.input.Batch {
		indices = indices[:0]
		for i := start; i < min(start+e.input.Batch, e.examples); i++ {
			indices = append(indices, i)
		}
		e.input.Fill(indices)
		if err := e.executor.RunAll(); err != nil {
			return Evaluation{}, err
		}
		logits, losses := e.executor.Values(e.network.Logits).Float32, e.executor.Values(e.network.Losses).Float32
		classes := len(logits) / e.input.Batch
		for i := range indices {
			if largest(logits[i*classes:(i+1)*classes]) == int(e.input.labels[i]) {
				correct++
			}
			loss += float64(losses[i])
		}
	}
	n := float64(e.examples)
	return Evaluation{Accuracy: float64(correct) / n, Loss: loss / n}, nil
}

// largest is the index of the largest value.
func largest(values []float32) int {
	best := 0
	for i, v := range values {
		if v > values[best] {
			best = i
		}
	}
	return best
}
