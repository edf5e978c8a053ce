package train

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"dpsgd/checkpoints"
)

// The written model does on the test pictures what the run reported, and measuring changes no file.
func TestEvaluateAgreesWithTheRun(t *testing.T) {
	o := options(t)
	r := train(t, o, convolutional)
	before := snapshot(t, r.Run)
	s, err := Evaluate(r.Run, o)
	if err != nil {
		t.Fatal(err)
	}
	if s.TestAccuracy != r.TestAccuracy || s.Epsilon != r.Epsilon || s.Delta != r.Delta || s.TestExamples != 90 || s.Run != r.Run || !(s.TestLoss > 0) {
		t.Errorf("found %+v, expected what the run reported: %+v", s, r)
	}
	if !maps.Equal(before, snapshot(t, r.Run)) {
		t.Error("measuring changed the run")
	}
}

func TestEvaluateRefuses(t *testing.T) {
	o := options(t)
	r := train(t, o)
	other := train(t, o, "model.name=mlp")
	path := filepath.Join(r.Run, modelFile)
	write(t, path, read(t, filepath.Join(other.Run, modelFile)))
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
	if _, err := Evaluate(r.Run, o); !errors.Is(err, ErrNoRun) {
		t.Errorf("found error %v, expected a run without a model", err)
	}
}
