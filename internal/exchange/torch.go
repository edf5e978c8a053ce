package exchange

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"text/template"

	"dpsgd/data"
	"dpsgd/features"
	"dpsgd/internal/trained"
	"dpsgd/model"
)

//go:embed *.py.tmpl
var files embed.FS

var script = template.Must(template.New("model.py.tmpl").Funcs(template.FuncMap{
	"json": func(v any) (string, error) { // which is Python, too, for texts and lists of them
		b, err := json.Marshal(v)
		return string(b), err
	},
	"ints": list,
	"text": text,
}).ParseFS(files, "*.py.tmpl"))

// page is what the template fills in.
type page struct {
	Run, Training         string
	File, Module, Weights string
	Facts                 []trained.Fact
	Takes, Shape          string
	Classes               []string
	Pictures              bool
	Used                  map[string]bool
	Network, Seen         string
	Features              *features.Definition // nil for none
	Centred               bool                 // whether a mean is subtracted from them
}

// PyTorch returns the Python file with the model, to be written to a file of the given name, and the
// tensors that it reads from the file weights beside it.
func PyTorch(m *trained.Model, file, weights string) ([]byte, []model.Tensor, error) {
	n := &torchNetwork{tensors: map[string]model.Tensor{}, shapes: map[string][]int{}, used: map[string]bool{}}
	tensors := m.Network.Export()
	for _, t := range tensors {
		n.tensors[t.Name] = t
	}
	for _, l := range m.Network.Layers() {
		n.shapes[l.Name] = l.Output
	}
	p := page{
		Run: m.Statement.Run, Training: m.Training(), File: file, Module: strings.TrimSuffix(file, filepath.Ext(file)), Weights: weights,
		Facts: facts(m), Classes: m.Data.Names, Pictures: m.Sees() == trained.Pictures, Used: n.used,
	}
	p.Takes, p.Shape, p.Seen = seen(m)
	input := m.Data.Shape
	var err error
	if p.Features, err = m.Features(); err != nil {
		return nil, nil, err
	}
	if p.Features != nil {
		tensors = append(tensors, constants(*p.Features, m.FeatureMean)...)
		p.Centred, p.Seen, input = m.FeatureMean != nil, "self.features(x)", data.Row(len(p.Features.Flattening.Shift))
	}
	layers, err := m.Config.Model.Network()
	if err != nil {
		return nil, nil, err
	}
	if p.Network, err = n.sequential(layers, "", input.Dims(), "        "); err != nil {
		return nil, nil, err
	}
	var b bytes.Buffer
	if err := script.Execute(&b, p); err != nil {
		return nil, nil, fmt.Errorf("pytorch: %w", err)
	}
	return b.Bytes(), tensors, nil
}

// facts are those of the model, fit for a docstring.
func facts(m *trained.Model) []trained.Fact {
	facts := m.Provenance()
	for i, f := range facts {
		facts[i].Value = text(f.Value)
	}
	return facts
}

// text is what others have written, fit for a docstring: it does not end there.
func text(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"""`, `'''`, "\n", " ", "\r", " ").Replace(s)
}

// seen says what the model takes, the shape of one example in Python, and what the network sees of
// x.
func seen(m *trained.Model) (takes, shape, x string) {
	s := m.Data.Shape
	switch m.Sees() {
	case trained.Pictures:
		return "pictures (N, channels, height, width) with values from 0 to 1", fmt.Sprintf("(%d, %d, %d)", s.Channels, s.Height, s.Width), normalised(m, ".view(-1, 1, 1)")
	case trained.Rows:
		return fmt.Sprintf("rows (N, %d) of the columns %s", s.Channels, strings.Join(m.Config.Data.Columns, ", ")), fmt.Sprintf("(%d,)", s.Channels), normalised(m, "")
	}
	return fmt.Sprintf("vectors (N, %d) of any length", s.Channels), fmt.Sprintf("(%d,)", s.Channels), "nn.functional.normalize(x, eps=1e-8).half().float()"
}

// normalised is x without the mean and divided by the deviation, which are viewed as x needs it.
func normalised(m *trained.Model, view string) string {
	constants := m.Normalisation()
	if constants.Identity() {
		return "x"
	}
	return fmt.Sprintf("(x - torch.tensor(%s)%s) / torch.tensor(%s)%s", numbers(constants.Mean), view, numbers(constants.Std), view)
}

// numbers writes a list of Python's floats.
func numbers(values []float64) string {
	texts := make([]string, len(values))
	for i, v := range values {
		if v == float64(int(v)) {
			texts[i] = fmt.Sprintf("%.1f", v)
		} else {
			texts[i] = fmt.Sprint(v)
		}
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
