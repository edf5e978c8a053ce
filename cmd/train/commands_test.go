package main

import (
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/internal/tiny"
)

// The life of a run on the command line: describe, run, epsilon, eval, resume.
func TestRunOfOwnPictures(t *testing.T) {
	config := own(t, 40)
	described := succeed(t, "describe", config)
	says(t, described, "120 training examples of 8x8x1, 2 classes", "linear", "total", "130", "calibrated to the budget", "40 steps planned", "spends    ε = 5.000 of 5", "memory")
	described = succeed(t, "describe", config, "--set", "training.augmentation.views=2", "--set", "training.augmentation.shift=1", "--set", "training.sampling=cyclic", "--set", "privacy.correlation=auto", "--set", "privacy.epsilon=0.1")
	says(t, described, "\ntraining  2 views of each example, whose gradients are averaged before they are clipped, moved by 0 to 1 pixels up or down and left or right\n", "\nnoise     independent from step to step: ", "\nsampling  cyclic, ")

	out := succeed(t, "run", config)
	says(t, filepath.ToSlash(out), "run       runs/own-1\n", "120 training examples\n", "model     130 parameters\n", ", clip norm 0.5\nsampling  Poisson, probability 0.25\n", "budget    ε ≤ 5 at δ = 0.001, 40 steps planned\n",
		"done after 40 steps", "test accuracy   ", "privacy         ε = 5.000 at δ = 0.001 (rdp)\n", "in runs/own-1: model.safetensors, privacy.md, metrics.jsonl\n")
	matches(t, succeed(t, "epsilon", "runs/own-1"), `^ε = 5\.0000 at δ = 0\.001, 40 releases, budget ε ≤ 5, left 0\.000\n`)
	matches(t, succeed(t, "eval", "runs/own-1"), `^test accuracy   \d+\.\d\d % of 20 pictures\ntest loss       \d+\.\d{4}\nprivacy         ε = 5\.000 at δ = 0\.001 \(rdp\)\nbudget          ε ≤ 5, left 0\.000\n\nmeasure +value  95 % interval\nbalanced accuracy +(?s:.*)\nauroc .*\n\nclass `)
	says(t, succeed(t, "resume", "runs/own-1"), "resumed   at step 40; the ledger holds 40 releases")
}

// With the exact accountant RDP stands beside it, and the noise or the steps are those of the
// tighter account.
func TestRunByExact(t *testing.T) {
	config := own(t, 40)
	by := func(args ...string) []string {
		return append(args, "--set", "privacy.accountant=exact", "--set", "privacy.noise_multiplier=1.2", "--set", "training.evaluate_every=10")
	}
	described := succeed(t, by("describe", config)...)
	matches(t, described, `budget    allows \d+ of them\n`, `spends    ε = 4\.\d{3} of 5 at δ = 0\.001 \(exact, zero-out\); by rdp it is ε = 5\.\d{3}\n\nsteps      ε  ε \(rdp\)\n`)
	out := succeed(t, by("run", config)...)
	matches(t, out,
		`budget    ε ≤ 5 at δ = 0\.001 by exact, 40 steps planned, of which \d+ fit\n`, `step 10/40  ε \d\.\d\d \(rdp \d\.\d\d\) of 5  test `,
		`budget_exhausted after \d+ steps in .*: no step more fits plan and budget\n`, `privacy         ε = 4\.\d{3} at δ = 0\.001 \(exact\); by rdp it is ε = 5\.\d{3}\n`,
	)
	matches(t, succeed(t, "eval", "runs/own-1"), `ε = 4\.\d{3} at δ = 0\.001 \(exact\); by rdp it is ε = 5\.\d{3}\n`)
	fits(t, out)
	r := lastLine(t, succeed(t, by("run", config, "--json")...))
	if r["accountant"] != "exact" || r["epsilon"].(float64) > 5 || r["epsilon_rdp"].(float64) <= 5 {
		t.Errorf("found %v", r)
	}
	has(t, lastLine(t, succeed(t, "epsilon", "runs/own-2", "--json")), "epsilon", r["epsilon"], "accountant", "exact")
}

