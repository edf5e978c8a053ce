package configs

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"dpsgd/optimizer"
)

func TestPresetsParseAndAreDescribed(t *testing.T) {
	presets := Presets()
	if len(presets) == 0 || presets[0].Name != DefaultPreset {
		t.Fatalf("the first preset is not %s", DefaultPreset)
	}
	for _, p := range presets {
		c := must(Load(p.Name, nil))(t)
		if _, err := c.Model.Network(); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if p.Description == "" || len(p.Description) > 100 {
			t.Errorf("%s: the description %q is not one line", p.Name, p.Description)
		}
	}
}

// The settings that the published and measured results belong to.
func TestPresetsOfResults(t *testing.T) {
	for name, want := range map[string]struct {
		data, network, correlation string
		batch, epochs              int
		rate                       float64
	}{
		"mnist-cnn":   {"mnist", "mnist-cnn", Independent, 512, 40, 0.5},
		"fashion-cnn": {"fashion-mnist", "mnist-cnn", ChosenBands, 1024, 40, 4},
		"cifar-cnn":   {"cifar-10", "cifar-cnn", Independent, 1024, 30, 1},
	} {
		c := must(Load(name, nil))(t)
		if c.Privacy.Epsilon != 3 || !c.Privacy.Calibrated() || c.Privacy.Delta != 1e-5 {
			t.Errorf("%s: privacy is %+v, want a calibrated epsilon of 3 at delta 1e-5", name, c.Privacy)
		}
		if c.Data.Name != want.data || c.Model.Name != want.network || c.Training.BatchSize != want.batch || c.Training.Epochs != want.epochs ||
			!reflect.DeepEqual(c.Optimizer.Rule, &optimizer.Momentum{Momentum: 0.9}) || c.Optimizer.LearningRate != want.rate || c.Privacy.Correlation != want.correlation || c.Privacy.ClipNorm != 0.1 {
			t.Errorf("%s is\n%s", name, c.YAML())
		}
	}
	c, err := Load("mnist-cnn", nil)
	if err != nil || !reflect.DeepEqual(c.Data.Mean, []float64{0}) || !reflect.DeepEqual(c.Data.Std, []float64{1}) {
		t.Errorf("mnist-cnn does not show pixels in [0,1]: %v %v", c.Data, err)
	}
}

// shipped returns the YAML files that come with the program, by path.
func shipped(t testing.TB) map[string]string {
	return filesOf(t, "*.yaml", "networks/*.yaml", "sweeps/*.yaml")
}

// badFiles returns the files with a mistake, by path.
func badFiles(t testing.TB) map[string]string { return filesOf(t, "testdata/*.bad.yaml") }

// filesOf returns the files that match the patterns, by path.
func filesOf(t testing.TB, patterns ...string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v, %d files", pattern, err, len(paths))
		}
		for _, path := range paths {
			src := must(os.ReadFile(path))(t)
			files[path] = string(src)
		}
	}
	return files
}

var keyWithValue = regexp.MustCompile(`^ *[a-z0-9_.]+: +[^#\s]`)

func TestShippedFilesHelpTheReader(t *testing.T) {
	for path, src := range shipped(t) {
		lines := strings.Split(src, "\n")
		if lines[0] != "# yaml-language-server: $schema=schema.json" {
			t.Errorf("%s begins with %q", path, lines[0])
		}
		if strings.HasPrefix(path, "networks") {
			continue // the names of layers speak for themselves
		}
		for i, line := range lines {
			if keyWithValue.MatchString(line) && !strings.Contains(line, " # ") {
				t.Errorf("%s:%d: %q has no comment", path, i+1, line)
			}
		}
	}
}

func TestLoadReadsFiles(t *testing.T) {
	path := filepath.Join(folderOf(t, map[string]string{"my.yaml": smallest}), "my.yaml")
	c, err := Load(path, []string{"training.steps=7"})
	if err != nil || c.Training.Steps != 7 || c.Training.Epochs != 0 {
		t.Errorf("Load = %+v, %v", c, err)
	}
	check(t, os.WriteFile(path, []byte("data: {name: x}\n"+strings.Repeat("#\n", 1<<20)), 0o600))
	_, err = Load(path, nil)
	if want := path + ":1:1: found more than 65536 bytes, expected at most 65536"; err == nil || err.Error() != want {
		t.Errorf("Load of 2 MiB: %v, want %s", err, want)
	}
}

func TestLoadErrors(t *testing.T) {
	all := "cifar-best, cifar-cnn, fashion-best, fashion-cnn, federated-digits, federated-mnist, label-digits, label-mnist, layers, mnist-best, mnist-cnn, own-pictures, own-table, own-vectors, pate-digits, pate-mnist, sentences, text-lstm, text-transformer, vit-tiny"
	for name, want := range map[string]string{
		"digit":   `configs: found no preset and no file "digit", expected a path or one of digits, ` + all + " (did you mean digits?)",
		"unheard": `configs: found no preset and no file "unheard", expected a path or one of digits, ` + all,
	} {
		if _, err := Load(name, nil); err == nil || err.Error() != want {
			t.Errorf("Load(%s): %v, want %s", name, err, want)
		}
	}
	missing := filepath.Join(t.TempDir(), "no.yaml")
	if _, err := Load(missing, nil); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("Load of a missing file: %v", err)
	}
	if _, err := Load(t.TempDir(), nil); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("Load of a folder: %v", err)
	}
}

// What the first version wrote as the configuration of a run reads the same today, key by key.
func TestConfigurationsOfTheFirstVersion(t *testing.T) {
	files := filesOf(t, "testdata/first-version/*.yaml")
	if len(files) != 6 {
		t.Errorf("found %d files, expected 6", len(files))
	}
	for file, src := range files {
		c, err := Parse(file, []byte(src), nil)
		if err != nil {
			t.Error(err)
		} else if got := string(c.YAML()); got != src {
			t.Errorf("%s is written as\n%s\nexpected\n%s", file, got, src)
		}
	}
}

// Every reader of YAML takes the numbers of files that are shipped or written for numbers: those of
// YAML 1.1 take 1e-5 for a text.
func TestNumbersAreNumbersEverywhere(t *testing.T) {
	text := regexp.MustCompile(`(?m)[:\[,] *[0-9]+e[-+]?[0-9]+ *($|[#,\]])`)
	files := shipped(t)
	for _, p := range Presets() {
		files["written of "+p.Name] = string(mustParse(t, string(p.Source)).YAML())
	}
	for name, src := range files {
		if found := text.FindString(src); found != "" {
			t.Errorf("%s: found %q, expected it with a point, as in 1.0e-5", name, found)
		}
	}
}
