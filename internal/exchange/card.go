package exchange

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"dpsgd/accountant"
	"dpsgd/internal/folder"
	"dpsgd/internal/trained"
)

//go:embed card.md.tmpl
var cardText string

var cardPage = template.Must(template.New("README.md").Funcs(template.FuncMap{
	"up":      func(epsilon float64) string { return accountant.RoundUp(epsilon, 3) },
	"quote":   quote,
	"percent": func(share *float64) string { return fmt.Sprintf("%.2f %%", 100**share) },
	"join":    strings.Join,
}).Parse(cardText))

// quote writes a text for YAML: JSON's texts are YAML's.
func quote(s string) (string, error) {
	b, err := json.Marshal(s)
	return string(b), err
}

// hub says where Hugging Face has the data sets that the trainer knows.
var hub = map[string]string{"mnist": "ylecun/mnist", "fashion-mnist": "zalando-datasets/fashion_mnist", "cifar-10": "uoft-cs/cifar10"}

// contents is what the template fills in.
type contents struct {
	*trained.Model
	Name       string // of the run
	Task       string // in the words of Hugging Face
	Dataset    string // where Hugging Face has the data set; "" where it does not
	Network    string
	Parameters int
	Accuracy   *float64 // of the model on the test examples; nil where the run kept none
}

// Card returns the card of a model.
func Card(m *trained.Model) ([]byte, error) {
	c := contents{Model: m, Name: m.Statement.Run, Task: "tabular-classification", Parameters: len(m.Network.Values) + m.Network.FrozenValues(), Dataset: hub[m.Config.Data.Name]}
	if m.Sees() == trained.Pictures {
		c.Task = "image-classification"
	}
	var kinds []string
	for _, l := range m.Network.Layers() {
		if !strings.Contains(l.Name, ".") {
			kinds = append(kinds, l.Kind)
		}
	}
	c.Network = strings.Join(kinds, ", ")
	var err error
	if c.Accuracy, err = accuracy(m); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := cardPage.Execute(&b, c); err != nil {
		return nil, fmt.Errorf("card: %w", err)
	}
	return b.Bytes(), nil
}

// accuracy is that of the model on its test examples, as the run measured it after the last update;
// nil where it did not.
func accuracy(m *trained.Model) (*float64, error) {
	content, err := os.ReadFile(filepath.Join(m.Dir, folder.Metrics))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("card: %w", err)
	}
	var found *float64
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		var line struct {
			Step         int      `json:"step"`
			TestAccuracy *float64 `json:"test_accuracy"`
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Step == m.Statement.Steps {
			found = line.TestAccuracy
		}
	}
	return found, nil
}
