package exchange

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/folder"
	"dpsgd/internal/naming"
	"dpsgd/internal/setup"
	"dpsgd/internal/spelling"
	"dpsgd/internal/trained"
	"dpsgd/model"
)

// Imported says how the weights of a file fit a network, and how to begin training with them.
type Imported struct {
	Fits
	File  string         `json:"file,omitempty"`  // the file that was written; "" if none was
	About []trained.Fact `json:"about,omitempty"` // what the file says of its privacy guarantee
	YAML  string         `json:"yaml"`            // lines for the configuration
}

// Import fits the tensors of the file at path to the network of c. If to is not "", it writes the
// fitting ones to a file at to, by the network's names. If none fits, it fails with setup.ErrPlan.
func Import(path string, c *configs.Config, to string) (Imported, error) {
	file, about, err := checkpoints.ReadModel(path)
	if err != nil {
		return Imported{}, err
	}
	o := setup.Declared(c)
	m, err := setup.Model(c, o.Shape, o.Classes)
	if err != nil {
		return Imported{}, err
	}
	if known, _, err := naming.Read(m, file, nil); err == nil {
		file = known
	}
	i := Imported{Fits: Match(m, file), File: to}
	renamed := i.Renamed(file)
	if len(renamed) == 0 {
		return Imported{}, fmt.Errorf("%w: none of the %d tensors of %s has the shape of a parameter, expected one such as %s %v", setup.ErrPlan, len(file), path, i.Fits.Fits[0].Parameter, i.Fits.Fits[0].Shape)
	}
	if about, err = withRun(path, about); err != nil {
		return Imported{}, err
	}
	for _, key := range slices.Sorted(maps.Keys(about)) {
		if strings.HasPrefix(key, "privacy.") {
			i.About = append(i.About, trained.Fact{Key: key, Value: about[key]})
		}
	}
	i.YAML = i.lines(cmp.Or(to, path))
	if to == "" {
		return i, nil
	}
	return i, checkpoints.WriteModel(to, renamed, about)
}

// withRun returns about with the guarantee of the run whose model file that is: the file has none.
func withRun(path string, about map[string]string) (map[string]string, error) {
	dir := filepath.Dir(path)
	if filepath.Base(path) != folder.Model || !folder.HoldsAny(dir, folder.StatementData) {
		return about, nil
	}
	m, err := trained.Open(dir) // which holds model, statement and ledger against each other
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	maps.Copy(all, about)
	for _, f := range m.Provenance() {
		all[f.Key] = f.Value
	}
	return all, nil
}

// lines returns the lines of a configuration that begins with the weights at a path.
func (i Imported) lines(path string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "model:\n  init: %s\n", strconv.Quote(path))
	if len(i.About) > 0 {
		b.WriteString("  init_trained_on: private # with the guarantee that the file tells of, which adds to that of the run\n")
	} else {
		b.WriteString("  init_trained_on: # <- public, private or nothing: what the weights were trained on\n")
	}
	if missing := i.Missing(); len(missing) > 0 {
		quoted := make([]string, len(missing))
		for at, name := range missing {
			quoted[at] = strconv.Quote(name)
		}
		fmt.Fprintf(&b, "  init_except: [%s] # begins at random\n", strings.Join(quoted, ", "))
	}
	return b.String()
}

// Fit is a parameter of a network and the tensor of a file that becomes it.
type Fit struct {
	Parameter string `json:"parameter"`
	Shape     []int  `json:"shape"`
	Tensor    string `json:"tensor"` // "" where the file has none for it
}

// Fits says how a file fits a network.
type Fits struct {
	Fits   []Fit    `json:"fits"`   // all parameters of the network, in their order
	Unused []string `json:"unused"` // tensors of the file that no parameter takes
	Named  bool     `json:"named"`  // whether tensors were found by the network's names, not by their order
}

