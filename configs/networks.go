package configs

import (
	"cmp"
	"embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"dpsgd/configs/internal/source"
	"dpsgd/internal/setting"
	"dpsgd/model"
)

//go:embed networks/*.yaml
var networkFiles embed.FS

// otherNames are second names of ready networks.
var otherNames = map[string]string{"mlp": "mlp128"}

// Networks lists the names of the ready networks, sorted.
func Networks() []string {
	all := slices.AppendSeq(names(networkFiles, "networks"), maps.Keys(otherNames))
	slices.Sort(all)
	return all
}

// Network returns the layers of a ready network. An unknown name is an error that lists the known
// ones and matches ErrInvalid.
func Network(name string) (model.Sequential, error) {
	file := path.Join("networks", cmp.Or(otherNames[name], name)+".yaml")
	src, err := networkFiles.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: found the network %s, expected %s", ErrInvalid, source.Printable(name), setting.Choice(Networks()).Expected())
	}
	return parseNetwork(file, name, src)
}

// parseNetwork reads the layers of a network file, which has the one key layers.
func parseNetwork(file, name string, src []byte) (model.Sequential, error) {
	r := &source.Report{}
	var layers model.Sequential
	root := source.Read(r, source.Start(file), src)
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

// names lists the YAML files of a folder without their extension, sorted.
func names(files embed.FS, folder string) []string {
	entries, err := files.ReadDir(folder)
	if err != nil {
		panic("configs: the embedded folder " + folder + " is missing: " + err.Error())
	}
	var out []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".yaml"); ok {
			out = append(out, name)
		}
	}
	return out
}
