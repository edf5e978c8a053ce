package trained

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/model"
)

// Fact is one thing that an exported model says about itself.
type Fact struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Training returns a few words on how private the training was.
func (m *Model) Training() string {
	if !m.Statement.Private() {
		return "WITHOUT PRIVACY"
	}
	return "with differential privacy of " + m.Statement.Unit
}

// Provenance returns the facts that go with the model wherever it goes: where it comes from, and
// its privacy guarantee. All of it stands in the privacy statement of the run; none of it is
// private.
func (m *Model) Provenance() []Fact {
	s := m.Statement
	facts := []Fact{{"privacy", "NOT PRIVATE: trained without privacy, no guarantee"}}
	if s.Private() {
		facts = []Fact{
			{"privacy.epsilon", accountant.RoundUp(s.Epsilon, 3)},
			{"privacy.delta", fmt.Sprint(s.Delta)},
			{"privacy.accountant", s.Accountant},
			{"privacy.unit", s.Unit},
			{"privacy.relation", s.Relation},
			{"privacy.mechanism", s.Mechanisms()},
		}
	}
	if s.Hidden {
		facts = append(facts, Fact{"not_to_be_published", "one trial of a sweep that drew how many points there are"})
	}
	if s.InitialWeights != "" {
		facts = append(facts, Fact{"privacy.initial_weights", s.InitialWeights})
	}
	if s.Trained != "" {
		facts = append(facts, Fact{"parameters", s.Trained})
	}
	if total := s.DatasetTotal(); total != "" {
		facts = append(facts, Fact{"privacy.all_runs", "on this data with this unit: " + total})
	}
	facts = append(facts, Fact{"data", fmt.Sprintf("%s, %d examples of %s%s", s.Data, s.Examples, s.Shape, s.Learnt())})
	if m.Config.Model.Name != "" {
		facts = append(facts, Fact{"network", m.Config.Model.Name})
	}
	facts = append(facts, Fact{"run", filepath.Base(s.Run)})
	if s.LedgerHead != "" {
		facts = append(facts, Fact{"ledger_head", s.LedgerHead})
	}
	if s.ModelSHA256 != "" {
		facts = append(facts, Fact{"model_sha256", s.ModelSHA256})
	}
	return facts
}

// MeanOfFeatures names the private mean that is subtracted from features, in model files and
// checkpoints.
const MeanOfFeatures = "features.mean"

// Weights reads the weights that a run has written at its end, and the mean of features, nil if
// there is none. It refuses a file without the SHA-256 that the run's statement has.
func Weights(dir string, c *configs.Config) (tensors []model.Tensor, mean []float32, err error) {
	read, about, err := checkpoints.ReadModel(filepath.Join(dir, folder.Model))
	if errors.Is(err, fs.ErrNotExist) && folder.HoldsAny(dir, folder.Statistics) {
		return nil, nil, fmt.Errorf("%w with a model: %s holds statistics, expected a run that trains", folder.ErrNoRun, dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%w with a model: %s holds no %s, expected a run that has ended; go on with it by `train resume %s`", folder.ErrNoRun, dir, folder.Model, folder.Argument(dir))
	}
	if err == nil {
		err = checkSum(dir)
	}
	if c.Features.Any() && err == nil && about["features"] != c.Features.Recipe.String() {
		return nil, nil, fmt.Errorf("%w: %s was trained on features %q, expected %q, which this program computes", setup.ErrPlan, filepath.Join(dir, folder.Model), about["features"], c.Features.Recipe)
	}
	for _, t := range read {
		if t.Name == MeanOfFeatures {
			mean = t.Data
			continue
		}
		tensors = append(tensors, t)
	}
	return tensors, mean, err
}

// checkSum refuses a model file without the SHA-256 in its run's statement: the format of the file
// has no checksum, and a weight with a flipped bit is a number like any other. Statements of
// earlier versions have none.
func checkSum(dir string) error {
	s, err := statement.Read(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && s.ModelSHA256 == "" {
		return nil
	}
	if err != nil {
		return err
	}
	found, err := checkpoints.SHA256(filepath.Join(dir, folder.Model))
	if err == nil && found != s.ModelSHA256 {
		err = fmt.Errorf("train: %s: found SHA-256 %s, expected %s as %s says: the file is damaged or of another run; `train resume %s` writes it again: %w",
			filepath.Join(dir, folder.Model), found, s.ModelSHA256, folder.StatementData, folder.Argument(dir), checkpoints.ErrCorrupt)
	}
	return err
}
