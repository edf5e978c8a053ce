package trained

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/model"
)

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
	found, err := folder.SHA256(filepath.Join(dir, folder.Model))
	if err == nil && found != s.ModelSHA256 {
		err = fmt.Errorf("train: %s: found SHA-256 %s, expected %s as %s says: the file is damaged or of another run; `train resume %s` writes it again: %w",
			filepath.Join(dir, folder.Model), found, s.ModelSHA256, folder.StatementData, folder.Argument(dir), checkpoints.ErrCorrupt)
	}
	return err
}
