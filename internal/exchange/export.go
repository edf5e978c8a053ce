// Package exchange carries models out of the trainer and weights into it.
//
// [Export] writes the model of a run as an ONNX file, as a safetensors file or as a Python file,
// each with its privacy guarantee. [Match] finds out how the tensors of another program's file fit
// a network of this one.
//
// # ONNX
//
// onnxruntime and most other inference programs read it: operator set 17 of
// https://onnx.ai/onnx/operators, encoded as protocol buffers. The input is float32 and is called
// "pictures", (N, channels, height, width) with values from 0 to 1, or "rows", (N, columns) as they
// stand in the table, or "vectors", (N, width); N is free. The output is "logits", (N, classes).
// The graph holds the normalisation, the public features and their mean, so that a picture has only
// to be brought to its size. The file's metadata hold the names of the classes and the privacy
// guarantee.
//
// # PyTorch
//
// A Python file builds the same network of torch.nn and loads the weights from a safetensors file
// beside it. It needs PyTorch alone; to read pictures it takes Pillow.
//
// # Model cards
//
// [Card] writes the README.md of a model in the format of Hugging Face
// (https://huggingface.co/docs/hub/model-cards): what the model is, how well it does, and what its
// privacy guarantee says and does not say. Everything on it is public.
package exchange

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/data"
	"dpsgd/internal/folder"
	"dpsgd/internal/naming"
	"dpsgd/internal/trained"
	"dpsgd/model"
)

// ErrTarget marks a name under which a file cannot be written.
var ErrTarget = errors.New("exchange")

// Formats returns the names of the formats that [Export] writes.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return names
}

// formats lists the formats. write writes a model to a path and returns the paths of all files that
// it wrote.
var formats = []struct {
	name, extension string
	write           func(m *trained.Model, path string) ([]string, error)
}{
	{"onnx", ".onnx", writeONNX},
	{"safetensors", ".safetensors", writeSafetensors},
	{"pytorch-script", ".py", writePyTorch},
	{"peft", "-peft", writePEFT},
	{"timm", ".safetensors", writeNamed("timm")},
	{"huggingface", ".safetensors", writeNamed("huggingface")},
}

// writeNamed returns what writes the tensors of a network under the names of another program.
func writeNamed(program string) func(m *trained.Model, path string) ([]string, error) {
	return func(m *trained.Model, path string) ([]string, error) {
		tensors := naming.Write(m.Network, program)
		if tensors == nil {
			return nil, fmt.Errorf("%s: found a network that it has no names for, expected a ResNet, vision transformer, BERT, DistilBERT or GPT-2 with the layers in their order", program)
		}
		return []string{path}, write(m, path, tensors)
	}
}

// Extension returns how the names of files in a format end; "" for an unknown format.
func Extension(format string) string {
	for _, f := range formats {
		if f.name == format {
			return f.extension
		}
	}
	return ""
}

// Export writes a model to path in one of [Formats] and returns the paths of all files written.
func Export(m *trained.Model, format, path string) ([]string, error) {
	for _, f := range formats {
		if task := m.Config.Data.Task(); f.name == format && task != data.Class && f.extension != ".safetensors" {
			return nil, fmt.Errorf("exchange: found a model that learnt %s for the format %s, expected one of classes; safetensors takes any model", learnt[task], format)
		}
		if f.name == format {
			return f.write(m, path)
		}
	}
	return nil, fmt.Errorf("exchange: found the format %q, expected %s", format, strings.Join(Formats(), ", "))
}

// learnt names what other models than those of classes have learnt.
var learnt = map[data.Task]string{data.Labels: "several labels at once", data.Number: "a number"}

func writeONNX(m *trained.Model, path string) ([]string, error) {
	content, err := ONNX(m)
	if err != nil {
		return nil, err
	}
	return []string{path}, checkpoints.WriteFileAtomic(path, content, folder.FilePerm)
}

