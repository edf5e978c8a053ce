package train

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/internal/folder"
	"dpsgd/internal/tiny"
)

// The written model does on the test pictures what the run reported, and measuring changes no file.
func TestEvaluateAgreesWithTheRun(t *testing.T) {
	o := options(t)
	r := train(t, o, tiny.Convolutional)
	before := tiny.Snapshot(t, r.Run)
	s, err := Evaluate(r.Run, o)
	if err != nil {
		t.Fatal(err)
	}
	if s.TestAccuracy != r.TestAccuracy || s.Epsilon != r.Epsilon || s.Delta != r.Delta || s.TestExamples != 90 || s.Run != r.Run || !(s.TestLoss > 0) {
		t.Errorf("found %+v, expected what the run reported: %+v", s, r)
	}
	if !maps.Equal(before, tiny.Snapshot(t, r.Run)) {
		t.Error("measuring changed the run")
	}
}

func TestEvaluateRefuses(t *testing.T) {
	o := options(t)
	r := train(t, o)
	other := train(t, o, "model.name=mlp")
	path := filepath.Join(r.Run, folder.Model)
	tiny.Write(t, path, tiny.Read(t, filepath.Join(other.Run, folder.Model)))
	if _, err := Evaluate(r.Run, o); err == nil {
		t.Error("weights of another network were taken")
	}
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := Evaluate(r.Run, o); !errors.Is(err, checkpoints.ErrCorrupt) {
		t.Errorf("found error %v, expected a damaged file", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Evaluate(r.Run, o); !errors.Is(err, folder.ErrNoRun) {
		t.Errorf("found error %v, expected a run without a model", err)
	}
}

// Accuracy is that of the test pictures: a network that knows the training pictures by heart, and
// whose test pictures have other labels, does badly.
func TestEvaluationUsesTheTestPictures(t *testing.T) {
	o := options(t)
	o.Source.Test = shifted(t, o.Source.Test)
	r := train(t, o, "training.steps=60")
	score, err := Evaluate(r.Run, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.TestAccuracy > 0.2 || score.TestAccuracy != r.TestAccuracy || score.TestExamples != 90 {
		t.Errorf("found accuracy %v at the end and %v of %d pictures later, expected at most 0.2 of 90 where every label is another", r.TestAccuracy, score.TestAccuracy, score.TestExamples)
	}
}
