package train

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/folder"
	"dpsgd/internal/gradients"
	"dpsgd/internal/tiny"
	"dpsgd/perexample"
)

// otherEngines exchanges ghost and materialise in a run's engines.json and returns the engines that
// it names then.
func otherEngines(t *testing.T, dir string) []perexample.Engine {
	t.Helper()
	path := filepath.Join(dir, folder.Engines)
	tiny.Write(t, path, strings.NewReplacer(`"ghost"`, `"materialise"`, `"materialise"`, `"ghost"`).Replace(tiny.Read(t, path)))
	var other []perexample.Engine
	for _, p := range gradients.ReadChoice(dir).Parameters {
		other = append(other, p.Engine)
	}
	return other
}

// enginesOf lists the engines of a run.
func enginesOf(r *Run) (engines []perexample.Engine) {
	for _, a := range r.records.Gradients.Engines() {
		engines = append(engines, a.Engine)
	}
	return engines
}

// A run goes on with the engines that it began with, whatever a new choice would say.
func TestResumedRunKeepsItsEngines(t *testing.T) {
	o := options(t)
	r := create(t, tiny.Parse(t, tiny.Convolutional, "performance.engine=auto"), o)
	if found := gradients.ReadChoice(r.Dir); len(found.Parameters) != len(r.records.Gradients.Engines()) {
		t.Fatalf("found %+v, expected an engine for each of %d parameters", found, len(r.records.Gradients.Engines()))
	}
	r.Close()
	want := otherEngines(t, r.Dir)
	before := tiny.Read(t, r.Path(folder.Engines))
	again := open(t, r.Dir, o)
	if found := enginesOf(again); !slices.Equal(found, want) {
		t.Errorf("found the engines %v, expected those of the file, %v", found, want)
	}
	if after := tiny.Read(t, r.Path(folder.Engines)); after != before {
		t.Errorf("engines.json was written anew:\n%s\n---\n%s", before, after)
	}
}

// Engines that were chosen for something else are chosen again, and the file says so.
func TestOtherSettingsChooseAgain(t *testing.T) {
	for _, test := range []struct{ name, from, to string }{
		{"performance.engine", "engine: auto", "engine: ghost"},
		{"physical batch", "physical_batch_size: 16", "physical_batch_size: 8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := options(t)
			r := create(t, tiny.Parse(t, tiny.Convolutional, "performance.engine=auto"), o)
			r.Close()
			before := tiny.Read(t, r.Path(folder.Engines))
			edit(t, r.Path(folder.Config), test.from, test.to)
			again := open(t, r.Dir, o)
			found := gradients.ReadChoice(r.Dir)
			if tiny.Read(t, r.Path(folder.Engines)) == before || found.Setting != again.Config.Performance.Engine || found.PhysicalBatchSize != again.Config.Training.PhysicalBatchSize {
				t.Errorf("found %+v after %s", found, test.to)
			}
			if found.Setting == "ghost" && slices.Contains(enginesOf(again), perexample.Materialise) {
				t.Errorf("found the engines %v, expected the configured one", enginesOf(again))
			}
		})
	}
}

// A file that is missing, damaged, or speaks of another network stops nothing and is replaced; one
// that cannot be replaced is told about.
func TestDamagedEnginesAreChosenAgain(t *testing.T) {
	replace := func(from, to string) func(string) string {
		return func(whole string) string { return strings.Replace(whole, from, to, 1) }
	}
	for name, damage := range map[string]func(string) string{
		"empty":           func(string) string { return "" },
		"torn":            func(whole string) string { return whole[:len(whole)/2] },
		"not JSON":        func(string) string { return "engines" },
		"null":            func(string) string { return "null" },
		"text after it":   func(whole string) string { return whole + "{}" },
		"unknown engine":  replace(`"engine": "ghost"`, `"engine": "gost"`),
		"engine missing":  replace(`"engine": "ghost",`, ``),
		"other parameter": replace(`"parameter": "`, `"parameter": "x`),
		"other rule":      replace(`"rule": "`, `"rule": "x`),
		"no parameters":   replace(`"parameters": [`, `"parameters": [], "p": [`),
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			r := create(t, tiny.Parse(t, "performance.engine=ghost"), o)
			r.Close()
			whole := tiny.Read(t, r.Path(folder.Engines))
			damaged := damage(whole)
			if damaged == whole {
				t.Fatal("nothing was damaged")
			}
			tiny.Write(t, r.Path(folder.Engines), damaged)
			open(t, r.Dir, o)
			if found := tiny.Read(t, r.Path(folder.Engines)); found != whole {
				t.Errorf("found %q, expected %q", found, whole)
			}
		})
	}
	o := options(t)
	r := create(t, tiny.Parse(t), o)
	r.Close()
	tiny.Check(t, os.Remove(r.Path(folder.Engines)))
	tiny.Check(t, os.Mkdir(r.Path(folder.Engines), 0o700))
	var warnings []string
	o.Warned = func(message string) { warnings = append(warnings, message) }
	open(t, r.Dir, o).Close()
	if len(warnings) != 1 || !strings.Contains(warnings[0], "the choice of engines is not kept") {
		t.Errorf("found the warnings %q, expected one about engines that are not kept", warnings)
	}
	tiny.Check(t, os.Remove(r.Path(folder.Engines)))
	open(t, r.Dir, o).Close()
	if found := gradients.ReadChoice(r.Dir); len(found.Parameters) != 2 {
		t.Errorf("found %+v after the file was missing, expected two parameters", found)
	}
}
