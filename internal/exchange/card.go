package exchange

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"dpsgd/accountant"
	"dpsgd/data"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
	"dpsgd/internal/statement"
	"dpsgd/internal/trained"
)

//go:embed card.md.tmpl
var cardText string

var cardPage = template.Must(template.New("README.md").Funcs(template.FuncMap{
	"up":    func(epsilon float64) string { return accountant.RoundUp(epsilon, 3) },
	"quote": asJSON, // whose texts are YAML's
	"join":  strings.Join, "cell": statement.Cell,
}).Parse(cardText))

// hub maps data sets of the trainer to their names on Hugging Face.
var hub = map[string]string{"mnist": "ylecun/mnist", "fashion-mnist": "zalando-datasets/fashion_mnist", "cifar-10": "uoft-cs/cifar10", "cifar-100": "uoft-cs/cifar100"}

// tasks names what models of classes are for, in the words of Hugging Face, by what they see.
var tasks = map[trained.Kind]string{trained.Pictures: "image-classification", trained.Texts: "text-classification",
	trained.Rows: "tabular-classification", trained.Vectors: "tabular-classification"}

// contents holds the values on a model card.
type contents struct {
	*trained.Model
	Name       string // of the run
	Tells      string // what the network says about an example
	Task       string // in the words of Hugging Face
	OfClasses  bool   // such models have more formats than safetensors
	Dataset    string // where Hugging Face has the data set; "" where it does not
	Network    string // the kinds of the layers
	Parameters int
	score.Test // after the last update; nothing if the run did not measure it
}

// Card returns the model card of m: the content of a README.md for Hugging Face.
func Card(m *trained.Model) ([]byte, error) {
	task := m.Config.Data.Task()
	c := contents{Model: m, Name: m.Statement.Run, Task: tasks[m.Sees()], OfClasses: task == data.Class, Test: score.Untested(), Parameters: len(m.Network.Values) + m.Network.FrozenValues(), Dataset: hub[m.Config.Data.Name]}
	c.Tells = map[data.Task]string{
		data.Class: fmt.Sprintf("tells %d classes apart", len(m.Data.Names)), data.Labels: "says which of these labels an example has", data.Number: "tells a number",
	}[task]
	if task == data.Number {
		c.Task = "tabular-regression"
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
	// Of a student, which has rounds, the statement counts no steps.
	if n := len(metrics); n > 0 && slices.Contains([]int{0, metrics[n-1].Step}, m.Statement.Steps) {
		c.Test = metrics[n-1].Test
	}
	var b bytes.Buffer
	if err := cardPage.Execute(&b, c); err != nil {
		return nil, fmt.Errorf("card: %w", err)
	}
	return b.Bytes(), nil
}
