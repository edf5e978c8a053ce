package exchange_test

import (
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/internal/exchange"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
	"dpsgd/internal/trained"

	"github.com/goccy/go-yaml"
)

// A run of the first version has a card and a model that can be exported.
func TestFirstVersion(t *testing.T) {
	m := tiny.Must(trained.Open(filepath.Join("..", "sweep", "testdata", "first-version", "runs", "finished")))(t)
	content := tiny.Must(exchange.Card(m))(t)
	for _, want := range []string{"**(3.000, 1e-05)-differentially private**", "Poisson, q = 0.0128", "flat, C = 0.1", "Its test accuracy is 11.65 %"} {
		if !strings.Contains(string(content), want) {
			t.Errorf("found no %q on the card\n%s", want, content)
		}
	}
	if files, err := exchange.Export(m, "onnx", filepath.Join(t.TempDir(), "old.onnx")); err != nil || len(files) != 1 {
		t.Errorf("found %v (%v), expected one file", files, err)
	}
}

// The card of a run says what the run says, in a form that Hugging Face reads, and names no path.
func TestCard(t *testing.T) {
	dir := tinyrun.PictureFolder(t)
	run, o := tinyrun.OnPictures(t, dir)
	m := tiny.Must(trained.Open(run))(t)
	content := tiny.Must(exchange.Card(m))(t)
	parts := strings.SplitN(string(content), "---\n", 3)
	if len(parts) != 3 || parts[0] != "" {
		t.Fatalf("found %s, expected metadata between two lines of ---", content)
	}
	var about struct {
		License  string
		Tags     []string
		Pipeline string `yaml:"pipeline_tag"`
		Index    []struct {
			Name    string
			Results []struct {
				Metrics []struct {
					Type  string
					Value float64
				}
			}
		} `yaml:"model-index"`
	}
	tiny.Check(t, yaml.Unmarshal([]byte(parts[1]), &about))
	score := tiny.Must(train.Evaluate(run, o))(t)
	if about.License != "other" || about.Pipeline != "image-classification" || about.Tags[0] != "differential-privacy" ||
		about.Index[0].Name != "tiny-1" || about.Index[0].Results[0].Metrics[0].Value != float64(score.TestAccuracy) {
		t.Errorf("found the metadata %+v, expected those of the run", about)
	}
	for _, want := range append([]string{m.Statement.Unit, m.Statement.Relation, m.Statement.Noise, m.Statement.ModelSHA256, "top, middle, bottom"}, m.Statement.NotPrivate...) {
		if !strings.Contains(parts[2], want) {
			t.Errorf("found no %q on the card", want)
		}
	}
	if strings.Contains(string(content), dir) || strings.Contains(string(content), "<no value>") || strings.Contains(string(content), "%!") {
		t.Errorf("found a path or nothing in its place on the card:\n%s", content)
	}

	tinyrun.Fit(t, tinyrun.Create(t, m.Config, o)) // a second run, of which the first statement does not know
	m = tiny.Must(trained.ToPublish(run))(t)
	if card := string(tiny.Must(exchange.Card(m))(t)); !strings.Contains(card, m.Statement.DatasetTotal()) || m.Statement.DatasetRuns != 2 {
		t.Errorf("found %q, expected the card to say what both runs cost:\n%s", m.Statement.DatasetTotal(), card)
	}
}

// The card of a run that protects clients or persons says who they are, who has to be trusted, and
// nothing about a guarantee for an example.
func TestCardOfClients(t *testing.T) {
	run, _ := tinyrun.OnPictures(t, tinyrun.PictureFolder(t))
	m := tiny.Must(trained.Open(run))(t)
	const ofExamples = "the guarantee for the person is weaker than the one for an example"
	content, err := exchange.Card(m)
	if err != nil || !strings.Contains(string(content), ofExamples) {
		t.Errorf("found no %q on the card of examples (%v)", ofExamples, err)
	}
	m.Data.Names[0] = "<b>"
	m.Statement.Steps++ // nothing measured that model
	if other := tiny.Must(exchange.Card(m))(t); !strings.Contains(string(content), "value: ") || strings.Contains(string(other), "value: ") || strings.Contains(string(other), "<b>") {
		t.Errorf("found\n%s\nexpected no accuracy of another step", other)
	}
	m.Statement.Unit, m.Statement.Trusted = "one client with all its examples", "the server"
	m.Statement.Facts = []statement.Fact{{Name: "Clients", Value: "60 of them"}}
	m.Statement.DatasetOthers = "Beside it lies another run"
	content, err = exchange.Card(m)
	if err != nil || strings.Contains(string(content), ofExamples) {
		t.Errorf("found %q on the card of clients (%v)", ofExamples, err)
	}
	m.Statement.System = "label"
	ofSystem, problem := exchange.Card(m)
	for _, want := range []string{"| Clients | 60 of them |\n", "| Who has to be trusted | the server |\n", "Beside it lies another run.\n", "|\n\nIf the same examples"} {
		if !strings.Contains(string(content), want) || !strings.Contains(string(ofSystem), want) || problem != nil {
			t.Errorf("found no %q on the cards (%v)\n%s\n%s", want, problem, content, ofSystem)
		}
	}
	m.Config.Data.Bounds = []float64{0, 1}
	ofNumber, problem := exchange.Card(m)
	if problem != nil || strings.Contains(string(ofNumber), "onnx") || !strings.Contains(string(ofNumber), "- mae\n") {
		t.Errorf("found accuracy, or a format that takes no such model, on the card of a number (%v)\n%s", problem, ofNumber)
	}
}
