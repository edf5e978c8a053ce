package train

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"dpsgd/checkpoints"
	"dpsgd/internal/kernel"
	"dpsgd/model"
)

// Score is how the model of a run does on the test examples, and what it cost.
type Score struct {
	Run          string   `json:"run"`
	TestAccuracy float64  `json:"test_accuracy"`
	TestLoss     float64  `json:"test_loss"`
	TestExamples int      `json:"test_examples"`
	Noun         string   `json:"-"`                     // "pictures" or "rows"
	Epsilon      float64  `json:"epsilon"`               // of everything in the run's ledger
	EpsilonRDP   *float64 `json:"epsilon_rdp,omitempty"` // the same by RDP, beside another accountant
	Delta        float64  `json:"delta"`
	Accountant   string   `json:"accountant"` // that answered
	Warning      string   `json:"-"`          // that something beside the run could not be asked; "" in most cases
}

// Evaluate measures the model that a run has written. It changes nothing in the run's folder.
func Evaluate(dir string, o Options) (Score, error) {
	c, err := readConfig(dir)
	if err != nil {
		return Score{}, err
	}
	tensors, err := readModel(dir)
	if err != nil {
		return Score{}, err
	}
	i, err := inspect(dir)
	if err != nil {
		return Score{}, err
	}
	spent, err := spentBy(c.Privacy.Accountant, i.ledger, c.Privacy.Delta)
	if err != nil {
		return Score{}, err
	}
	source, err := o.source(c)
	if err != nil {
		return Score{}, err
	}
	m, err := newModel(c, source.Test.Shape(), len(source.Test.Classes()))
	if err != nil {
		return Score{}, err
	}
	if err := m.Import(tensors); err != nil {
		return Score{}, fmt.Errorf("%s: %w", filepath.Join(dir, modelFile), err)
	}
	pool := kernel.NewPool(threads(c))
	defer pool.Close()
	e, err := newEvaluator(m, source.Test, normalisation(c, source.Test.Shape().Channels), pool)
	if err != nil {
		return Score{}, err
	}
	found, err := e.Run()
	return Score{
		Run: dir, TestAccuracy: found.Accuracy, TestLoss: finite(found.Loss), TestExamples: source.Test.Len(), Noun: source.Test.Shape().Noun(),
		Epsilon: spent.Epsilon, EpsilonRDP: spent.EpsilonRDP, Delta: spent.Delta, Accountant: spent.Accountant,
		Warning: i.warning,
	}, err
}

// readModel reads the weights that a run has written at its end.
func readModel(dir string) ([]model.Tensor, error) {
	read, _, err := checkpoints.ReadSafetensors(filepath.Join(dir, modelFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w with a model: %s holds no %s, expected a run that has ended; go on with it by `train resume %s`", ErrNoRun, dir, modelFile, dir)
	}
	tensors := make([]model.Tensor, len(read))
	for i, t := range read {
		tensors[i] = model.Tensor(t)
	}
	return tensors, err
}
