package configs

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"dpsgd/internal/setting"
	"dpsgd/internal/spelling"
	"dpsgd/model"
)

//go:embed *.yaml networks/*.yaml statistics/*.yaml sweeps/*.yaml
var shippedFiles embed.FS

// DefaultPreset is the name of the preset that trains when no configuration is named.
const DefaultPreset = "digits"

// Preset is a configuration, network, sweep or file of statistics that the program comes with.
type Preset struct {
	Name        string `json:"name"`
	Description string `json:"description"` // one line
	Source      []byte `json:"-"`           // the YAML file, with its comments
}

// Presets lists the configurations that come with the program, the default first.
func Presets() []Preset {
	presets := presetsIn(".")
	i := slices.IndexFunc(presets, func(p Preset) bool { return p.Name == DefaultPreset })
	first := presets[i]
	return slices.Insert(slices.Delete(presets, i, i+1), 0, first)
}

// presetsIn lists the embedded YAML files of a folder below this package, sorted by name.
func presetsIn(folder string) []Preset {
	paths, err := fs.Glob(shippedFiles, path.Join(folder, "*.yaml"))
	if err != nil {
		panic(err)
	}
	out := make([]Preset, len(paths))
	for i, p := range paths {
		src, err := shippedFiles.ReadFile(p)
		if err != nil {
			panic(err)
		}
		out[i] = Preset{strings.TrimSuffix(path.Base(p), ".yaml"), description(src), src}
	}
	return out
}

// description returns the first comment line of a file that is not for editors.
func description(src []byte) string {
	for line := range strings.SplitSeq(string(src), "\n") {
		text, isComment := strings.CutPrefix(line, "# ")
		if isComment && !strings.HasPrefix(text, "yaml-language-server:") {
			return text
		}
	}
	return ""
}

// Load parses a preset, or else the file at a path, with overrides as in Parse. The name of
// a preset always means the preset; write ./name for a file of that name.
func Load(nameOrPath string, overrides []string) (*Config, error) {
	file, src, err := Open(nameOrPath, Presets(), "preset")
	if err != nil {
		return nil, err
	}
	c, err := Parse(file, src, overrides)
	return c, ofPreset(err, file, nameOrPath, given(overrides))
}

// Open returns the source of the preset of that name, or else of the file at that path. In
// messages, file stands for it, NAME.yaml or the path, and what for its kind, such as preset.
func Open(nameOrPath string, presets []Preset, what string) (file string, src []byte, err error) {
	known := make([]string, len(presets))
	for i, p := range presets {
		if p.Name == nameOrPath {
			return p.Name + ".yaml", p.Source, nil
		}
		known[i] = p.Name
	}
	src, err = readFile(nameOrPath)
	if os.IsNotExist(err) && !strings.ContainsAny(nameOrPath, `/\.`) {
		expected := hinted("a path or "+setting.Choice(known).Expected(), spelling.DidYouMean(nearest(nameOrPath, known)))
		return "", nil, fmt.Errorf("configs: found no %s and no file %q, expected %s", what, nameOrPath, expected)
	}
	if _, dangling := os.Readlink(nameOrPath); os.IsNotExist(err) && dangling == nil {
		return "", nil, fmt.Errorf("configs: found the link %s to nothing, expected the file of a %s", nameOrPath, what)
	}
	if info, statErr := os.Stat(nameOrPath); statErr == nil && info.IsDir() {
		return "", nil, fmt.Errorf("configs: found the folder %s, expected a %s or a file; `train init --data FOLDER` writes one for data", nameOrPath, what)
	}
	if err != nil {
		return "", nil, fmt.Errorf("configs: cannot read a configuration: %w", err)
	}
	return nameOrPath, src, nil
}

// readFile reads at most maxBytes+1 bytes of a file: enough to tell that it is too long.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxBytes+1))
}

// Sweeps lists the sweeps that come with the program.
func Sweeps() []Preset { return presetsIn("sweeps") }

// LoadSweep reads the sweep of that name if the program has it, or else the file at that path.
func LoadSweep(nameOrPath string) (*Sweep, error) {
	file, src, err := Open(nameOrPath, Sweeps(), "sweep")
	if err != nil {
		return nil, err
	}
	return ParseSweep(file, src)
}

// otherNames maps second names of ready networks to the names of their files.
var otherNames = map[string]string{"mlp": "mlp128"}

// Networks lists the names of the ready networks, second names too, sorted.
func Networks() []string {
	all := slices.Collect(maps.Keys(otherNames))
	for _, p := range presetsIn("networks") {
		all = append(all, p.Name)
	}
	slices.Sort(all)
	return all
}

// Network returns the layers of a ready network. An unknown name is an error that lists the known
// ones and matches ErrInvalid.
func Network(name string) (model.Sequential, error) {
	file := cmp.Or(otherNames[name], name)
	for _, p := range presetsIn("networks") {
		if p.Name == file {
			return parseNetwork("networks/"+file+".yaml", name, p.Source)
		}
	}
	return nil, fmt.Errorf("%w: found the network %s, expected %s", ErrInvalid, printable(name), setting.Choice(Networks()).Expected())
}

// parseNetwork reads a network file, whose one key is layers. file and name are for messages.
func parseNetwork(file, name string, src []byte) (model.Sequential, error) {
	r := &report{}
	var layers model.Sequential
	root := readYAML(r, startOf(file), src)
	if root != nil {
		found := false
		for _, e := range root.Entries {
			if e.Key != "layers" {
				unknown(r, e, "", []string{"layers"}, "")
				continue
			}
			found = true
			decodeLayers(model.List{NonEmpty: true}, r, e.Value, name+".layers", &layers)
		}
		if !found {
			r.Expected(root, "", "a mapping with the key layers", "")
		}
	}
	return layers, r.Err()
}
