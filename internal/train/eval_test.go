package train

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
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

// One flipped bit of a weight is a number like any other: the sum in the statement finds it. A run of
// an earlier version has none and is evaluated.
func TestEvaluateRefusesAFlippedBit(t *testing.T) {
	o := options(t)
	r := train(t, o)
	path := filepath.Join(r.Run, folder.Model)
	whole := tiny.Read(t, path)
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(whole)))
	for _, file := range []string{folder.StatementData, folder.Statement} {
		if !strings.Contains(tiny.Read(t, filepath.Join(r.Run, file)), sum) {
			t.Errorf("%s does not hold the SHA-256 of the model, %s", file, sum)
		}
	}
	flipped := []byte(whole)
	flipped[len(flipped)-1] ^= 0x04
	tiny.Write(t, path, string(flipped))
	_, err := Evaluate(r.Run, o)
	if !errors.Is(err, checkpoints.ErrCorrupt) || !strings.Contains(err.Error(), path+": found SHA-256 ") || !strings.Contains(err.Error(), "expected "+sum+" as privacy.json says") {
		t.Errorf("found error %v, expected a damaged file with both sums", err)
	}
	statement := filepath.Join(r.Run, folder.StatementData)
	tiny.Write(t, statement, regexp.MustCompile(`(?m)^.*"model_sha256".*\n`).ReplaceAllString(tiny.Read(t, statement), ""))
	if _, err := Evaluate(r.Run, o); err != nil {
		t.Errorf("a run without a sum: %v", err)
	}
	fit(t, open(t, r.Run, o)) // writes the model again
	if tiny.Read(t, path) != whole {
		t.Error("resume did not write the model again")
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
