package train

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"dpsgd/checkpoints/safetensors"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/compute"
	"dpsgd/internal/folder"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setup"
	"dpsgd/model"
)

// Score is how the model of a run does on the test examples, and what it cost.
type Score struct {
	Run            string  `json:"run"`
	TestAccuracy   float64 `json:"test_accuracy"`
	TestLoss       float64 `json:"test_loss"`
	TestExamples   int     `json:"test_examples"`
	Noun           string  `json:"-"` // "pictures" or "rows"
	account.Answer         // of everything in the run's ledger
	Warning        string  `json:"-"` // that something beside the run could not be asked; "" in most cases
}

// Evaluate measures the model that a run has written. It changes nothing in the run's folder.
func Evaluate(dir string, o Options) (Score, error) {
	c, err := folder.ReadConfig(dir)
	if err != nil {
		return Score{}, err
	}
	tensors, mean, err := ReadModel(dir, c)
	if err != nil {
		return Score{}, err
	}
	i, err := books.Inspect(dir)
	if err != nil {
		return Score{}, err
	}
	spent, err := account.SpentBy(c.Privacy.Accountant, i.Ledger, c.Privacy.Delta)
	if err != nil {
		return Score{}, err
	}
	source, err := o.source(c)
	if err != nil {
		return Score{}, err
	}
	m, err := setup.Model(c, source.Shape, source.Classes)
	if err != nil {
		return Score{}, err
	}
	if err := m.Import(tensors); err != nil {
		return Score{}, fmt.Errorf("%s: %w", filepath.Join(dir, folder.Model), err)
	}
	pool := kernel.NewPool(setup.Threads(c))
	defer pool.Close()
	examples, err := source.seen(c, o, pool)
	if err != nil {
		return Score{}, err
	}
	if mean != nil {
		if err := centre(examples, mean, pool); err != nil {
			return Score{}, err
		}
	}
	e, err := compute.NewEvaluator(m, examples.Test, setup.Normalisation(c, source.Shape.Channels), pool)
	if err != nil {
		return Score{}, err
	}
	found, err := e.Run()
	return Score{
		Run: dir, TestAccuracy: found.Accuracy, TestLoss: finite(found.Loss), TestExamples: source.Tests, Noun: source.Shape.Noun(),
		Answer:  spent.Answer(),
		Warning: cmp.Or(i.Warning, source.warning()),
	}, err
}

// ReadModel reads the weights that a run has written at its end, and the mean of features, nil where
// there is none. It holds the file against the sum in the run's statement.
func ReadModel(dir string, c *configs.Config) (tensors []model.Tensor, mean []float32, err error) {
	read, about, err := safetensors.Read(filepath.Join(dir, folder.Model))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%w with a model: %s holds no %s, expected a run that has ended; go on with it by `train resume %s`", folder.ErrNoRun, dir, folder.Model, folder.Argument(dir))
	}
	if err == nil {
		err = checkModel(dir)
	}
	if c.Features.Any() && err == nil && about["features"] != c.Features.Recipe.String() {
		return nil, nil, fmt.Errorf("%w: %s was trained on features %q, expected %q, which this program computes", setup.ErrPlan, filepath.Join(dir, folder.Model), about["features"], c.Features.Recipe)
	}
	for _, t := range read {
		if t.Name == meanSlot {
			mean = t.Data
			continue
		}
		tensors = append(tensors, model.Tensor(t))
	}
	return tensors, mean, err
}
