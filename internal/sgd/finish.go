package sgd

import (
	"fmt"

	"dpsgd/internal/account"
	"dpsgd/internal/folder"
	"dpsgd/internal/gradients"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
)

// predictTrain predicts every training example with the current parameters.
func (r *Run) predictTrain(visit func(example int, logits []float32)) error {
	e, err := gradients.NewEvaluator(r.Model, r.Examples.Train, setup.Normalisation(r.Config, r.Source.Shape.Channels), r.Pool)
	if err != nil {
		return err
	}
	return e.Each(func(i int, p gradients.Prediction) { visit(i, p.Outputs) })
}

// evaluate measures the current parameters, or their mean, on the test examples.
func (r *Run) evaluate() error {
	return r.Measure(func() (run.Metrics, error) {
		m := run.Metrics{Answer: account.Answer{Epsilon: statement.NoGuarantee, Delta: 1}, LearningRate: r.Schedule.LearningRate(max(0, r.done()-1))}
		if r.Books == nil {
			return m, nil
		}
		spent, err := r.spent()
		m.Answer = spent.Answer()
		return m, err
	})
}

// Finish evaluates the last parameters, and writes the model and the statement. The file of the
// model says whether the model is private.
func (r *Run) Finish(status run.Status) error {
	if err := r.evaluate(); err != nil {
		return err
	}
	s, err := r.statement(status)
	if err != nil {
		return err
	}
	privacy := "NOT PRIVATE"
	if s.Private() {
		privacy = fmt.Sprintf("epsilon %v, delta %v for %s", s.Epsilon, s.Delta, s.Unit)
	}
	if err := r.Write(map[string]string{"privacy": privacy}); err != nil {
		return err
	}
	if err := r.Publish(s); err != nil {
		return err
	}
	r.result = Result{
		Status: status, Steps: r.Step, Private: s.Private(), Unit: s.Unit, Test: r.Evaluation.Test, ByClass: r.ByClass,
		Average: r.Config.Training.Average.Name(), Seconds: r.Seconds(), ExamplesPerSecond: r.PerSecond(float64(r.batch)), Run: r.Dir, Together: s.Together, Accountant: s.Accountant,
	}
	if s.Private() {
		r.result.Epsilon, r.result.Delta = &s.Epsilon, &s.Delta
	}
	run.Tell(r.watcher.Finished, r.result)
	return nil
}

// statement returns the statement of the run: what is private about it, or that nothing is.
func (r *Run) statement(status run.Status) (statement.Statement, error) {
	o, c := r.Source.Outline, r.Config
	s := statement.Statement{
		Run: r.Name(), Status: string(status), System: statement.None, Unit: "nothing",
		Answer: account.Answer{Epsilon: statement.NoGuarantee, Delta: 1},
		Data:   o.Name, Examples: o.Examples, Shape: o.Shape.String(), Classes: o.Classes,
		PlannedSteps: r.phases() * r.steps, MaxSteps: r.phases() * r.steps, Steps: r.Step, ExpectedBatchSize: float64(r.batch),
		FrozenValues: r.Model.FrozenValues(),
		Facts: []statement.Fact{
			{Name: "Training", Value: fmt.Sprintf("ordinary minibatches of %d examples, %s at a learning rate of %.4g, without clipping and without noise", r.batch, c.Optimizer.Rule.Name(), r.Schedule.Peak)},
		},
		NotPrivate: []string{"anything: every training example"},
	}
	var err error
	if r.Books != nil {
		err = r.ofLabels(&s)
	}
	if r.Initial != "" {
		setup.OfWeights(c.Model, r.Initial, &s)
	}
	o.Sees(c, &s)
	return s, err
}

