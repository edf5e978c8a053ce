package configs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"dpsgd/internal/setting"
	"dpsgd/model"
)

// otherNames maps second names of ready networks to the names of their files.
var otherNames = map[string]string{"mlp": "mlp128"}

// Networks lists the names of the ready networks, sorted.
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

// parseNetwork reads the layers of a network file, which has the one key layers.
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
