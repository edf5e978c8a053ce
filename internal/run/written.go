package run

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"dpsgd/checkpoints"
	"dpsgd/internal/folder"
	"dpsgd/internal/gradients"
	"dpsgd/internal/setup"
	"dpsgd/model"
)

// ErrWritten: the model that a run has written is not the one that it trained.
var ErrWritten = errors.New("train: the written model is not the trained one")

// Beginning holds the SHA-256 of the values of each parameter, before the first step.
type Beginning map[string][sha256.Size]byte

// BeginningOf returns the hashes of the parameters that a model has now.
func BeginningOf(m *model.Model) Beginning {
	b := Beginning{}
	for _, t := range m.Export() {
		b[t.Name] = hash(t)
	}
	return b
}

func hash(t model.Tensor) (sum [sha256.Size]byte) {
	h := sha256.New()
	binary.Write(h, binary.LittleEndian, t.Data) // a hash takes everything
	h.Sum(sum[:0])
	return sum
}

// checkWritten loads the model file of the run, without the tensors beside, and holds it against m,
// whose predictions e gives.
func (r *Run) checkWritten(m *model.Model, e *gradients.Evaluator, begin Beginning, beside []checkpoints.Tensor) error {
	path := r.Path(folder.Model)
	tensors, _, err := checkpoints.ReadModel(path)
	if err != nil {
		return err
	}
	tensors = slices.DeleteFunc(tensors, func(t model.Tensor) bool {
		return slices.ContainsFunc(beside, func(b model.Tensor) bool { return b.Name == t.Name })
	})
	loaded, err := setup.Model(r.Config, r.Source.Shape, r.Source.Classes)
	if err != nil {
		return err
	}
	if err := loaded.Import(tensors); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrWritten, path, err)
	}
	again, err := gradients.NewEvaluator(loaded, r.Examples.Test, setup.Normalisation(r.Config, r.Source.Shape.Channels), r.Pool)
	if err != nil {
		return err
	}
	// Noise moves every parameter that is trained; without it a gradient can be 0.
	noisy := r.Step > 0 && !r.Config.Privacy.Ordinary() && !r.Config.Pate.Any()
	still, err := differs(m, loaded, begin, noisy)
	if err == nil {
		err = predictsAlike(e, again)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrWritten, path, err)
	}
	if still != "" {
		r.Warn("train: " + still + " is as training began: its steps were too small for float32; is optimizer.learning_rate far too small?")
	}
	return nil
}

// many is of how many values a parameter is when noise cannot leave it where it began. An update by
// signs alone brings one value back in two steps with probability 1/2, and so many with 2^-64.
const many = 64

// differs returns an error unless both models have the same values, bit for bit, of which those that
// are frozen are the ones of the beginning. With noisy, each other parameter of many values has
// changed, or rounding explains why not: none has whose values are 16 times as large. Then still
// names one that has not, or the model if none has.
func differs(trained, loaded *model.Model, begin Beginning, noisy bool) (still string, err error) {
	changes, finest, coarsest := map[string]bool{}, math.Inf(1), -1.0
	for _, p := range loaded.Parameters() {
		changes[p.Name] = true
	}
	written := loaded.Export()
	for i, t := range trained.Export() {
		now, then := hash(written[i]), begin[t.Name]
		switch {
		case written[i].Name != t.Name || now != hash(t):
			return "", fmt.Errorf("found other values of %s than those that were trained", t.Name)
		case !changes[t.Name] && now != then:
			return "", fmt.Errorf("found other values of %s than it began with, expected the same: it is frozen", t.Name)
		case !changes[t.Name] || !noisy || len(t.Data) < many:
		case now != then:
			coarsest = max(coarsest, smallest(t.Data))
		case smallest(t.Data) < finest:
			still, finest = t.Name, smallest(t.Data)
		}
	}
	if still != "" && coarsest >= 16*finest {
		err = fmt.Errorf("found the values of %s that it began with, expected others after noisy steps, as of other parameters", still)
	}
	if coarsest < 0 && still != "" {
		still = "the model"
	}
	return still, err
}

// smallest returns the smallest magnitude of values.
func smallest(values []float32) float64 {
	size := func(v float32) float64 { return math.Abs(float64(v)) }
	return size(slices.MinFunc(values, func(a, b float32) int { return cmp.Compare(size(a), size(b)) }))
}

// compared is on how many examples the predictions of a written model are compared.
const compared = 32

// predictsAlike returns an error unless both predict the same of the first examples, bit for bit.
func predictsAlike(trained, loaded *gradients.Evaluator) error {
	want, err := trained.First(compared)
	if err != nil {
		return err
	}
	found, err := loaded.First(compared)
	if err != nil {
		return err
	}
	for i, row := range want {
		if !slices.EqualFunc(found[i], row, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
			return fmt.Errorf("test example %d gives %v, expected %v as before it was written", i, found[i], row)
		}
	}
	return nil
}