// Missing names the layers that have no tensor at all, and the parameters without one in other
// layers.
func (f Fits) Missing() (names []string) {
	some := map[string]bool{} // layers that have a tensor
	for _, fit := range f.Fits {
		if name, _ := module(fit.Parameter); fit.Tensor != "" {
			some[name] = true
		}
	}
	for _, fit := range f.Fits {
		name, _ := module(fit.Parameter)
		if some[name] {
			name = fit.Parameter
		}
		if fit.Tensor == "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Match finds the tensors of a file that fit the parameters of a network. If any tensor has the
// name and the shape of a parameter, tensors are found by name alone. Otherwise the file names
// layers in another way ("conv1.weight", "features.3.weight"): each layer of the network, in order,
// takes the first unused layer of the file whose tensors have its shapes and last names. As files
// do not keep the order of layers, they are sorted by name, and numbers in names by value.
func Match(m *model.Model, file []checkpoints.Tensor) Fits {
	f := Fits{Unused: []string{}}
	own := m.Merged()
	for _, p := range own {
		fit := Fit{p.Name, p.Shape, ""}
		if slices.ContainsFunc(file, func(t checkpoints.Tensor) bool { return t.Name == p.Name && slices.Equal(t.Shape, p.Shape) }) {
			fit.Tensor, f.Named = p.Name, true
		}
		f.Fits = append(f.Fits, fit)
	}
	if !f.Named {
		f.byOrder(layers(own), layers(file))
	}
	for _, t := range file {
		if !slices.ContainsFunc(f.Fits, func(fit Fit) bool { return fit.Tensor == t.Name }) {
			f.Unused = append(f.Unused, t.Name)
		}
	}
	return f
}

// byOrder gives the parameters of each layer in own, which are the network's, the tensors of the
// first layer in free, sorted by name, that has their shapes. Then that layer is free no more.
func (f *Fits) byOrder(own, free []layer) {
	slices.SortStableFunc(free, func(a, b layer) int { return spelling.InOrder(a.name, b.name) })
	for _, wanted := range own {
		at := slices.IndexFunc(free, func(l layer) bool { return l.shapes() == wanted.shapes() })
		if at < 0 {
			continue
		}
		for i, fit := range f.Fits {
			if name, last := module(fit.Parameter); name == wanted.name {
				f.Fits[i].Tensor = strings.TrimPrefix(free[at].name+"."+last, ".")
			}
		}
		free = slices.Delete(free, at, at+1)
	}
}

// layer groups the tensors whose names agree but for the last word.
type layer struct {
	name    string
	tensors []checkpoints.Tensor
}

// module splits a name before its last word: "conv1" and "weight".
func module(name string) (of, last string) {
	i := strings.LastIndex(name, ".")
	return name[:max(i, 0)], name[i+1:]
}

// layers groups tensors into layers, as they appear, without the counts of batches of PyTorch.
func layers(tensors []checkpoints.Tensor) (all []layer) {
	for _, t := range tensors {
		name, last := module(t.Name)
		if last == "num_batches_tracked" {
			continue
		}
		i := slices.IndexFunc(all, func(l layer) bool { return l.name == name })
		if i < 0 {
			i, all = len(all), append(all, layer{name: name})
		}
		all[i].tensors = append(all[i].tensors, t)
	}
	return all
}

// shapes lists the last names and shapes of a layer's tensors, to compare layers by. A batch
// normalisation has more tensors than a group normalisation and so is no match for one.
func (l layer) shapes() string {
	texts := make([]string, len(l.tensors))
	for i, t := range l.tensors {
		_, last := module(t.Name)
		texts[i] = fmt.Sprint(last, t.Shape)
	}
	slices.Sort(texts)
	return strings.Join(texts, " ")
}

// Renamed returns the tensors of a file that fit, under the names of the network.
func (f Fits) Renamed(file []checkpoints.Tensor) []checkpoints.Tensor {
	var out []checkpoints.Tensor
	for _, fit := range f.Fits {
		if i := slices.IndexFunc(file, func(t checkpoints.Tensor) bool { return t.Name == fit.Tensor }); fit.Tensor != "" && i >= 0 {
			out = append(out, checkpoints.Tensor{Name: fit.Parameter, Shape: file[i].Shape, Data: file[i].Data})
		}
	}
	return out
}
