package train

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/compute"
	"dpsgd/internal/confusion"
	"dpsgd/internal/examples"
	"dpsgd/internal/folder"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setup"
	"dpsgd/internal/trained"
	"dpsgd/model"
)

// Score is how the model of a run does on the test examples, and what it cost.
type Score struct {
	Run            string            `json:"run"`
	TestAccuracy   float64           `json:"test_accuracy"`
	TestLoss       float64           `json:"test_loss"`
	TestExamples   int               `json:"test_examples"`
	Noun           string            `json:"-"` // "pictures" or "rows"
	Classes        []confusion.Class `json:"classes"`
	Confusion      [][]int           `json:"confusion"` // a row for each class of examples, a column for each predicted one
	account.Answer                   // of everything in the run's ledger
	TargetEpsilon  float64           `json:"target_epsilon,omitempty"` // the budget; 0 for none
	Warning        string            `json:"-"`                        // that something beside the run could not be asked; "" in most cases
}

// Prediction is what the model says of one test example.
type Prediction struct {
	Label, Class int     // its class, and the one that it is taken for
	Probability  float64 // of Class, by the softmax of the logits; NaN of a model that diverged
}

// Examination is a score with what it was made of.
type Examination struct {
	Score
	Matrix      *confusion.Matrix
	Predictions []Prediction // of all test examples, in their order
	Pictures    *data.Images // the test examples, where they are pictures; nil otherwise
}

// Evaluate measures the model that a run has written. It changes nothing in the run's folder. Features
// of its pictures are kept beside the runs, as in training, unless Options names another folder.
func Evaluate(dir string, o Options) (Score, error) {
	t, err := openTested(dir, o)
	if err != nil {
		return Score{}, err
	}
	defer t.pool.Close()
	e, err := t.examine()
	return e.Score, err
}

// Examine is [Evaluate] with every prediction and the pictures that were predicted.
func Examine(dir string, o Options) (Examination, error) {
	t, err := openTested(dir, o)
	if err != nil {
		return Examination{}, err
	}
	defer t.pool.Close()
	e, err := t.examine()
	if err != nil || t.source.Shape.IsRow() {
		return e, err
	}
	e.Pictures, err = t.source.TestPictures()
	return e, err
}

// tested is a model that a run has written, with its test examples.
type tested struct {
	dir       string
	config    *configs.Config
	source    *examples.Source
	spent     account.Spent
	warning   string
	evaluator *compute.Evaluator
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
	i, err := books.Inspect(dir)
	if err != nil {
		return nil, err
	}
	t := &tested{dir: dir, config: c}
	if t.spent, err = account.SpentBy(c.Privacy.Accountant, i.Ledger, c.Privacy.Delta); err != nil {
		return nil, err
	}
	if t.source, err = o.examples().Find(c); err != nil {
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

// runsAround is the folder of runs that a run or a trial of a sweep lies in.
func runsAround(dir string) string {
	parent := filepath.Dir(filepath.Clean(dir))
	if folder.HoldsAny(parent, folder.Sweep) {
		return filepath.Dir(parent)
	}
	return parent
}

// compile makes the evaluator of a model, for examples from which the mean of the run is taken off.
func (t *tested) compile(m *model.Model, mean []float32) error {
	seen, err := t.source.Seen(t.pool)
	if err != nil {
		return err
	}
	if mean != nil {
		if err := examples.Centre(seen, mean, t.pool); err != nil {
			return err
		}
	}
	t.evaluator, err = compute.NewEvaluator(m, seen.Test, setup.Normalisation(t.config, t.source.Shape.Channels), t.pool)
	return err
}

// examine predicts all test examples, and counts.
func (t *tested) examine() (Examination, error) {
	e := Examination{Matrix: confusion.New(t.source.Names), Predictions: make([]Prediction, t.source.Tests)}
	var loss float64
	err := t.evaluator.Each(func(example int, p compute.Prediction) {
		e.Matrix.Add(p.Label, p.Class)
		e.Predictions[example] = Prediction{p.Label, p.Class, probability(p.Logits, p.Class)}
		loss += float64(p.Loss)
	})
	all := e.Matrix.Total()
	e.Score = Score{
		Run: t.dir, TestAccuracy: all.Accuracy, TestLoss: finite(loss / float64(all.Examples)), TestExamples: all.Examples, Noun: t.source.Shape.Noun(),
		Classes: e.Matrix.ByClass(), Confusion: e.Matrix.Counts, Answer: t.spent.Answer(), TargetEpsilon: t.config.Privacy.Epsilon, Warning: t.warning,
	}
	return e, err
}

// probability is that of the class with the largest logit, by the softmax of all: the inverse of
// Σ exp(logit - largest logit).
func probability(logits []float32, class int) float64 {
	var sum float64
	for _, l := range logits {
		sum += math.Exp(float64(l) - float64(logits[class]))
	}
	return 1 / sum
}
