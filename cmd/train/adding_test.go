package main

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

// added are the rows of "How to add" in CONTRIBUTING.md, carried out: a new file of
// testdata/adding, and a row of a table.
var added = []struct{ what, file, table, row, longer string }{
	{"layer", "model/softsign.go", "model/kinds.go", "temperedSigmoid, groupNorm", "temperedSigmoid, softsign, groupNorm"},
	{"update rule", "optimizer/lion.go", "optimizer/rule.go", "adamW, adamBC}", "adamW, adamBC, lion}"},
	{"sampler", "release/truncated.go", "release/kinds.go", "		{Name: Full{}.Name()",
		"		{Name: \"truncated_poisson\", Doc: \"as poisson, of at most max_batch_size examples\", New: func() Sampling { return &TruncatedPoisson{Most: 1000} }},\n		{Name: Full{}.Name()"},
	{"sampler", "release/fixed.go", "release/kinds.go", "		{Name: Full{}.Name()",
		"		{Name: FixedSize{}.Name(), Doc: \"batches of one size\", New: func() Sampling { return FixedSize{} }},\n		{Name: Full{}.Name()"},
	{"mechanism", "release/rounded.go", "release/kinds.go", "		{Name: GaussianNoise{}.Name()",
		"		{Name: \"rounded\", Doc: \"Gaussian noise of rounded multiplier\", New: func() Noise { return &RoundedNoise{Parts: 8} }},\n		{Name: GaussianNoise{}.Name()"},
	{"data set", "data/waves.go", "data/dataset.go", "&cifar100, &drawnSentences}", "&cifar100, &drawnSentences, &waves}"},
	{"event", "accountant/event_geometric.go", "accountant/event_json.go", "	kindNamed[Laplace]", "	kindNamed[Geometric](\"geometric\"),\n	kindNamed[Laplace]"},
	{"command", "cmd/train/hello.go", "cmd/train/commands.go", "versionCommand(a)}", "versionCommand(a), helloCommand(a)}"},
	{"statistic", "internal/stats/mode.go", "internal/stats/plan.go", "	configs.StatCount: ", "	\"mode\": (*asked).mode,\n	configs.StatCount: "},
	{"statistic", "", "configs/statistics.go", "	{StatCount, ", "	{\"mode\", []string{\"column\", \"bounds\", \"bins\"}, noiseMechanisms, true},\n	{StatCount, "},
}

const addedRun = `
data: {name: waves}
model: {layers: [{linear: {out_features: 6}}, softsign, {linear: {out_features: classes}}]}
privacy: {epsilon: 8, delta: 1e-4, accountant: rdp, mechanism: rounded, noise_parts: 4}
optimizer: {name: lion, learning_rate: 0.01}
training: {sampling: truncated_poisson, batch_size: 50, max_batch_size: 60, steps: 6}
`

// What CONTRIBUTING.md says of adding is true: the program is built with a new file and a new row
// for each, and all of them work, with the keys that they say they have.
func TestAddedByAFileAndARow(t *testing.T) {
	slow.Evidence(t)
	root, err := filepath.Abs("../..")
	tiny.Check(t, err)
	dir, replace := t.TempDir(), map[string]string{}
	for _, a := range added {
		table := filepath.Join(root, a.table)
		content, err := os.ReadFile(cmp.Or(replace[table], table))
		if err != nil || strings.Count(string(content), a.row) != 1 {
			t.Fatalf("%s: %s does not have %q once (%v)", a.what, a.table, a.row, err)
		}
		replace[table] = filepath.Join(dir, strings.ReplaceAll(a.table, "/", "_"))
		tiny.Write(t, replace[table], strings.Replace(string(content), a.row, a.longer, 1))
		if a.file != "" {
			replace[filepath.Join(root, a.file)] = filepath.Join(root, "cmd/train/testdata/adding", filepath.Base(a.file))
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	tiny.Check(t, err)
	write := func(name, content string) { tiny.Write(t, filepath.Join(dir, name), content) }
	write("overlay.json", string(overlay))
	write("new.yaml", addedRun)
	write("stats.yaml", "data: {name: waves}\nprivacy: {epsilon: 5, delta: 1e-4}\nstatistics: [{statistic: mode, column: label}]\n")
	program := filepath.Join(dir, "train")
	run := func(name string, arguments ...string) string {
		t.Helper()
		c := exec.Command(name, arguments...)
		c.Dir = dir
		if name == "go" {
			c.Dir = root
		}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(arguments, " "), err, out)
		}
		return string(out)
	}
	run("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "./cmd/train")
	run(program, "run", "new.yaml", "--set", "run.name=new")
	run(program, "run", "new.yaml", "--set", "run.name=fixed", "--set", "training.sampling=fixed_size", "--set", "privacy.mechanism=gaussian", "--set", "privacy.accountant=pld")
	for file, wants := range map[string][]string{
		"../fixed/privacy.md": {"any other one in the other set", "every batch is 50 of 1000 examples", "replace-one"},
		"config.yaml":         {"sampling: truncated_poisson", "max_batch_size: 60", "batch_size: 50", "mechanism: rounded", "noise_parts: 4", "name: lion", "- softsign", "name: waves"},
		"privacy.md":          {"truncated Poisson", "of whom 60 at most stay", "rounded up to"},
		"ledger.jsonl":        {"truncated_poisson_sampled"},
	} {
		says(t, tiny.Read(t, filepath.Join(dir, "runs", "new", file)), wants...)
	}
	var result struct {
		NoiseMultiplier float64 `json:"noise_multiplier"`
		Epsilon         float64
	}
	content, err := os.ReadFile(filepath.Join(dir, "runs", "new", "privacy.json"))
	if err != nil || json.Unmarshal(content, &result) != nil || !(result.Epsilon > 0 && result.Epsilon <= 8) || 4*result.NoiseMultiplier != float64(int(4*result.NoiseMultiplier)) || result.NoiseMultiplier == 0 {
		t.Errorf("found %+v (%v), expected ε of at most 8 and a noise multiplier in quarters", result, err)
	}
	says(t, run(program, "stats", "stats.yaml"), "mode")
	same(t, "the command", run(program, "hello"), "hello\n")
	run(program, "eval", "runs/new")
	// A total of runs whose records may be emptied and of runs whose records may be replaced.
	says(t, run(program, "ledger", "show"), "waves")
	run(program, "epsilon", "runs/fixed")
}
