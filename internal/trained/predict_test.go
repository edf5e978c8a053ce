package trained_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/folder"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/internal/run"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
	"dpsgd/internal/trained"
)

// open makes a predictor of a run.
func open(t testing.TB, run string) *trained.Predictor {
	t.Helper()
	m := tiny.Must(trained.Open(run))(t)
	pool := kernel.NewPool(2)
	t.Cleanup(pool.Close)
	return tiny.Must(trained.New(m, pool))(t)
}

// correct predicts all pictures of a test folder and returns the share whose folder has the name of
// their class, and the mean of the surprise -log(probability of that class).
func correct(t testing.TB, p *trained.Predictor, dir string) (accuracy, loss float64) {
	t.Helper()
	files, others, err := trained.List([]string{filepath.Join(dir, "test")})
	if err != nil || others.Len() > 0 {
		t.Fatal(err, others)
	}
	n := 0.0
	err = p.Pictures(t.Context(), files, func(a trained.Answer) error {
		n++
		label := filepath.Base(filepath.Dir(a.File))
		if a.Class == label {
			accuracy++
		}
		at := slices.IndexFunc(a.Classes, func(s trained.Share) bool { return s.Class == label })
		loss -= math.Log(a.Classes[at].Probability)
		return nil
	})
	if err != nil || n != 75 {
		t.Fatalf("found %v answers (%v), expected one for each of 75 pictures", n, err)
	}
	return accuracy / n, loss / n
}

