package configs

import (
	"cmp"
	"reflect"
	"strings"
	"testing"

	"dpsgd/internal/setting"
	"dpsgd/optimizer"
)

// leaves returns the address of every value of a configuration, with its Go path.
func leaves(v reflect.Value, path string, out map[uintptr]string) {
	if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[Size]() {
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Anonymous {
				leaves(v.Field(i), path, out)
			} else {
				leaves(v.Field(i), path+"."+f.Name, out)
			}
		}
		return
	}
	out[v.Addr().Pointer()] = path
}

func TestTableHasEveryFieldOfConfigOnce(t *testing.T) {
	var c Config
	unbound := map[uintptr]string{}
	leaves(reflect.ValueOf(&c).Elem(), "Config", unbound)
	arguments := argumentsOfKinds()
	seen := map[string]bool{}
	for _, f := range fields {
		if seen[f.path] {
			t.Errorf("%s is in the table twice", f.path)
		}
		seen[f.path] = true
		if arguments[f.path] {
			continue // not in Config, but in the rule or curve that is chosen
		}
		p := reflect.ValueOf(f.at(&c)).Pointer()
		goPath, ok := unbound[p]
		if !ok {
			t.Errorf("%s is stored where another key is", f.path)
		}
		delete(unbound, p)
		want := strings.ToLower("Config." + strings.ReplaceAll(cmp.Or(namesOfKinds[f.path], f.path), "_", ""))
		if strings.ToLower(goPath) != want {
			t.Errorf("%s is stored in %s", f.path, goPath)
		}
	}
	for _, path := range unbound {
		if path == "Config.Data.Dir" || path == "Config.Data.Memory" {
			continue // of reading the examples, which no file says
		}
		t.Errorf("%s has no key", path)
	}
}

// argumentsOfKinds has the keys of the arguments of all kinds.
func argumentsOfKinds() map[string]bool {
	paths := map[string]bool{}
	for _, f := range fields {
		if kinds, ok := f.format.(interface {
			eachName(func(string, []string))
		}); ok {
			section, _ := f.split()
			kinds.eachName(func(name string, _ []string) { paths[section+"."+name] = true })
		}
	}
	return paths
}

// An argument is stored in the rule that is chosen, where that has it.
func TestArgumentsAreStoredInTheirKind(t *testing.T) {
	for _, k := range optimizer.UpdateRules() {
		c := Config{Optimizer: Optimizer{Rule: k.New()}}
		for _, a := range setting.Arguments(c.Optimizer.Rule) {
			if f := fieldAt("optimizer." + a.Name); f.at(&c) != a.Value || !f.applies(&c) {
				t.Errorf("%s of %s is stored elsewhere, or has no meaning", a.Name, k.Name)
			}
		}
	}
}

func TestDefaultsAreValidAndDocumented(t *testing.T) {
	defaults := DefaultConfig()
	for _, f := range fields {
		if !strings.HasSuffix(f.doc, ".") || strings.Contains(f.doc, "\n") {
			t.Errorf("%s: the documentation %q is not a sentence in one line", f.path, f.doc)
		}
		if !f.hasDefault() {
			continue
		}
		text := encode(f.format, f.at(&defaults))
		r := &report{}
		n := readYAML(r, startOf("default"), []byte(text))
		into := f.at(&Config{})
		if !decode(f.format, r, n, f.path, into) || !reflect.DeepEqual(into, f.at(&defaults)) {
			t.Errorf("%s: the default %s does not read back: %v", f.path, text, r.Err())
		}
	}
	without := map[string]bool{}
	for _, k := range Keys() {
		if k.Default == "" {
			without[k.Path] = true
		}
	}
	want := []string{"data.name", "data.folder", "data.table", "data.vectors", "data.text", "data.column", "data.length", "data.tokenizer", "data.vocabulary", "data.classes", "data.size", "data.channels", "data.columns", "data.label", "data.labels", "data.bounds", "data.width", "training.class_weights", "data.limit.epsilon", "data.limit.delta", "privacy.epsilon", "privacy.noise_multiplier",
		"model.init_trained_on", "model.init_except", "model.freeze", "model.train_only", "model.lora.layers", "model.layers", "training.steps"} // the last two give way to the default of their pair
	for _, path := range want {
		if !without[path] {
			t.Errorf("%s has a default", path)
		}
		delete(without, path)
	}
	for path := range without {
		t.Errorf("%s has no default", path)
	}
}

func TestSuggestions(t *testing.T) {
	paths := []string{"epsilon", "noise_multiplier", "delta", "clip_norm", "clipping", "accountant"}
	for found, want := range map[string]string{
		"sigma": "noise_multiplier", "max_grad_norm": "clip_norm", "detla": "delta", "sampling": "",
	} {
		if got := nearest(found, paths); got != want {
			t.Errorf("nearest(%.20q) = %q, want %q", found, got, want)
		}
	}
	for found, want := range map[string]string{"MaxPool2d": "max_pool2d", "ReLU": "relu", "GroupNorm": "group_norm", "AdaptiveAvgPool2d": "global_avg_pool2d", "dense": "linear"} {
		if got := nearest(found, layerKinds.Names()); got != want {
			t.Errorf("nearest(%q) = %q, want %q", found, got, want)
		}
	}
}

func TestPerChannelRepeatsOneValue(t *testing.T) {
	d := Data{Mean: []float64{0.5}, Std: []float64{0.1, 0.2, 0.3}}
	n := d.PerChannel(3)
	if !reflect.DeepEqual(n.Mean, []float64{0.5, 0.5, 0.5}) || !reflect.DeepEqual(n.Std, d.Std) {
		t.Errorf("PerChannel(3) = %v", n)
	}
	n.Std[0] = 9
	if d.Std[0] == 9 {
		t.Error("PerChannel shares the configuration's memory")
	}
}
