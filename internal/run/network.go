package run

import (
	"fmt"
	"maps"
	"path/filepath"

	"dpsgd/checkpoints"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/gradients"
	"dpsgd/internal/score"
	"dpsgd/internal/setup"
	"dpsgd/model"
	"dpsgd/optimizer"
)

// Network is the network of a run, the mean of its parameters over steps, if one is kept, and its
// results on the test examples.
type Network struct {
	Model      *model.Model
	Initial    string // SHA-256 of the weights that it begins with; "" if they are random
	Schedule   optimizer.Schedule
	Mean       *optimizer.Mean      // measured and written in place of the parameters; nil for none
	Evaluator  *gradients.Evaluator // on the test examples
	Evaluation gradients.Evaluation // the newest one, zero before the first
	ByClass    []score.Class        // of the newest evaluation; none of numbers
	run        *Run
	begin      Beginning
}

// Declare builds the network of the configuration, sets its initial weights, and computes what it
// sees of the examples.
func (r *Run) Declare() (*Network, error) {
	n := &Network{run: r}
	var err error
	if n.Model, err = setup.Model(r.Config, r.Source.Shape, r.Source.Classes); err != nil {
		return nil, err
	}
	if n.Initial, err = setup.Start(r.Config, n.Model); err != nil {
		return nil, err
	}
	n.begin = BeginningOf(n.Model)
	if err := r.See(); err != nil {
		return nil, err
	}
	n.Evaluator, err = gradients.NewEvaluator(n.Model, r.Examples.Test, setup.Normalisation(r.Config, r.Source.Shape.Channels), r.Pool)
	return n, err
}

// View returns a checkpoint, without its step, of the parameters, their mean and the update rule's
// state. It copies none of them.
func (n *Network) View(rule optimizer.State) *checkpoints.State {
	n.Mean.Keep(rule.Slots)
	return &checkpoints.State{Parameters: n.Model.Values, OptimizerStep: rule.Step, Slots: rule.Slots}
}

// Fits refuses a checkpoint with another number of parameters.
func (n *Network) Fits(s *checkpoints.State, path string) error {
	if len(s.Parameters) != len(n.Model.Values) {
		return fmt.Errorf("%w: %s holds %d parameters, expected %d", books.ErrOtherPlan, path, len(s.Parameters), len(n.Model.Values))
	}
	return nil
}

// Restore loads the parameters, their mean, the update rule's state and the step from a checkpoint.
// The job has removed its own slots from s before. path names the checkpoint in errors.
func (n *Network) Restore(s *checkpoints.State, path string, rule func(optimizer.State) error) error {
	err := n.Mean.Restore(s.Slots)
	if err == nil {
		err = rule(optimizer.State{Step: s.OptimizerStep, Slots: s.Slots})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	copy(n.Model.Values, s.Parameters)
	n.run.Step, n.run.ResumedAt = s.Step, s.Step
	return nil
}

// Measure measures the parameters, or their mean if one is kept, on the test examples. It fills
// step, accuracy and loss into the line that line returns, and appends it to the metrics.
func (n *Network) Measure(line func() (Metrics, error)) error {
	if err := n.Mean.InPlaceOf(n.Model.Values, func() error {
		x, found, err := n.Evaluator.Examine()
		if err == nil {
			n.Evaluation, n.ByClass = found, x.Classes
		}
		return err
	}); err != nil {
		return err
	}
	m, err := line()
	if err != nil {
		return err
	}
	m.Step, m.Test, m.TestLoss = n.run.Step, n.Evaluation.Test, n.Evaluation.Loss
	return n.run.WriteMetrics(m)
}

// Write writes the model file: the parameters, or their mean if one is kept, with PyTorch's names
// and layouts, then the tensors beside. about goes into the file's metadata. See [Run.WriteModel].
func (n *Network) Write(about map[string]string, beside ...checkpoints.Tensor) error {
	return n.Mean.InPlaceOf(n.Model.Values, func() error { return n.run.WriteModel(n.Model, n.Evaluator, n.begin, about, beside...) })
}

// WriteModel writes the parameters of a model, and loads the file again: unless it holds what was
// trained, predicts what e does, and differs from the beginning where it was to change and nowhere
// else, the error matches ErrWritten.
func (r *Run) WriteModel(m *model.Model, e *gradients.Evaluator, begin Beginning, about map[string]string, beside ...checkpoints.Tensor) error {
	tensors, said := append(m.Export(), beside...), map[string]string{"format": "pt"}
	if r.Config.Features.Any() {
		said["features"] = r.Config.Features.Recipe.String()
	}
	maps.Copy(said, about)
	if err := r.Keep(Saving{"the model", folder.Model, 4*(len(m.Values)+m.FrozenValues()) + 1<<16, func(dir string) error {
		return checkpoints.WriteModel(filepath.Join(dir, folder.Model), tensors, said)
	}, true}); err != nil {
		return err
	}
	return r.checkWritten(m, e, begin, beside)
}