// Predicting the test folder, without the training data, is what an evaluation of the run measures.
func TestPredictEqualsEval(t *testing.T) {
	for name, overrides := range map[string][]string{
		"pixels":       nil,
		"convolutions": {tiny.Convolutional},
		"features and their mean": append(slices.Clone(tiny.Features),
			"privacy.delta=1e-3", "privacy.accountant=rdp", "features.mean_noise=0.5", "data.mean=[0]", "data.std=[1]"),
		"scattering": {"features.name=scattering", "features.pictures=60", "features.directions=8", "features.mean_noise=none", "data.mean=[0]", "data.std=[1]", "training.steps=120",
			"model.layers=[flatten, {linear: {out_features: classes}}]"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tinyrun.PictureFolder(t)
			run, o := tinyrun.OnPictures(t, dir, append(overrides, "privacy.epsilon=none", "privacy.noise_multiplier=0.1")...) // hardly any noise: it learns each time
			score := tiny.Must(train.Evaluate(run, o))(t)
			tiny.Check(t, os.RemoveAll(filepath.Join(dir, "train")))
			accuracy, loss := correct(t, open(t, run), dir)
			if accuracy != float64(score.TestAccuracy) || !(math.Abs(loss-score.TestLoss) <= 1e-6) {
				t.Errorf("found accuracy %v and loss %v, expected %v and %v as evaluated", accuracy, loss, score.TestAccuracy, score.TestLoss)
			}
			if accuracy < 0.5 {
				t.Errorf("found accuracy %v, expected a model that learnt something: this test shows little otherwise", accuracy)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	run, _ := tinyrun.OnPictures(t, tinyrun.PictureFolder(t))
	p := open(t, run)
	p.Top = 2
	a := tiny.Must(p.One("mine", bytes.NewReader(tinyrun.Picture(t, 1, 40, random.Seeded(2))), 10000))(t)
	if a.File != "mine" || a.Class != "middle" || len(a.Classes) != 2 || a.Classes[0] != (trained.Share{Class: a.Class, Probability: a.Probability}) ||
		a.Classes[1].Probability > a.Probability || a.Probability <= 1./3 || a.Probability+a.Classes[1].Probability > 1 {
		t.Errorf("found %+v, expected the middle, and the two most probable classes in order", a)
	}
}

// Broken pictures are named, the others are predicted all the same.
func TestBrokenPictures(t *testing.T) {
	run, _ := tinyrun.OnPictures(t, tinyrun.PictureFolder(t))
	dir := t.TempDir()
	good := string(tinyrun.Picture(t, 0, 20, random.Seeded(3)))
	huge := good[:16] + "\x7f\xff\xff\xff\x7f\xff\xff\xff" + good[24:] // width and height in the header
	for name, content := range map[string]string{"a.png": good, "b.png": "", "c.png": good[:len(good)/2], "d.png": "no picture", "e.png": huge, "f.jpg": good} {
		tiny.Write(t, filepath.Join(dir, name), content)
	}
	tiny.Check(t, os.Mkdir(filepath.Join(dir, "g.png"), 0o700))
	tiny.Write(t, filepath.Join(dir, "notes.txt"), "x")
	tiny.Write(t, filepath.Join(dir, ".hidden.png"), "x")
	files, others, err := trained.List([]string{dir})
	if err != nil || others.String() != "1 file (1 .txt)" {
		t.Fatalf("found %v passed over (%v), expected the text", others, err)
	}
	var found []string
	err = open(t, run).Pictures(t.Context(), files, func(a trained.Answer) error {
		found = append(found, filepath.Base(a.File))
		return nil
	})
	if !slices.Equal(found, []string{"a.png", "f.jpg"}) || !errors.Is(err, data.ErrInvalid) {
		t.Errorf("found answers for %q (%v), expected them for the two that are pictures", found, err)
	}
	lines := strings.Split(err.Error(), "\n")
	for i, name := range []string{"b.png", "c.png", "d.png", "e.png"} {
		if i >= len(lines) || !strings.Contains(lines[i], name) {
			t.Errorf("found %q, expected a line about %s", lines, name)
		}
	}
}

func TestWhatIsNotThere(t *testing.T) {
	empty := t.TempDir()
	for _, path := range []string{empty, filepath.Join(empty, "no.png")} {
		if _, _, err := trained.List([]string{path}); !errors.Is(err, data.ErrMissing) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: found %v, expected one line that matches ErrMissing", path, err)
		}
	}
}

// Records of a table are predicted without their class, as an evaluation predicts them.
func TestTable(t *testing.T) {
	dir, src := t.TempDir(), random.Seeded(1)
	for part, n := range map[string]int{"train": 300, "test": 600} {
		var b, bare strings.Builder
		b.WriteString("age,sick,pay\n")
		bare.WriteString("pay,age\n")
		for i := range n {
			age, pay, sick := 30+int(src.Uint64()%20), 40000+int(src.Uint64()%20000), "no"
			if i%2 == 1 {
				age, pay, sick = age+15, pay-15000, "yes"
			}
			fmt.Fprintf(&b, "%d,%s,%d\n", age, sick, pay)
			fmt.Fprintf(&bare, "%d,%d\n", pay, age)
		}
		tiny.Write(t, filepath.Join(dir, part+".csv"), b.String())
		if part == "test" {
			tiny.Write(t, filepath.Join(dir, "bare-test.csv"), bare.String())
		}
	}
	c, err := configs.Parse("people.yaml", fmt.Appendf(nil, `
data: {table: %q, columns: [age, pay], label: sick, classes: ["no", "yes"], mean: [48, 45000], std: [10, 10000]}
model: {layers: [flatten, linear: {out_features: classes}]}
privacy: {epsilon: 5, delta: 1e-3, clip_norm: 0.5, accountant: rdp}
optimizer: {name: momentum, learning_rate: 0.5, momentum: 0.9}
training: {batch_size: 50, physical_batch_size: 16, steps: 40}
performance: {threads: 2}
`, dir), nil)
	tiny.Check(t, err)
	o := train.Options{Options: run.Options{RunsDir: filepath.Join(t.TempDir(), "runs"), Name: "people"}}
	run := tinyrun.Fit(t, tinyrun.Create(t, c, o)).Run
	score, err := train.Evaluate(run, o)
	tiny.Check(t, err)
	p, correct, n := open(t, run), 0.0, 0
	err = p.Table(t.Context(), filepath.Join(dir, "bare-test.csv"), func(a trained.Answer) error {
		if n++; a.Row != n {
			t.Errorf("found row %d, expected %d", a.Row, n)
		}
		if a.Class == []string{"no", "yes"}[(a.Row-1)%2] {
			correct++
		}
		return nil
	})
	if err != nil || n != 600 || correct/600 != float64(score.TestAccuracy) {
		t.Errorf("found accuracy %v of %d rows (%v), expected %v of 600", correct/600, n, err, score.TestAccuracy)
	}
	tiny.Write(t, filepath.Join(dir, "wrong.csv"), "pay,age\n1,x\n")
	tiny.Write(t, filepath.Join(dir, "other.csv"), "pay\n1\n")
	tiny.Write(t, filepath.Join(dir, "empty.csv"), "")
	for _, name := range []string{"wrong.csv", "other.csv", "empty.csv", "."} {
		if err := p.Table(t.Context(), filepath.Join(dir, name), nil); !errors.Is(err, data.ErrInvalid) {
			t.Errorf("%s: found %v, expected an error that matches ErrInvalid", name, err)
		}
	}
	if err := p.Pictures(t.Context(), []string{"a.png"}, nil); !errors.Is(err, trained.ErrInput) {
		t.Errorf("found %v, expected pictures to be refused", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Table(ended, filepath.Join(dir, "bare-test.csv"), func(trained.Answer) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("found %v, expected it to end with its context", err)
	}
}

// A model that was changed since the run ended is not used.
func TestDamagedModel(t *testing.T) {
	run, _ := tinyrun.OnPictures(t, tinyrun.PictureFolder(t))
	path := filepath.Join(run, "model.safetensors")
	content := []byte(tiny.Read(t, path))
	content[len(content)-1] ^= 1
	tiny.Write(t, path, string(content))
	if _, err := trained.Open(run); err == nil || !strings.Contains(err.Error(), "SHA-256") {
		t.Errorf("found %v, expected the file to be refused by its hash", err)
	}
}

// What a model says of its guarantee wherever it goes is what its ledger says: a statement with a
// smaller ε, or about another δ or fewer releases, is refused.
func TestStatementIsHeldAgainstTheLedger(t *testing.T) {
	dir, _ := tinyrun.OnPictures(t, tinyrun.PictureFolder(t))
	path := filepath.Join(dir, folder.StatementData)
	whole := tiny.Read(t, path)
	s := tiny.Must(statement.Read(dir))(t)
	part := func(share float64) [2]string {
		return [2]string{`"epsilon": [0-9.]+`, fmt.Sprintf(`"epsilon": %v`, share*s.Epsilon)}
	}
	header := regexp.MustCompile(`"previous":"\w+"`).FindString(tiny.Read(t, filepath.Join(dir, folder.Ledger))) // its hash
	for name, edit := range map[string][2]string{
		"no release":             {`(?s)"epsilon": [0-9.]+(.*)"ledger_entries": 20,\s*"ledger_head": "\w+"`, `"epsilon": 0.1$1"ledger_entries": 0,` + strings.Replace(header, "previous", "ledger_head", 1)},
		"ε":                      {`"epsilon": [0-9.]+`, `"epsilon": 0.1`},
		"half":                   part(0.5),
		"two of a thousand less": part(0.998),
		"δ":                      {`"delta": [0-9.e-]+`, `"delta": 1e-9`},
		"releases":               {`"ledger_entries": 20`, `"ledger_entries": 10`},
		"more":                   {`"ledger_entries": 20`, `"ledger_entries": 40`},
	} {
		edited := regexp.MustCompile(edit[0]).ReplaceAllString(whole, edit[1])
		if edited == whole {
			t.Fatalf("%s: found nothing to edit in %s", name, whole)
		}
		tiny.Write(t, path, tiny.Unsummed(edited))
		if _, err := trained.Open(dir); !errors.Is(err, checkpoints.ErrCorrupt) && !errors.Is(err, checkpoints.ErrRollback) {
			t.Errorf("%s: found %v, expected an error that matches %v", name, err, checkpoints.ErrCorrupt)
		}
	}
	// Versions of an accountant differ by less than a thousandth.
	for _, same := range []string{whole, tiny.Unsummed(whole), tiny.Unsummed(regexp.MustCompile(part(1)[0]).ReplaceAllString(whole, part(0.9995)[1]))} {
		tiny.Write(t, path, same)
		if _, err := trained.Open(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// A model without a guarantee says so wherever it goes.
func TestProvenanceWithoutPrivacy(t *testing.T) {
	m := &trained.Model{Config: tiny.Parse(t), Statement: statement.Statement{System: statement.None, Run: "runs/a", ModelSHA256: "0123", InitialWeights: "w"}}
	facts := m.Provenance()
	if m.Training() != "WITHOUT PRIVACY" || !strings.HasPrefix(facts[0].Value, "NOT PRIVATE") || !slices.Contains(facts, trained.Fact{Key: "run", Value: "a"}) || !slices.Contains(facts, trained.Fact{Key: "model_sha256", Value: "0123"}) {
		t.Errorf("found %q and %v", m.Training(), facts)
	}
}
