package trained_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/data"
	"dpsgd/data/tokenizer"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/pate"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
)

// A run on the tokens of a file says which in its statement, predicts with that one alone, wherever
// it lies now, and says how many tokens there are where too few are declared.
func TestTokenizerOfARun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bert.json")
	content := tiny.Must(os.ReadFile("../../data/tokenizer/testdata/bert.json"))(t)
	tiny.Write(t, file, string(content))
	run := tinyrun.OnTexts(t, "data.tokenizer="+file, "data.vocabulary=600")
	sum := tiny.Must(tokenizer.New(content))(t).SHA256
	tiny.Says(t, run, "| Tokens | as bert.json with the SHA-256 `"+sum+"`", "6 tokens of 600")
	first := tiny.Must(open(t, run).Text("Anna"))(t)

	other := tiny.Must(os.ReadFile("../../data/tokenizer/testdata/bert-cased.json"))(t)
	tiny.Write(t, file, string(other))
	if _, err := open(t, run).Text("Anna"); !errors.Is(err, data.ErrInvalid) || !strings.Contains(err.Error(), "expected the one that") {
		t.Errorf("found %v, expected that another tokenizer is refused", err)
	}
	if _, err := train.Evaluate(run, train.Options{}); !errors.Is(err, data.ErrInvalid) {
		t.Errorf("found %v, expected that another tokenizer is refused where texts are counted", err)
	}
	tiny.Write(t, filepath.Join(run, "bert.json"), string(content))
	if moved := tiny.Must(open(t, run).Text("Anna"))(t); moved.Probability != first.Probability {
		t.Errorf("found %+v with the file in the folder of the run, expected %+v", moved, first)
	}
	tiny.Must(train.Evaluate(run, train.Options{}))(t) // counts texts with it, too
	tiny.Check(t, os.Remove(filepath.Join(run, "bert.json")))
	tiny.Check(t, os.Remove(file))
	if _, err := open(t, run).Text("Anna"); !errors.Is(err, data.ErrMissing) {
		t.Errorf("found %v, expected that the file is missing", err)
	}
	if _, err := folder.ReadConfig(run); err != nil {
		t.Errorf("found %v, expected that the folder can be read without the file", err)
	}
	few := data.Spec{Text: "x", Classes: []string{"a", "b"}, Length: 4, Tokenizer: "../../data/tokenizer/testdata/bert.json", Vocabulary: 7}
	if _, err := few.Tokens(); err == nil || !strings.Contains(err.Error(), "has 521 tokens, found 7 declared") {
		t.Errorf("found %v, expected the number of tokens", err)
	}
}

// A student of teachers predicts texts with the tokenizer that its statement names, which is that
// of its teachers.
func TestTokenizerOfAStudent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bert.json")
	tiny.Write(t, file, tiny.Read(t, "../../data/tokenizer/testdata/bert.json"))
	o := pate.Options{Options: tinyrun.Options(t).Options}
	o.Given = nil
	r := tiny.Must(pate.Create(tinyrun.Texts(t, "data.tokenizer="+file, "data.vocabulary=600", "privacy.noise_multiplier=calibrated", "privacy.epsilon=20",
		"pate.teachers=4", "pate.pool=20", "pate.noise=2", "pate.aggregation=gnmax"), o))(t)
	tiny.Check(t, errors.Join(r.CarryOut(t.Context()), r.Close()))
	if _, err := open(t, r.Dir).Text("Anna"); err != nil {
		t.Error(err)
	}
	tiny.Write(t, file, tiny.Read(t, "../../data/tokenizer/testdata/bert-cased.json"))
	if again, err := pate.Open(r.Dir, o); !errors.Is(err, books.ErrOtherPlan) {
		t.Errorf("found %v and %v, expected that another tokenizer is refused", again, err)
	}
}
