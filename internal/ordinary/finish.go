package ordinary

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"dpsgd/checkpoints/safetensors"
	"dpsgd/internal/account"
	"dpsgd/internal/compute"
	"dpsgd/internal/folder"
	"dpsgd/internal/labels"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/internal/trained"
)

// predictTrain predicts every training example with the current parameters.
func (r *Run) predictTrain(visit func(example int, logits []float32)) error {
	e, err := compute.NewEvaluator(r.model, r.examples.Train, setup.Normalisation(r.config, r.source.Shape.Channels), r.pool)
	if err != nil {
		return err
	}
	return e.Each(func(i int, p compute.Prediction) { visit(i, p.Logits) })
}

// evaluate measures the current parameters, or their mean, on the test examples and appends a line to
// the metrics.
func (r *Run) evaluate() error {
	if err := r.mean.InPlaceOf(r.model.Values, func() (err error) {
		r.byClass = score.New(r.source.Names)
		r.evaluation, err = r.evaluator.Count(r.byClass)
		return err
	}); err != nil {
		return err
	}
	spent, err := r.spent()
	if err != nil {
		return err
	}
	line := run.Metrics{Step: r.done(), Answer: account.Answer{Epsilon: statement.NoGuarantee, Delta: 1}, TestAccuracy: r.evaluation.Accuracy,
		TestLoss: run.Finite(r.evaluation.Loss), LearningRate: r.schedule.LearningRate(max(0, r.step-1))}
	if spent != nil {
		line.Answer = spent.Answer()
		line.Accountant = ""
	}
	encoded, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("train: %s: %w", r.path(folder.Metrics), err)
	}
	return run.AppendLine(r.path(folder.Metrics), encoded)
}

// finish saves the last parameters, evaluates them, and writes model and statement.
func (r *Run) finish(status run.Status) (Result, error) {
	if err := r.save(); err != nil {
		return Result{}, err
	}
	if err := r.evaluate(); err != nil {
		return Result{}, err
	}
	s, err := r.statement(status)
	if err != nil {
		return Result{}, err
	}
	if err := r.mean.InPlaceOf(r.model.Values, func() error { return r.writeModel(s) }); err != nil {
		return Result{}, err
	}
	if s.ModelSHA256, err = trained.Sum(r.Dir); err != nil {
		return Result{}, err
	}
	if err := s.Write(r.Dir); err != nil {
		return Result{}, err
	}
	result := Result{
		Status: status, Steps: r.done(), Private: s.Private(), Unit: s.Unit, TestAccuracy: r.evaluation.Accuracy, ByClass: r.byClass.ByClass(),
		Average: r.config.Training.Average.Name(), Seconds: time.Since(r.begun).Seconds(), Run: r.Dir, Together: s.Together, Accountant: s.Accountant,
	}
	if r.stepTime > 0 {
		result.ExamplesPerSecond = r.examplesPerSecond()
	}
	if s.Private() {
		result.Epsilon, result.Delta = &s.Epsilon, &s.Delta
	}
	r.watcher.Finished(result)
	return result, nil
}

func (r *Run) examplesPerSecond() float64 {
	return float64(r.batch) * float64(r.stepped) / r.stepTime.Seconds()
}

// writeModel writes the parameters under PyTorch's names. The file itself says what it is.
func (r *Run) writeModel(s statement.Statement) error {
	var tensors []safetensors.Tensor
	for _, t := range r.model.Export() {
		tensors = append(tensors, safetensors.Tensor(t))
	}
	about := map[string]string{"format": "pt", "privacy": "NOT PRIVATE"}
	if s.Private() {
		about["privacy"] = fmt.Sprintf("epsilon %v, delta %v for %s", s.Epsilon, s.Delta, s.Unit)
	}
	if r.config.Features.Any() {
		about["features"] = r.config.Features.Recipe.String()
	}
	return safetensors.Write(filepath.Join(r.Dir, folder.Model), tensors, about)
}

// statement describes the run.
func (r *Run) statement(status run.Status) (statement.Statement, error) {
	o, c := r.outline, r.config
	s := statement.Statement{
		Run: folder.Name(r.Dir), Status: string(status), System: statement.None, Unit: "nothing",
		Answer: account.Answer{Epsilon: statement.NoGuarantee, Delta: 1},
		Data:   o.Name, Examples: o.Examples, Shape: o.Shape.String(), Classes: o.Classes,
		PlannedSteps: r.phases() * r.steps, MaxSteps: r.phases() * r.steps, Steps: r.done(), ExpectedBatchSize: float64(r.batch),
		FrozenValues: r.model.FrozenValues(),
		Facts: []statement.Fact{
			{Name: "Training", Value: fmt.Sprintf("ordinary minibatches of %d examples, %s at a learning rate of %.4g, without clipping and without noise", r.batch, c.Optimizer.Rule.Name(), r.schedule.Peak)},
		},
		NotPrivate: []string{"anything: every training example"},
	}
	if r.started != "" {
		s.InitialWeights = fmt.Sprintf("%s, SHA-256 `%s`, declared as trained on %s", filepath.Base(c.Model.Init), r.started, c.Model.InitTrainedOn)
	}
	if r.journal == nil {
		return s, nil
	}
	return s, r.ofLabels(&s)
}

// ofLabels makes a statement that of labels that were told.
func (r *Run) ofLabels(s *statement.Statement) error {
	spent, err := r.spent()
	if err != nil {
		return err
	}
	if s.Together, err = r.journal.Together(); err != nil {
		return err
	}
	noun := r.outline.Shape.Noun()
	s.System, s.Unit = "label", labels.Unit
	s.Answer, s.Method, s.TargetEpsilon, s.Relation = spent.Answer(), spent.Method, r.config.Privacy.Epsilon, "replace the label of one"
	s.Neighbours = "two sets with the same " + noun + " that differ in the label of one of them"
	s.Public = fmt.Sprintf("all %d training %s without their labels, the classes, and everything in the configuration", r.outline.Examples, noun)
	s.Trusted = "this program, which sees the labels once; each label could as well be told by whoever holds it"
	s.LedgerEntries, s.LedgerHead = r.journal.Len(), r.journal.Hash()
	how := fmt.Sprintf("randomised response among all %d classes: told truly with probability %.4f", r.outline.Classes, r.answers.Truth(r.outline.Classes))
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
		Run: r.Dir, Data: r.source.Name, Unit: "nothing", Examples: r.source.Examples, Parameters: len(r.model.Values),
		Steps: r.phases() * r.steps, ResumedAt: r.resumedAt, Private: r.journal != nil,
	}
	if o.Private {
		o.Unit, o.Epsilon, o.Truth = labels.Unit, r.config.Privacy.Epsilon, r.answers.Truth(r.outline.Classes)
	}
	return o
}

func (r *Run) progress() (Progress, error) {
	p := Progress{Phase: "training", Step: r.done(), Steps: r.phases() * r.steps, Evaluation: r.evaluation, ExamplesPerSecond: r.examplesPerSecond()}
	if r.phases() > 1 {
		p.Phase = fmt.Sprintf("stage %d of %d", r.phase+1, r.phases())
	}
	var err error
	p.Spent, err = r.spent()
	return p, err
}
