package exchange

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"dpsgd/accountant"
	"dpsgd/internal/run"
	"dpsgd/internal/trained"
)

//go:embed card.md.tmpl
var cardText string

var cardPage = template.Must(template.New("README.md").Funcs(template.FuncMap{
	"up":      func(epsilon float64) string { return accountant.RoundUp(epsilon, 3) },
	"quote":   asJSON, // whose texts are YAML's
	"percent": func(share *float64) string { return fmt.Sprintf("%.2f %%", 100**share) },
	"join":    strings.Join,
}).Parse(cardText))

// hub maps data sets of the trainer to their names on Hugging Face.
var hub = map[string]string{"mnist": "ylecun/mnist", "fashion-mnist": "zalando-datasets/fashion_mnist", "cifar-10": "uoft-cs/cifar10"}

// contents holds the values on a model card.
type contents struct {
	*trained.Model
	Name       string // of the run
	Task       string // in the words of Hugging Face
	Dataset    string // where Hugging Face has the data set; "" where it does not
	Network    string // the kinds of the layers
	Parameters int
	Accuracy   *float64 // on the test examples after the last update; nil if the run did not measure it
}

// Card returns the model card of m: the content of a README.md for Hugging Face.
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
	metrics, err := run.ReadMetrics(m.Dir)
	if err != nil {
		return nil, fmt.Errorf("card: %w", err)
	}
	if n := len(metrics); n > 0 && metrics[n-1].Step == m.Statement.Steps {
		c.Accuracy = &metrics[n-1].TestAccuracy
	}
	var b bytes.Buffer
	if err := cardPage.Execute(&b, c); err != nil {
		return nil, fmt.Errorf("card: %w", err)
	}
	return b.Bytes(), nil
}