// With --json, the last line of standard output is one object with these keys, and progress goes to
// standard error.
func TestJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	folder := pictures(t)
	config := ownConfig(t, folder, 15)
	sweep := filepath.Join(t.TempDir(), "sweep.yaml")
	tiny.Write(t, sweep, "name: grid\nbase: "+config+"\ngrid: {privacy.clip_norm: [0.1, 1]}\n")
	asked := []string{"--sampling-probability", "0.01", "--steps", "100", "--delta", "1e-5"}
	tests := []struct {
		args []string
		keys string
	}{
		{[]string{"run", config}, "status steps epsilon delta accountant noise_multiplier test_accuracy seconds examples_per_second run"},
		{[]string{"resume", "runs/own-1"}, "status steps epsilon delta accountant noise_multiplier test_accuracy seconds examples_per_second run"},
		{[]string{"eval", "runs/own-1"}, "run test_accuracy test_loss test_examples epsilon delta accountant"},
		{[]string{"epsilon", "runs/own-1"}, "epsilon delta accountant relation method lower upper seconds run releases target_epsilon"},
		{append([]string{"epsilon", "--noise-multiplier", "1"}, asked...), "epsilon delta accountant relation method lower upper seconds sampling_probability noise_multiplier steps"},
		{[]string{"delta", "--noise-multiplier", "1", "--sampling-probability", "0.01", "--steps", "100", "--epsilon", "1"}, "epsilon delta accountant relation method lower upper seconds sampling_probability noise_multiplier steps"},
		{append([]string{"calibrate", "--epsilon", "2"}, asked...), "epsilon delta accountant relation method lower upper seconds sampling_probability noise_multiplier steps target_epsilon"},
		{[]string{"steps", "--noise-multiplier", "1", "--sampling-probability", "0.01", "--delta", "1e-5", "--epsilon", "2"}, "epsilon delta accountant relation method lower upper seconds sampling_probability noise_multiplier steps target_epsilon"},
		{append([]string{"compare", "--noise-multiplier", "1"}, asked...), "delta relation sampling_probability noise_multiplier releases accountants"},
		{[]string{"describe", config}, "data input layers parameters multiply_adds privacy curve memory engines"},
		{[]string{"bench", "--model", "mlp128", "--batch", "8", "--seconds", "0.05"}, "model mode batch threads kernel examples_per_second step_ms gflops fma_limit_gflops peak_rss_mib parts"},
		{[]string{"sweep", sweep}, "sweep status trials finished rows composed"},
		{[]string{"epsilon", "runs/own-1", "runs/grid/clip_norm=1"}, "datasets"},
		{[]string{"runs"}, "runs"},
		{[]string{"extend", "runs/own-1", "--epsilon", "20"}, "run step ledger_entries from to epsilon delta spent_epsilon"},
		{[]string{"ledger", "show"}, "ledger head datasets"},
		{[]string{"ledger", "verify"}, "ledger head runs sweeps releases problems"},
		{[]string{"presets"}, "presets sweeps"},
		{[]string{"presets", "digits"}, "name description source"},
		{[]string{"schema"}, "$schema"},
		{[]string{"version"}, "version go system kernels"},
		{[]string{"data", "list"}, "data"},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.args[:1], " "), func(t *testing.T) {
			out := succeed(t, append(test.args, "--json")...)
			if strings.Count(out, "\n") != 1 {
				t.Errorf("found more than one line:\n%s", out)
			}
			object := lastLine(t, out)
			for _, key := range strings.Fields(test.keys) {
				if _, ok := object[key]; !ok {
					t.Errorf("found no key %q in %s", key, out)
				}
			}
		})
	}
}

func TestPresetsAndSchema(t *testing.T) {
	out := succeed(t, "presets")
	for _, p := range append(configs.Presets(), configs.Sweeps()...) {
		says(t, out, p.Name, p.Description)
		if file := succeed(t, "presets", p.Name); !strings.HasSuffix(string(p.Source), "\n"+file) || strings.Contains(file, "schema.json") || !strings.Contains(file, p.Description) {
			t.Errorf("presets %s does not print its file, without the schema that is not there:\n%s", p.Name, file)
		}
	}
	same(t, "schema", strings.TrimSpace(succeed(t, "schema")), strings.TrimSpace(string(configs.Schema())))
}

func TestVersion(t *testing.T) {
	matches(t, succeed(t, "--version"), "^train version ")
	matches(t, succeed(t, "version"), "^train .*"+regexp.QuoteMeta(runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH+" kernels="))
}