// writeSafetensors writes the tensors of the network, and the mean of the features if one is
// subtracted: other programs may ignore it, this program needs it.
func writeSafetensors(m *trained.Model, path string) ([]string, error) {
	tensors := m.Network.Merged()
	if m.FeatureMean != nil {
		tensors = append(tensors, model.Tensor{Name: trained.MeanOfFeatures, Shape: []int{len(m.FeatureMean)}, Data: m.FeatureMean})
	}
	return []string{path}, write(m, path, tensors)
}

func writePyTorch(m *trained.Model, path string) ([]string, error) {
	weights := strings.TrimSuffix(path, filepath.Ext(path)) + ".safetensors"
	if weights == path {
		return nil, fmt.Errorf("%w: found the name %s for a Python file, expected one that ends in .py: the weights go to a file of that name", ErrTarget, path)
	}
	script, tensors, err := PyTorch(m, filepath.Base(path), filepath.Base(weights))
	if err != nil {
		return nil, err
	}
	if own := len(tensors) == len(m.Network.Export()); !own || !isModel(m, weights) { // beside the run's own weights, those are read
		if err := write(m, weights, tensors); err != nil {
			return nil, err
		}
	}
	return []string{path, weights}, checkpoints.WriteFileAtomic(path, script, folder.FilePerm)
}

// isModel reports whether a path leads to the model file of the run itself.
func isModel(m *trained.Model, path string) bool {
	found, err := os.Stat(path)
	own, ownErr := os.Stat(filepath.Join(m.Dir, folder.Model))
	return err == nil && ownErr == nil && os.SameFile(found, own)
}

// write writes tensors with the model's provenance to path, which is not the run's own model file.
func write(m *trained.Model, path string, tensors []model.Tensor) error {
	if isModel(m, path) || folder.Kept(path) {
		return fmt.Errorf("%w: %s is a file of a run, expected another name: the privacy statement of a run holds the hash of its model", ErrTarget, path)
	}
	about := map[string]string{"format": "pt"}
	if m.Config.Features.Any() {
		about["features"] = m.Config.Features.Recipe.String()
	}
	for _, f := range m.Provenance() {
		about[f.Key] = f.Value
	}
	return checkpoints.WriteModel(path, tensors, about)
}

// network holds the layers and tensors of a model for the writers of ONNX and Python.
type network struct {
	layers  model.Sequential
	tensors map[string]model.Tensor // by name, in PyTorch's layouts
	shapes  map[string][]int        // of the output of each layer by its name: (height, width, channels) or (n)
	err     error                   // of the first layer that cannot be written
}

// place says where a layer stands in the network.
type place struct {
	name  string // such as "4.body.0"
	input []int  // the shape of one example
}

func networkOf(m *trained.Model) (*network, error) {
	layers, err := m.Config.Model.Network()
	return networkFor(m.Network, layers), err
}

// networkFor holds the given layers, which the model was made of.
func networkFor(m *model.Model, layers model.Sequential) *network {
	n := &network{layers: layers, tensors: map[string]model.Tensor{}, shapes: map[string][]int{}}
	for _, t := range m.Merged() {
		n.tensors[t.Name] = t
	}
	for _, l := range m.Layers() {
		n.shapes[l.Name] = l.Output
	}
	return n
}

// each calls write for layers one after the other, named with a prefix such as "4.body."; the first
// takes the shape input. It passes a layer behind a pointer as a value.
func (n *network) each(layers model.Sequential, prefix string, input []int, write func(model.Layer, place)) {
	for i, l := range layers {
		at := place{prefix + strconv.Itoa(i), input}
		write(reflect.Indirect(reflect.ValueOf(l)).Interface().(model.Layer), at)
		input = n.shapes[at.name]
	}
}

// refuse sets n.err, unless it is set, to say that a layer cannot be written in a language.
func (n *network) refuse(format string, at place, l model.Layer, language string) {
	n.err = cmp.Or(n.err, fmt.Errorf("%s: layer %s (%s) cannot be written in %s", format, at.name, l.Kind(), language))
}
