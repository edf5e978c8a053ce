package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/configs"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
	"dpsgd/internal/train"
)

// changesVariable sets how many changes [TestNoChangeLowersEpsilon] makes.
const changesVariable = "DPSGD_CHANGES"

// runsOfEveryKind are the command lines that make a folder of runs of all kinds on one table.
var runsOfEveryKind = [][]string{
	{"run", "own.yaml", "--set", "run.name=plain"},
	{"run", "own.yaml", "--set", "run.name=longer"},
	{"extend", "runs/longer", "--steps", "8"},
	{"resume", "runs/longer"},
	{"run", "own.yaml", "--set", "run.name=label", "--set", "privacy.unit=label", "--set", "privacy.epsilon=2", "--set", "privacy.noise_multiplier=calibrated"},
	{"run", "own.yaml", "--set", "run.name=person", "--set", "privacy.unit=person", "--set", "data.group=who", "--set", "training.batch_size=5"},
	{"federated", "own.yaml", "--set", "run.name=clients", "--set", "federated.clients=20", "--set", "training.batch_size=5"},
	{"pate", "own.yaml", "--set", "run.name=teachers", "--set", "privacy.epsilon=20", "--set", "privacy.noise_multiplier=calibrated", "--set", "pate.teachers=4", "--set", "pate.pool=8",
		"--set", "pate.aggregation=gnmax", "--set", "pate.noise=20"},
	{"stats", "stats.yaml"},
	{"sweep", "sweep.yaml"},
}

// folderOf makes that folder below the working directory, or a part of it, and a copy of it,
// "pristine".
func folderOf(t *testing.T, runs [][]string) {
	t.Helper()
	for _, dir := range []string{"people", "runs"} {
		tiny.Check(t, os.Mkdir(dir, 0o700))
	}
	for part, n := range map[string]int{"train": 60, "test": 24} {
		var b strings.Builder
		b.WriteString("age,pay,who,sick\n")
		for i := range n {
			fmt.Fprintf(&b, "%d,%d,p%d,%s\n", 20+30*(i%2)+i%10, 20000+i, i/3, []string{"no", "yes"}[i%2])
		}
		tiny.Write(t, filepath.Join("people", part+".csv"), b.String())
	}
	tiny.Write(t, "own.yaml", `
data: {table: people, columns: [age, pay], label: sick, classes: ["no", "yes"], mean: [40, 20000], std: [15, 100]}
model: {name: logistic}
privacy: {noise_multiplier: 2, delta: 1e-3, clip_norm: 0.5, accountant: rdp}
optimizer: {name: sgd, learning_rate: 0.5}
training: {batch_size: 10, physical_batch_size: 16, steps: 4}
performance: {threads: 1}
run: {checkpoint_every: 2}
`)
	tiny.Write(t, "stats.yaml", `
data: {table: people, columns: [age, pay], label: sick, classes: ["no", "yes"]}
privacy: {epsilon: 1, delta: 1e-3}
statistics:
  - {statistic: mean, column: age, bounds: [0, 100]}
  - {statistic: histogram, column: sick}
`)
	tiny.Write(t, "sweep.yaml", "name: sweep\nbase: own.yaml\ngrid: {privacy.clip_norm: [0.25, 0.5]}\n")
	for _, args := range runs {
		succeed(t, args...)
	}
	tiny.Check(t, os.CopyFS("pristine", os.DirFS("runs")))
}

// restore makes the folder what it was before a change.
func restore(t *testing.T) {
	t.Helper()
	for _, left := range []string{"runs", "moved", "aside"} {
		tiny.Check(t, os.RemoveAll(left))
	}
	tiny.Check(t, os.CopyFS("runs", os.DirFS("pristine")))
}

// asks are the commands that print an ε, or write one, of a folder of runs. Those that write say
// so.
func asks(runs []string) (lines [][]string) {
	lines = [][]string{{"runs", "--json"}, {"ledger", "show", "--json"}, {"ledger", "verify", "--json"}}
	for _, run := range runs {
		lines = append(lines, []string{"epsilon", run, "--json"})
		if !strings.Contains(run, "statistics") {
			lines = append(lines, []string{"eval", run, "--json"}, []string{"card", run, "-o", "card.md", "--force"}, []string{"export", run, "-o", "model.onnx", "--force"})
		}
		if slow.Asked() { // it asks all accountants for curves
			lines = append(lines, []string{"report", run, "-o", "report.html"})
		}
	}
	for _, run := range runs {
		lines = append(lines, []string{"resume", run, "--json"}, []string{"extend", run, "--steps", "10", "--json"})
	}
	return append(lines, []string{"sweep", "sweep.yaml", "--json"})
}

