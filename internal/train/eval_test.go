package train

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/data"
	"dpsgd/internal/folder"
	"dpsgd/internal/sgd"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
)

// The written model does on the test pictures what the run reported, and measuring changes no file.
func TestEvaluateAgreesWithTheRun(t *testing.T) {
	o := options(t)
	r := train(t, o, tiny.Convolutional)
	before := tiny.Snapshot(t, r.Run)
	s := measured(t, r, o)
	if s.Delta != r.Delta || s.TestExamples != 90 || s.Run != r.Run || !(s.TestLoss > 0) {
		t.Errorf("found %+v, expected what the run reported: %+v", s, r)
	}
	if !maps.Equal(before, tiny.Snapshot(t, r.Run)) {
		t.Error("measuring changed the run")
	}
	b := tiny.Must(sgd.Create(tiny.Parse(t, "privacy.none=true"), sgd.Options{Options: o.Options}))(t)
	defer b.Close()
	baseline := tiny.Must(b.Fit(t.Context()))(t)
	if s, err := Evaluate(baseline.Run, o); err != nil || s.Accountant != "NOT PRIVATE" || s.Epsilon != statement.NoGuarantee || s.Delta != 1 || s.Unit != "" {
		t.Errorf("a baseline is measured as %+v (%v), expected that it is NOT PRIVATE", s, err)
	}
}

// Every test example is counted once, under its own class, and what is right there makes the
// accuracy; an examination says the same of each example, with the picture.
func TestExamineAgreesWithTheScore(t *testing.T) {
	o := options(t)
	r := train(t, o)
	s := tiny.Must(Evaluate(r.Run, o))(t)
	e := tiny.Must(Examine(r.Run, o))(t)
	if !reflect.DeepEqual(e.Score, s) {
		t.Errorf("found the score %+v, expected %+v", e.Score, s)
	}
	test := o.Given.Test.(*data.Images)
	if e.Pictures.Len() != test.Len() || len(e.Predictions) != test.Len() {
		t.Fatalf("found %d predictions, expected one for each of the %d test pictures", len(e.Predictions), test.Len())
	}
	counts, right := [3][3]int{}, 0
	for i, p := range e.Predictions {
		if p.Label != test.Label(i) || !(p.Probability > 1./3 && p.Probability <= 1) {
			t.Errorf("picture %d: found %+v, expected class %d with more than an equal share", i, p, test.Label(i))
		}
		counts[p.Label][p.Class]++
		if p.Label == p.Class {
			right++
		}
	}
	for label, class := range s.Classes {
		if !slices.Equal(s.Confusion[label], counts[label][:]) || class.Examples != 30 || class.Correct != counts[label][label] || class.Name != test.Classes()[label] {
			t.Errorf("found %v and %+v, expected %v", s.Confusion[label], class, counts[label])
		}
	}
	if float64(s.TestAccuracy) != float64(right)/90 {
		t.Errorf("found accuracy %v, expected %d / 90", s.TestAccuracy, right)
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
	tiny.Check(t, os.Truncate(path, 100))
	if _, err := Evaluate(r.Run, o); !errors.Is(err, checkpoints.ErrCorrupt) {
		t.Errorf("found error %v, expected a damaged file", err)
	}
	tiny.Check(t, os.Remove(path))
	if _, err := Evaluate(r.Run, o); !errors.Is(err, folder.ErrNoRun) {
		t.Errorf("found error %v, expected a run without a model", err)
	}
}

// One flipped bit of a weight is a number like any other: the sum in the statement finds it. A run
// of an earlier version has none and is evaluated.
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
	tiny.Write(t, statement, regexp.MustCompile(`(?m)^.*"model_sha256".*\n`).ReplaceAllString(tiny.Unsummed(tiny.Read(t, statement)), ""))
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
	o.Given.Test = remade(t, o.Given.Test, o.Given.Test.Classes(), func(_ int, label *uint8, _ []uint8) { *label = (*label + 1) % 3 })
	r := train(t, o, "training.steps=60")
	if score := measured(t, r, o); r.TestAccuracy > 0.2 || score.TestExamples != 90 {
		t.Errorf("found accuracy %v of %d pictures, expected at most 0.2 of 90 where every label is another", r.TestAccuracy, score.TestExamples)
	}
}
