package exchange

import (
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
	script, tensors, err := PyTorch(base, "base.py", "base.safetensors")
	if err != nil {
		return nil, err
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
	if err := checkpoints.WriteFileAtomic(files[0], script, folder.FilePerm); err != nil {
		return nil, err
	}
	if err := write(m, files[1], tensors); err != nil {
		return nil, err
	}
	if err := write(m, files[2], adapters.tensors); err != nil {
		return nil, err
	}
	return files, checkpoints.WriteFileAtomic(files[3], append(about, '\n'), folder.FilePerm)
}

// withoutAdapters returns m with its network as it is beside its adapters.
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

// peft is what PEFT's files hold of a model.
type peft struct {
	config  peftConfig
	tensors []model.Tensor
}

// newPEFT refuses a model of which more or less was trained than adapters of whole layers and other
// whole layers.
func newPEFT(m *trained.Model) (*peft, error) {
	lora, weights := m.Network.Adapters()
	p := &peft{config: peftConfig{Type: "LORA", Rank: lora.Rank, Alpha: lora.Alpha, Bias: "none", Saved: []string{}, Inference: true}}
	if len(weights) == 0 {
		return nil, fmt.Errorf("peft: found a model without adapters, expected one of a run with model.lora; the other formats take it")
	}
	kinds := map[string]string{}
	for _, l := range m.Network.Layers() {
		kinds[l.Name] = l.Kind
	}
	var targets []string
	for _, w := range weights {
		name, _ := module(w)
		within, isSelf := strings.CutSuffix(name, ".self_attn")
		switch {
		case strings.HasSuffix(w, ".out_proj.weight"):
			continue // adapted with the layer around it
		case kinds[name] == (model.Attention{}).Kind() && (!isSelf || kinds[within] != (model.TransformerEncoder{}).Kind()):
			return nil, fmt.Errorf("peft: layer %s (attention) cannot be adapted by PEFT outside transformer_encoder; the other formats hold the merged weights", name)
		}
		targets = append(targets, regexp.QuoteMeta("network."+name))
	}
	p.config.Targets = strings.Join(targets, "|")
	trained := map[string]bool{}
	for _, t := range m.Network.Parameters() {
		trained[t.Name] = true
	}
	for _, t := range m.Network.Export() {
		name, last := module(t.Name)
		if model.IsFactor(t.Name) {
			t.Name = "base_model.model.network." + strings.Replace(t.Name, ".out_proj.lora_", ".base_layer.out_proj.lora_", 1)
			p.tensors = append(p.tensors, t)
			continue
		}
		whole := !slices.Contains(weights, t.Name)
		for _, other := range m.Network.Export() {
			of, _ := module(other.Name)
			whole = whole && (of != name || trained[other.Name])
		}
		switch {
		case trained[t.Name] && !whole:
			return nil, fmt.Errorf("peft: %s was trained and the rest of its layer was not, which PEFT's files cannot say; the other formats hold the merged weights", t.Name)
		case trained[t.Name]:
			if !slices.Contains(p.config.Saved, "network."+name) {
				p.config.Saved = append(p.config.Saved, "network."+name)
			}
			t.Name = "base_model.model.network." + name + "." + last
			p.tensors = append(p.tensors, t)
		}
	}
	return p, nil
}