// epsilons are the ε that an output holds, by what they are of; the least where two are of the
// same.
func epsilons(out string) map[string]float64 {
	found := map[string]float64{}
	var visit func(at string, v any)
	visit = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			name, _ := v["run"].(string)
			if d, ok := v["data"].(map[string]any); ok {
				name, _ = d["name"].(string)
			}
			for key, value := range v {
				number, is := value.(float64)
				if is && strings.Contains(key, "epsilon") && !strings.Contains(key, "left") && !strings.Contains(key, "target") {
					of := at + name + " " + key
					if said, twice := found[of]; !twice || number < said {
						found[of] = number
					}
				}
				visit(at+name+" "+key, value)
			}
		case []any:
			for _, item := range v {
				visit(at, item)
			}
		}
	}
	for line := range strings.Lines(out) {
		var object map[string]any
		if json.Unmarshal([]byte(line), &object) == nil {
			visit("", object)
		}
	}
	return found
}

// changes lists what somebody may do to a file of a folder of runs; other is some path in it.
var changes = map[string]func(path, other string, at float64) error{
	"delete": func(path, _ string, _ float64) error { return os.RemoveAll(path) },
	"rename": func(path, _ string, _ float64) error { return os.Rename(path, path+"-2") },
	"move":   func(path, _ string, _ float64) error { return os.Rename(path, "moved") },
	"cut": func(path, _ string, at float64) error {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, content[:int(at*float64(len(content)))], 0o600)
	},
	"edit": func(path, _ string, at float64) error {
		content, err := os.ReadFile(path)
		if err != nil || len(content) == 0 {
			return err
		}
		i := int(at * float64(len(content)))
		for n := range len(content) { // the next digit, which is where numbers get smaller
			if j := (i + n) % len(content); content[j] >= '1' && content[j] <= '9' {
				i = j
				break
			}
		}
		content[i] ^= 1
		return os.WriteFile(path, content, 0o600)
	},
	"swap": func(path, other string, _ float64) error {
		if err := os.Rename(path, "aside"); err != nil {
			return err
		}
		if err := os.Rename(other, path); err != nil {
			return os.Rename("aside", path)
		}
		return os.Rename("aside", other)
	},
	"copy": func(path, other string, _ float64) error {
		content, err := os.ReadFile(other)
		if err != nil {
			return err
		}
		return os.WriteFile(path, content, 0o600)
	},
	"link": func(path, other string, _ float64) error {
		if err := os.Remove(path); err != nil {
			return err
		}
		return os.Link(other, path)
	},
}

// Whatever is done to a file or a folder of a run of any kind: no command prints a smaller ε than
// before, unless it fails, and one that fails writes no byte.
func TestNoChangeLowersEpsilon(t *testing.T) {
	t.Chdir(t.TempDir())
	folderOf(t, runsOfEveryKind)
	var paths, runs []string
	for path, content := range tiny.Snapshot(t, "runs") {
		if path != "runs" {
			paths = append(paths, path)
		}
		if _, err := os.Stat(filepath.Join(path, "ledger.jsonl")); content == "folder" && err == nil {
			runs = append(runs, path)
		}
	}
	slices.Sort(paths)
	slices.Sort(runs)
	said, asWas := map[string]map[string]float64{}, false
	before := func(args []string) map[string]float64 {
		line := strings.Join(args, " ")
		if _, asked := said[line]; !asked && args[len(args)-1] == "--json" {
			if !asWas {
				restore(t)
			}
			asWas = slices.Contains([]string{"runs", "ledger", "epsilon", "eval"}, args[0]) // these only read
			r := command(args...)
			said[line] = epsilons(r.out)
			if len(said[line]) == 0 && slices.Contains([]string{"runs", "epsilon", "eval", "sweep"}, args[0]) {
				t.Fatalf("train %s says no ε:\n%s%s", line, r.out, r.err)
			}
		}
		return said[line]
	}
	n := slow.Number(t, changesVariable, 2, 200)
	kinds, src := slices.Sorted(maps.Keys(changes)), rand.New(rand.NewPCG(24, 24)) // public: it chooses changes
	for i := 0; i < n; {
		kind, path, other, at := kinds[src.IntN(len(kinds))], paths[src.IntN(len(paths))], paths[src.IntN(len(paths))], src.Float64()
		if kind == "swap" && slices.Contains(runs, path) && slices.Contains(runs, other) {
			continue // two runs renamed: each name is the other run now, with its own ε
		}
		restore(t)
		if err := changes[kind](path, other, at); err != nil {
			continue // not of this file
		}
		i++
		what := fmt.Sprintf("%d: %s %s (%s, %.2f)", i, kind, path, other, at)
		// The run that was changed, and some other.
		asked := []string{}
		for _, run := range runs {
			if strings.HasPrefix(path, run) || strings.HasPrefix(run, path) || strings.HasPrefix(other, run) && kind == "swap" {
				asked = append(asked, run)
			}
		}
		if len(asked) == 0 {
			asked = []string{runs[src.IntN(len(runs))]}
		}
		asWas = false
		for _, args := range asks(asked) {
			before(args)
		}
		restore(t)
		if err := changes[kind](path, other, at); err != nil {
			t.Fatalf("%s, again: %v", what, err)
		}
		for _, args := range asks(asked) {
			checkAnswer(t, what, args, before(args))
		}
	}
	restore(t)
}

