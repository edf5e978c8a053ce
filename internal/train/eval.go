package train

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/gradients"
	"dpsgd/internal/kernel"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/internal/trained"
	"dpsgd/model"
)

// Evaluate measures the model that a run has written. It changes nothing in the run's folder. Features
// of its pictures are kept beside the runs, as in training, unless Options names another folder.
func Evaluate(dir string, o Options) (score.Score, error) {
	t, err := openTested(dir, o)
	if err != nil {
		return score.Score{}, err
	}
	defer t.pool.Close()
	e, err := t.examine()
	return e.Score, err
}

// Examine is [Evaluate] with every prediction and the pictures that were predicted.
func Examine(dir string, o Options) (score.Examination, error) {
	t, err := openTested(dir, o)
	if err != nil {
		return score.Examination{}, err
	}
	defer t.pool.Close()
	e, err := t.examine()
	if err != nil || t.source.Shape.IsRow() {
		return e, err
	}
	if e.Pictures, err = t.source.TestPictures(); err != nil || e.Pictures == nil || !t.config.Pate.Any() {
		return e, err
	}
	tested, err := beyondPool(t.config, e.Pictures)
	e.Pictures, _ = tested.(data.Pictures)
	return e, err
}

// tested is a model that a run has written, with its test examples.
type tested struct {
	dir       string
	config    *configs.Config
	source    *setup.Source
	spent     account.Spent
	warning   string
	seen      *data.Split // as the network sees them
	evaluator *gradients.Evaluator
	pool      *kernel.Pool
}

// openTested reads everything that an evaluation needs. The pool of what it returns has to be
// closed.
func openTested(dir string, o Options) (*tested, error) {
	o.RunsDir = cmp.Or(o.RunsDir, runsAround(dir))
	c, err := folder.ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	tensors, mean, err := trained.Weights(dir, c)
	if err != nil {
		return nil, err
	}
	t := &tested{dir: dir, config: c}
	i, err := books.Inspect(dir)
	switch {
	case errors.Is(err, books.ErrNotPrivate):
		t.spent.Epsilon, t.spent.Delta, t.spent.Accountant = statement.NoGuarantee, 1, "NOT PRIVATE"
	case err == nil:
		var claim account.Claim
		claim, err = i.Claim(c)
		t.spent = claim.Spent
		fallthrough
	default:
		if err != nil {
			return nil, err
		}
	}
	if t.source, err = o.Located().Find(c); err != nil {
		return nil, err
	}
	t.warning = cmp.Or(i.Warning, t.source.Warning())
	m, err := setup.Model(c, t.source.Shape, t.source.Classes)
	if err != nil {
		return nil, err
	}
	if err := m.Import(tensors); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, folder.Model), err)
	}
	t.pool = kernel.NewPool(setup.Threads(c))
	if err := t.compile(m, mean); err != nil {
		t.pool.Close()
		return nil, err
	}
	return t, nil
}

// runsAround returns the folder of runs that a run or a trial of a sweep lies in.
func runsAround(dir string) string {
	parent := filepath.Dir(filepath.Clean(dir))
	if folder.HoldsAny(parent, folder.Sweep) {
		return filepath.Dir(parent)
	}
	return parent
}

// compile makes the evaluator of a model, on test examples minus the run's mean of features.
func (t *tested) compile(m *model.Model, mean []float32) error {
	seen, err := t.source.Seen(t.pool)
	if err != nil {
		return err
	}
	if mean != nil {
		if err := setup.Centre(seen, mean, t.pool); err != nil {
			return err
		}
	}
	measuring := *seen
	if measuring.Test, err = beyondPool(t.config, seen.Test); err != nil {
		return err
	}
	t.seen, t.source.Tests = &measuring, measuring.Test.Len()
	t.evaluator, err = gradients.NewEvaluator(m, t.seen.Test, t.normalisation(), t.pool)
	return err
}

// beyondPool returns the test examples that measure the model: all, but for a student of teachers
// only those outside the public pool.
func beyondPool(c *configs.Config, test data.Set) (data.Set, error) {
	if !c.Pate.Any() {
		return test, nil
	}
	return data.Part(test, c.Pate.Pool, test.Len())
}

func (t *tested) normalisation() data.Normalisation {
	return setup.Normalisation(t.config, t.source.Shape.Channels)
}

// EachLogits tells what the model of a run says of each training example, and then of each test example:
// the logits, valid until the next call, and the class. What it tells of training examples is NOT
// PRIVATE: it is for attacks, and goes into no file.
func EachLogits(dir string, o Options, visit func(training bool, logits []float32, label int)) error {
	t, err := openTested(dir, o)
	if err != nil {
		return err
	}
	defer t.pool.Close()
	for _, training := range []bool{true, false} {
		set := t.seen.Test
		if training {
			set = t.seen.Train
		}
		if err := t.evaluator.Show(set, t.normalisation()); err != nil {
			return err
		}
		if err := t.evaluator.Each(func(_ int, p gradients.Prediction) { visit(training, p.Logits, p.Label) }); err != nil {
			return err
		}
	}
	return nil
}

// examine predicts all test examples and returns their scores.
func (t *tested) examine() (score.Examination, error) {
	e := score.Examine(t.source.Names, t.source.Tests)
	err := t.evaluator.Each(func(_ int, p gradients.Prediction) { e.Add(p.Label, p.Class, p.Logits, p.Loss) })
	e.Close()
	e.Run, e.Noun, e.Answer, e.Warning = t.dir, t.source.Shape.Noun(), t.spent.Answer(), t.warning
	if !t.config.Privacy.None {
		e.Unit, e.TargetEpsilon = setup.UnitOf(t.config), t.config.Privacy.Epsilon
	}
	e.TestLoss = run.Finite(e.TestLoss)
	return *e, err
}
