package exchange

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
	"dpsgd/internal/trained"
	"dpsgd/model"
)

// peftConfig is adapter_config.json, as PEFT 0.21 reads it.
type peftConfig struct {
	Type      string   `json:"peft_type"`
	Rank      int      `json:"r"`
	Alpha     float64  `json:"lora_alpha"`
	Dropout   float64  `json:"lora_dropout"`
	Bias      string   `json:"bias"`
	Targets   string   `json:"target_modules"` // a regular expression, of whole names
	Saved     []string `json:"modules_to_save"`
	Inference bool     `json:"inference_mode"`
}

// writePEFT writes a folder with the network without adapters, base.py and base.safetensors, and its
// adapters in the files of PEFT:
//
//	PeftModel.from_pretrained(base.load(), folder)
func writePEFT(m *trained.Model, path string) ([]string, error) {
	adapters, err := newPEFT(m)
	if err != nil {
		return nil, err
	}
	base, err := withoutAdapters(m)
	if err != nil {
		return nil, err
	}
	script, tensors, err := python(base, page{File: "base.py", Weights: "base.safetensors", Adapted: true})
	if err != nil {
		return nil, err
	}
	for i, t := range tensors {
		tensors[i].Name = linears(t.Name)
	}
	about, err := json.MarshalIndent(adapters.config, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, folder.Perm); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTarget, err)
	}
	in := func(name string) string { return filepath.Join(path, name) }
	files := []string{in("base.py"), in("base.safetensors"), in("adapter_model.safetensors"), in("adapter_config.json")}
	return files, cmp.Or(checkpoints.WriteFileAtomic(files[0], script, folder.FilePerm), write(m, files[1], tensors),
		write(m, files[2], adapters.tensors), checkpoints.WriteFileAtomic(files[3], append(about, '\n'), folder.FilePerm))
}

func withoutAdapters(m *trained.Model) (*trained.Model, error) {
	base, c := *m, *m.Config
	c.Model.LoRA, c.Model.TrainOnly = configs.LoRA{}, nil
	base.Config = &c
	var err error
	if base.Network, err = setup.Model(&c, m.Data.Shape, m.Data.Classes); err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(m.Network.Export(), func(t model.Tensor) bool { return model.IsFactor(t.Name) })
	return &base, base.Network.Import(own)
}

// peft holds the configuration and the tensors that PEFT's files have of a model.
type peft struct {
	config  peftConfig
	tensors []model.Tensor
}

// newPEFT refuses a model of which more or less was trained than adapters and other whole layers.
func newPEFT(m *trained.Model) (*peft, error) {
	lora, weights := m.Network.Adapters()
	p := &peft{config: peftConfig{Type: "LORA", Rank: lora.Rank, Alpha: lora.Alpha, Bias: "none", Saved: []string{}, Inference: true}}
	if len(weights) == 0 {
		return nil, fmt.Errorf("peft: found a model without adapters, expected one of a run with model.lora; the other formats take it")
	}
	kept, factors, targets := map[string]int{}, map[string]string{}, make([]string, len(weights)) // kept counts values
	for i, w := range weights {
		name, _ := module(linears(w))
		targets[i] = regexp.QuoteMeta("network." + name)
		factors[model.Factor(w, "A")], factors[model.Factor(w, "B")] = name+".lora_A.weight", name+".lora_B.weight"
	}
	p.config.Targets = strings.Join(targets, "|")
	parameters, all := m.Network.Parameters(), m.Network.Export()
	for _, t := range all {
		name, _ := module(linears(t.Name))
		kept[name]++
	}
	for _, q := range parameters {
		name, _ := module(linears(q.Name))
		kept[name]--
	}
	for _, q := range parameters {
		t := all[slices.IndexFunc(all, func(t model.Tensor) bool { return t.Name == q.Name })]
		name, _ := module(linears(q.Name))
		switch factor := factors[q.Name]; {
		case factor != "":
			t.Name = factor
		case kept[name] > 0:
			return nil, fmt.Errorf("peft: %s was trained and the rest of its layer was not, which PEFT's files cannot say; the other formats hold the merged weights", q.Name)
		case !slices.Contains(p.config.Saved, "network."+name):
			p.config.Saved = append(p.config.Saved, "network."+name)
		}
		t.Name = "base_model.model.network." + t.Name
		p.tensors = append(p.tensors, t)
	}
	return p, nil
}

// linears returns the name of a parameter where attention is made of linear layers.
func linears(name string) string {
	return strings.NewReplacer("in_proj_weight", "in_proj.weight", "in_proj_bias", "in_proj.bias").Replace(name)
}