func TestDataList(t *testing.T) {
	want := `name           training    test  examples         classes
digits           20,000   2,000  28x28x1               10
mnist            60,000  10,000  28x28x1               10
fashion-mnist    60,000  10,000  28x28x1               10
cifar-10         50,000  10,000  32x32x3               10
cifar-100        50,000  10,000  32x32x3              100
sentences        20,000   2,000  12 tokens of 31        2
`
	same(t, "data list", succeed(t, "data", "list"), want)
}

// The table on the screen, and what it means.
func TestSweepTable(t *testing.T) {
	config := own(t, 10)
	tiny.Write(t, "grid.yaml", "name: grid\nbase: "+config+"\ngrid:\n  privacy.clip_norm: [0.1, 1]\n  training.steps: [10]\nseeds: [1, 2]\n")
	out := filepath.ToSlash(succeed(t, "sweep", "grid.yaml"))
	matches(t, out, `(?m)^clip_norm  test % +± +ε of one  seeds
( +[\d.]+ +[\d.]+ +[\d.]+ +(best|≈ best|) +5\.000  2/2\n){2}
Best is by the mean over the seeds`)
	says(t, out, "Each row's ε covers that trial alone", "sweep     runs/grid\ntrials    4, of which 0 have a result\n", "trial 3/4  clip_norm=1,steps=10,seed=1  10 steps\n", "(rdp over 40 releases)", "in runs/grid: results.csv")
	fits(t, out)
	again := succeed(t, "sweep", "grid.yaml")
	if !strings.Contains(again, "of which 4 have a result") || strings.Contains(again, "trial 1/4") {
		t.Errorf("a finished sweep was repeated:\n%s", again)
	}
}

// With --json a command that fails prints one object, too: its error and its exit code.
func TestFailuresAreJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		args string
		code float64
		says string
	}{
		{"run nosuch --json", 2, "nosuch"},
		{"run digits --set privacy.epsilon=-1 --set x=1 --json", 2, "\n"}, // a line for each problem
		{"run --nosuch --json", 2, "unknown flag"},
		{"epsilon --json", 2, "expected"},
		{"resume runs/nosuch --json", 4, "runs/nosuch"},
		{"run mnist-cnn --data-dir here --json", 3, "train data fetch mnist --data-dir here"},
	} {
		r := command(strings.Fields(tt.args)...)
		if r.out == "" || strings.Count(r.out, "\n") != 1 {
			t.Errorf("train %s: standard output is %q, expected one line", tt.args, r.out)
			continue
		}
		o := lastLine(t, r.out)
		text, _ := o["error"].(string)
		if float64(r.code) != tt.code || o["exit_code"] != tt.code || !strings.Contains(text, tt.says) || strings.Contains(text, "train: ") {
			t.Errorf("train %s: exit code %d and %v, expected %v and %q", tt.args, r.code, o, tt.code, tt.says)
		}
	}
	if r := commandOn(t, "nonsense", "epsilon", "--batch", "--json"); r.code != 1 || strings.Count(r.out, "\n") != 1 || !strings.Contains(r.out, "line 1") {
		t.Errorf("a line without an answer is answered by %q, exit code %d", r.out, r.code)
	}
	same(t, "standard output without --json", command("run", "nosuch").out, "")
}

// The sheet is a PNG of as many pictures as were asked for, the same for the same seed.
func TestFeaturesShow(t *testing.T) {
	sheet := func(name string, more ...string) string {
		path := filepath.Join(t.TempDir(), name)
		out := succeed(t, append([]string{"features", "show", "--out", path, "--pictures", "9"}, more...)...)
		says(t, out, "nobody's pictures")
		f, err := os.Open(path)
		tiny.Check(t, err)
		defer f.Close()
		if shown, err := png.Decode(f); err != nil || shown.Bounds().Dx() != 3*32+2*2 {
			t.Errorf("found a picture of %v (%v), expected 3 by 3 of 32 pixels", shown.Bounds(), err)
		}
		return tiny.Read(t, path)
	}
	first := sheet("a.png")
	if sheet("b.png") != first || sheet("c.png", "--set", "features.seed=9") == first {
		t.Error("a sheet does not follow from its seed")
	}
	refused(t, shell.ExitUsage, "has no features, expected features.name patches or scattering", "features", "show", "digits")
	refused(t, shell.ExitUsage, "--pictures is 0, expected a number from 1 to 1024", "features", "show", "--pictures", "0")
	refused(t, shell.ExitUsage, `found no preset and no file "cifar-bst"`, "features", "show", "cifar-bst")
}
