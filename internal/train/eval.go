package train

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

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
)

// Evaluate measures the model that a run has written. It changes nothing in the run's folder.
// Features of its pictures are kept beside the runs, as in training, unless Options names another
// folder.
func Evaluate(dir string, o Options) (score.Score, error) {
	var e score.Examination
	err := test(dir, o, func(t *tested) (err error) {
		e, err = t.examine()
		return err
	})
	return e.Score, err
}

// Examine is [Evaluate] with every prediction and the pictures that were predicted.
func Examine(dir string, o Options) (e score.Examination, err error) {
	err = test(dir, o, func(t *tested) error {
		if e, err = t.examine(); err != nil || !t.source.Shape.IsPicture() {
			if texts, ok := t.tests.(*data.Texts); ok {
				e.Text = func(i int) string { return texts.Text(t.rest[i]) }
			}
			return err
		}
		pictures, err := t.source.TestPictures()
		if err == nil && pictures != nil {
			e.Pictures, _ = data.Select(t.rest, pictures).(data.Pictures)
		}
		return err
	})
	return e, err
}

// tested holds a model that a run has written, and the test examples that measure it.
type tested struct {
	dir       string
	config    *configs.Config
	source    *setup.Source
	spent     account.Spent
	warning   string
	seen      data.Split // as the network sees them, less the run's mean of features
	tests     data.Set   // all test examples
	rest      []int      // the places of those that measure the model: of a student only those outside the pool
	evaluator *gradients.Evaluator
}

// test reads the model of a run and the examples of its configuration, and calls do with them.
func test(dir string, o Options, do func(*tested) error) error {
	o.RunsDir = cmp.Or(o.RunsDir, folder.Around(dir))
	c, err := folder.ReadConfig(dir)
	if err != nil {
		return err
	}
	c.Data.Tokenizer = trained.Tokenizer(dir, c.Data.Tokenizer)
	tensors, mean, err := trained.Weights(dir, c)
	if err != nil {
		return err
	}
	t := &tested{dir: dir, config: c}
	i, err := books.Inspect(dir)
	if err == nil {
		var claim account.Claim
		claim, err = i.Claim(c)
		t.spent = claim.Spent
	} else if errors.Is(err, books.ErrNotPrivate) {
		t.spent.Epsilon, t.spent.Delta, t.spent.Accountant = statement.NoGuarantee, 1, "NOT PRIVATE"
		err = nil
	}
	if err != nil {
		return err
	}
	if t.source, err = o.Located().Find(c); err == nil {
		err = trained.CheckTokenizer(dir, c.Data.Tokenizer, t.source.Tokenizer)
	}
	if err != nil {
		return err
	}
	t.warning = cmp.Or(i.Warning, t.source.Warning())
	m, err := setup.Model(c, t.source.Shape, t.source.Classes)
	if err != nil {
		return err
	}
	if err := m.Import(tensors); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, folder.Model), err)
	}
	pool := kernel.NewPool(setup.Threads(c))
	defer pool.Close()
	seen, err := t.source.Seen(pool)
	if err != nil {
		return err
	}
	if mean != nil {
		if err := setup.Centre(seen, mean, pool); err != nil {
			return err
		}
	}
	t.seen = *seen
	t.tests = seen.Test
	if _, t.rest, _ = setup.Pool(c, dir, t.tests.Len()); c.Pate.Any() {
		t.seen.Test = data.Select(t.rest, t.tests)
	}
	if t.evaluator, err = gradients.NewEvaluator(m, t.seen.Test, t.normalisation(), pool); err != nil {
		return err
	}
	return do(t)
}

func (t *tested) normalisation() data.Normalisation {
	return setup.Normalisation(t.config, t.source.Shape.Channels)
}

// EachLogits tells what the model of a run says of each training example, and then of each test
// example: the logits, valid until the next call, and the class. What it tells of training examples
// is NOT PRIVATE: it is for attacks, and goes into no file.
func EachLogits(dir string, o Options, visit func(training bool, logits []float32, label int)) error {
	return test(dir, o, func(t *tested) error {
		if t.config.Data.Task() != data.Class {
			return setup.Misfit("training.loss", "is %s, expected cross_entropy: the attack looks at classes", t.config.Training.Loss.Name())
		}
		for i, set := range []data.Set{t.seen.Train, t.seen.Test} {
			if err := t.evaluator.Show(set, t.normalisation()); err != nil {
				return err
			}
			if err := t.evaluator.Each(func(_ int, p gradients.Prediction) { visit(i == 0, p.Outputs, p.Label) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// examine predicts all test examples and returns their scores.
func (t *tested) examine() (score.Examination, error) {
	e, _, err := t.evaluator.Examine()
	if err != nil {
		return score.Examination{}, err
	}
	e.Measure()
	e.Run, e.Noun, e.Answer, e.Warning = t.dir, t.source.Shape.Noun(), t.spent.Answer(), t.warning
	if !t.config.Privacy.None {
		e.Unit, e.TargetEpsilon = setup.UnitOf(t.config), t.config.Privacy.Epsilon
	}
	e.TestLoss = run.Finite(e.TestLoss)
	lines, _ := run.ReadMetrics(t.dir)
	if len(lines) > 0 && !slices.ContainsFunc(lines, func(m run.Metrics) bool { return math.Abs(m.TestLoss-e.TestLoss) <= 0.01*m.TestLoss+1e-6 }) {
		e.Warning = cmp.Or(e.Warning, fmt.Sprintf("the test examples are others than the run's: it never measured a test loss of %.4f", e.TestLoss))
	}
	return *e, nil
}