// ofLabels fills into a statement the guarantee of labels that were told.
func (r *Run) ofLabels(s *statement.Statement) error {
	spent, err := r.spent()
	if err != nil {
		return err
	}
	if s.Together, err = r.Books.Together(); err != nil {
		return err
	}
	noun := r.Source.Shape.Noun()
	s.System, s.Unit = "label", setup.Label
	s.Answer, s.Method, s.TargetEpsilon, s.Relation = spent.Answer(), spent.Method, r.Config.Privacy.Epsilon, "replace the label of one"
	s.Neighbours = "two sets with the same " + noun + " that differ in the label of one of them"
	s.Public = fmt.Sprintf("all %d training %s without their labels, the classes, and everything in the configuration", r.Source.Examples, noun)
	s.Trusted = "this program, which sees the labels once; each label could as well be told by whoever holds it"
	s.LedgerEntries, s.LedgerHead = r.Books.Len(), r.Books.Hash()
	how := fmt.Sprintf("randomised response among all %d classes: told truly with probability %.4f", r.Source.Classes, r.answers.Truth(r.Source.Classes))
	if r.phases() > 1 {
		how += " for the first half of the examples; the others among the classes that are likely by a model that learnt the first answers (LP-2ST of Ghazi et al. 2021)"
	}
	s.Facts = append([]statement.Fact{
		{Name: "Labels", Value: how},
		{Name: "Answers", Value: "in " + folder.Labels + ": public, and all that training saw of the labels"},
	}, s.Facts...)
	s.NotPrivate = []string{
		"the training " + noun + " themselves: the model may hold any of them, and who is among them is not hidden",
		"the names of the classes and every value of the configuration; if they were chosen by looking at the labels, that choice is not covered",
		"the test " + noun + " and their labels: the test accuracy and test loss are computed without protection",
	}
	return nil
}

func (r *Run) overview() Overview {
	o := Overview{
		Run: r.Dir, Data: r.Source.Name, Unit: "nothing", Examples: r.Source.Examples, Parameters: len(r.Model.Values),
		Steps: r.phases() * r.steps, ResumedAt: r.ResumedAt, Private: r.Books != nil,
	}
	if o.Private {
		o.Unit, o.Epsilon, o.Truth = setup.Label, r.Config.Privacy.Epsilon, r.answers.Truth(r.Source.Classes)
	}
	return o
}

func (r *Run) progress() Progress {
	p := Progress{Phase: "training", Step: r.Step, Steps: r.phases() * r.steps, Evaluation: r.Evaluation, ExamplesPerSecond: r.PerSecond(float64(r.batch))}
	if r.phases() > 1 {
		p.Phase = fmt.Sprintf("stage %d of %d", r.phase+1, r.phases())
	}
	return p
}

// Result is what a run reports at its end. A run that is NOT PRIVATE has neither ε nor δ.
type Result struct {
	Status  run.Status `json:"status"`
	Steps   int        `json:"steps"`
	Private bool       `json:"private"`
	Unit    string     `json:"unit"`    // whose presence or value is protected; "nothing"
	Epsilon *float64   `json:"epsilon"` // null where there is no guarantee
	Delta   *float64   `json:"delta"`
	score.Test
	ByClass           []score.Class `json:"accuracy_by_class,omitempty"` // with intervals
	Average           string        `json:"average"`
	Seconds           float64       `json:"seconds"`
	ExamplesPerSecond float64       `json:"examples_per_second"`
	Run               string        `json:"run"`
	statement.Together
	Accountant string `json:"accountant,omitempty"`
}

// Progress is what a run shows while it goes on.
type Progress struct {
	Phase             string // what is being learnt
	Step, Steps       int
	Evaluation        gradients.Evaluation // the newest one, zero before the first
	Evaluated         bool                 // whether that is of this step
	ExamplesPerSecond float64
}

// Overview describes a run at its start: its folder, its data and its network.
type Overview struct {
	Run, Data, Unit      string
	Examples, Parameters int
	Steps, ResumedAt     int
	Private              bool
	Epsilon              float64 // of a label
	Truth                float64 // how often a label is told truly, among all classes
}

// Watcher is told about the start, the steps and the end of a run.
type Watcher = run.Watcher[Overview, Progress, Result]
