package exchange

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
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
	"dpsgd/internal/statement"
	"dpsgd/internal/trained"
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

// withRun returns about with the guarantee of the privacy statement beside path, if that is a run's
// model file. The file says nothing of it, as a run writes its model before its statement.
func withRun(path string, about map[string]string) (map[string]string, error) {
	if filepath.Base(path) != folder.Model {
		return about, nil
	}
	s, err := statement.Read(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return about, nil
	}
	all := map[string]string{}
	maps.Copy(all, about)
	for _, f := range (&trained.Model{Config: &configs.Config{}, Statement: s}).Provenance() {
		all[f.Key] = f.Value
	}
	return all, err
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