// checkAnswer asks one question of a folder that was changed.
func checkAnswer(t *testing.T, what string, args []string, before map[string]float64) {
	t.Helper()
	files := tiny.Snapshot(t, ".")
	r := command(args...)
	line := strings.Join(args, " ")
	if r.code != 0 {
		if strings.Contains(r.err, "\nresumed ") {
			return // not refused: it went on, and failed while working
		}
		if after := tiny.Snapshot(t, "."); !maps.Equal(files, after) {
			t.Errorf("%s: %s failed (%d, %s) and wrote %v", what, line, r.code, strings.TrimSpace(r.err), written(files, after))
		}
		return
	}
	compare(t, what, args, before, r)
}

// compare holds an answer that was given against that of before: no ε is smaller, and none that a
// list of runs had is missing, unless the run is named with what is wrong with it, or is there
// under another name.
func compare(t *testing.T, what string, args []string, before map[string]float64, r commandOutcome) {
	t.Helper()
	now, line := epsilons(r.out), strings.Join(args, " ")
	for of, was := range before {
		epsilon, ok := now[of]
		switch {
		case ok && epsilon < was*(1-1e-9):
			t.Errorf("%s: %s says ε = %v of %q, expected at least %v\n%s%s", what, line, epsilon, of, was, r.out, r.err)
		case !ok && (args[0] == "runs" || args[0] == "ledger") && !strings.HasSuffix(of, "released") && !named(r.out, of) && !moved(before, now, of):
			t.Errorf("%s: %s says no ε of %q, expected at least %v, or what became of it\n%s%s", what, line, of, was, r.out, r.err)
		}
	}
}

// named says whether the run of which there was an ε is in the list of runs with a problem.
func named(out, of string) bool {
	var said struct {
		Runs []struct{ Run, Problem string }
	}
	return json.Unmarshal([]byte(out), &said) == nil && slices.ContainsFunc(said.Runs, func(r struct{ Run, Problem string }) bool {
		return r.Problem != "" && strings.HasPrefix(of, " runs"+r.Run+" ")
	})
}

// moved says whether the same ε, or more, is now that of a run that was not there before.
func moved(before, now map[string]float64, of string) bool {
	key := of[strings.LastIndex(of, " "):]
	for other, epsilon := range now {
		if _, there := before[other]; !there && strings.HasSuffix(other, key) && epsilon >= before[of]*(1-1e-9) {
			return true
		}
	}
	return false
}

func written(before, after map[string]string) (paths []string) {
	for path, content := range after {
		if was, ok := before[path]; !ok || was != content {
			paths = append(paths, path)
		}
	}
	for path := range before {
		if _, ok := after[path]; !ok {
			paths = append(paths, path+" (gone)")
		}
	}
	return paths
}

// The same while a run is at work: whatever is done to its files or to those beside them, commands
// that only read say no smaller ε, then and when the run has ended, as it would or because a ledger
// is gone.
func TestNoChangeAtWorkLowersEpsilon(t *testing.T) {
	t.Chdir(t.TempDir())
	n, beside := slow.Number(t, changesVariable, 3, 100), runsOfEveryKind
	if n == 3 {
		beside = beside[:1] // which takes less
	}
	folderOf(t, beside)
	lines := [][]string{{"runs", "--json"}, {"ledger", "show", "--json"}, {"epsilon", "runs/work", "--json"}}
	kinds, src := slices.Sorted(maps.Keys(changes)), rand.New(rand.NewPCG(24, 25)) // public: it chooses changes
	for i := 0; i < n; {
		restore(t)
		before, what := map[string]map[string]float64{}, ""
		ask := func() {
			for _, args := range lines {
				if r := command(args...); r.code == 0 {
					compare(t, what, args, before[args[0]], r)
				}
			}
		}
		changed := train.Watcher{Stepped: func(p train.Progress) {
			if p.Step != 2 {
				return
			}
			for _, args := range lines {
				before[args[0]] = epsilons(succeed(t, args...))
			}
			of := []string{"runs", "runs/work"}[src.IntN(2)] // of the run itself more often than of others
			paths := []string{"runs/" + folder.Datasets}
			_ = filepath.WalkDir(of, func(path string, d fs.DirEntry, err error) error {
				if err == nil && path != "runs" && !strings.HasPrefix(d.Name(), ".") {
					paths = append(paths, path)
				}
				return nil // the run may be writing just now
			})
			kind, path, other, at := kinds[src.IntN(len(kinds))], paths[src.IntN(len(paths))], paths[src.IntN(len(paths))], src.Float64()
			what = fmt.Sprintf("at work, %d: %s %s (%s, %.2f)", i, kind, path, other, at)
			if changes[kind](path, other, at) == nil {
				i++
				ask()
			}
		}}
		c, err := configs.Load("own.yaml", []string{"run.name=work"})
		tiny.Check(t, err)
		r, err := train.Create(c, train.Options{Options: run.Options{RunsDir: "runs"}, Watcher: changed})
		tiny.Check(t, err)
		_, err = r.Fit(t.Context())
		r.Close()
		if what += fmt.Sprintf(", and the run has ended: %v", err); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: expected one line", what)
		}
		ask()
	}
}
