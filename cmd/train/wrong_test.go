package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/tiny"
)

// wrongInput is a command line, its exit code, and what its one line says.
type wrongInput struct {
	name string
	args []string
	code int
	want string
}

// Every kind of wrong input is answered in one line that says what was found and what was expected,
// with its exit code, and leaves nothing behind.
func TestWrongInputs(t *testing.T) {
	folder := pictures(t)
	config := ownConfig(t, folder, 10)
	damaged := t.TempDir()
	drawPictures(t, damaged)
	tiny.Write(t, filepath.Join(damaged, "train", "up", "003.png"), "no picture")
	file := filepath.Join(t.TempDir(), "file")
	tiny.Write(t, file, "")
	bad := func(name, content string) string {
		path := filepath.Join(t.TempDir(), name)
		tiny.Write(t, path, content)
		return path
	}
	csv := func(content string) string {
		dir := t.TempDir()
		tiny.Write(t, filepath.Join(dir, "train.csv"), content)
		tiny.Write(t, filepath.Join(dir, "test.csv"), content)
		return dir
	}
	question := func(args ...string) []string {
		return append([]string{"epsilon", "--noise-multiplier", "1"}, args...)
	}
	tests := []wrongInput{
		{"unknown command", []string{"trian"}, shell.ExitUsage, `found "trian", expected one of the commands that`},
		{"flag of a command", []string{"--data-folder", "x"}, shell.ExitUsage, "unknown flag: --data-folder (it belongs to a command, as in `train "},
		{"dry run", []string{"run", "--dry-run"}, shell.ExitUsage, "unknown flag: --dry-run (`train describe` says what a run would do)"},
		{"no number", []string{"sweep", "clip-noise", "--jobs", "x"}, shell.ExitUsage, "found --jobs x, expected a whole number"},
		{"no decimal number", []string{"epsilon", "--delta", "small"}, shell.ExitUsage, "found --delta small, expected a number"},
		{"runs in a folder without a name", []string{"run", "--runs-dir", ""}, shell.ExitUsage, "found --runs-dir '', expected the name of a folder"},
		{"data in a folder without a name", []string{"eval", "--data-folder=", "runs/a"}, shell.ExitUsage, "found --data-folder '', expected the name of a folder"},
		{"unknown progress", []string{"run", "--progress", "dots"}, shell.ExitUsage, "found --progress dots, expected one of bar, plain, none"},
		{"a key set twice", []string{"run", "--set", "privacy.epsilon=1", "--set", "privacy.epsilon=9"}, shell.ExitUsage, "found --set privacy.epsilon=9, expected privacy.epsilon once: it was given before"},
		{"drawn pictures as a PDF", []string{"features", "show", "--out", "drawn.pdf"}, shell.ExitUsage, "found --out drawn.pdf, expected a file that ends in .png"},
		{"initial weights that are missing", []string{"describe", bad("init.yaml", "data: {name: digits}\nmodel: {name: mlp128, init: none.safetensors, init_trained_on: public}\nprivacy: {epsilon: 1, delta: 1.0e-5}\n")}, shell.ExitUsage, "init.yaml:2:29: model.init is none.safetensors, expected a file of weights: "},
		{"too few outputs", []string{"run", bad("last.yaml", "data: {folder: "+folder+", classes: [up, down], size: 8, channels: 1}\nmodel:\n  layers:\n    - flatten\n    - linear: {out_features: 9}\nprivacy: {epsilon: 1, delta: 1.0e-3}\ntraining: {batch_size: 10}\n")}, shell.ExitUsage, "last.yaml:5:7: model.layers[1]: layer 1: the last layer gives shape [9] per example, expected 2 values"},
		{"delta of one example", []string{"describe", bad("delta.yaml", "data: {name: digits}\nprivacy:\n  epsilon: 1\n  delta: 0.01\n")}, shell.ExitUsage, "delta.yaml:4:10: privacy.delta is 0.01, expected less than 1/n = 5e-05 for n = 20000 training examples"},
		{"batch above the data", []string{"describe", "--set", "training.batch_size=20001"}, shell.ExitUsage, "--set training.batch_size is 20001, expected at most the 20000 training examples"},
		{"table with semicolons", []string{"run", "own-table", "--set", "data.table=" + csv("a;sick\n1;no\n"), "--set", "data.columns=[a]", "--set", "data.mean=[0]", "--set", "data.std=[1]"}, shell.ExitData, "train.csv:1:1: found names separated by semicolons, expected commas"},
		{"table in UTF-16", []string{"run", "own-table", "--set", "data.table=" + csv("\xff\xfea\x00,\x00"), "--set", "data.columns=[a]", "--set", "data.mean=[0]", "--set", "data.std=[1]"}, shell.ExitData, "train.csv:1:1: found text in UTF-16, expected UTF-8"},
		{"misspelt command below data", []string{"data", "fech"}, shell.ExitUsage, "(did you mean fetch?)"},
		{"beginning of a flag", []string{"run", "--data", "x"}, shell.ExitUsage, "unknown flag: --data (did you mean --data-dir?)"},
		{"misspelt preset to print", []string{"presets", "own-tabel"}, shell.ExitUsage, "(did you mean own-table?)"},
		{"empty run", []string{"epsilon", ""}, shell.ExitUsage, "found an empty argument, expected folders of runs"},
		{"unknown flag", []string{"run", "--epochs", "3"}, shell.ExitUsage, "unknown flag: --epochs"},
		{"two configurations", []string{"run", "a", "b"}, shell.ExitUsage, "found 2 arguments, expected at most one: a configuration file or the name of a preset"},
		{"no run", []string{"resume"}, shell.ExitUsage, "found 0 arguments, expected one: the folder of a run"},
		{"unknown preset", []string{"run", "digit"}, shell.ExitUsage, `found no preset and no file "digit", expected`},
		{"missing file", []string{"run", "./nothing.yaml"}, shell.ExitUsage, "nothing.yaml"},
		{"unknown key", []string{"run", bad("bad.yaml", "data: {name: digits}\nprivacy: {epsilon: 1, clip: 3}\n")}, shell.ExitUsage, "bad.yaml:2:"},
		{"not YAML", []string{"run", bad("bad.yaml", "data: [")}, shell.ExitUsage, "bad.yaml:"},
		{"wrong override", []string{"run", "--set", "privacy.epsilon=-1"}, shell.ExitUsage, "--set privacy.epsilon: found -1, expected"},
		{"accountant without a bound", []string{"run", config, "--set", "privacy.accountant=gdp"}, shell.ExitUsage, "privacy.accountant: found gdp, expected one of exact, pld, rdp (gdp is an approximation and no bound)"},
		{"accountant without sampling", []string{"run", config, "--set", "privacy.accountant=zcdp"}, shell.ExitUsage, "privacy.accountant: found zcdp, expected one of exact, pld, rdp (zcdp knows nothing"},
		{"unknown override", []string{"run", "--set", "privacy.sigma=1"}, shell.ExitUsage, "--set privacy.sigma: "},
		{"batch above the data", []string{"run", config, "--set", "training.batch_size=121"}, shell.ExitUsage, "training.batch_size is 121, expected at most the 120 training examples"},
		{"delta of one example", []string{"run", config, "--set", "privacy.delta=0.5"}, shell.ExitUsage, "privacy.delta is 0.5, expected less than 1/n"},
		{"no step within the budget", []string{"run", config, "--set", "privacy.noise_multiplier=0.1"}, shell.ExitUsage, "one step with privacy.noise_multiplier 0.1 would spend ε = "},
		{"no step within the budget, described", []string{"describe", config, "--set", "privacy.noise_multiplier=0.1"}, shell.ExitUsage, "expected at most privacy.epsilon 5 at privacy.delta 0.001; give a larger epsilon, more noise"},
		{"trial without a step", []string{"sweep", bad("sweep.yaml", "name: x\nbase: "+config+"\ngrid: {privacy.noise_multiplier: [1, 0.1]}\n")}, shell.ExitUsage, "trial noise_multiplier=0.1: "},
		{"network that does not fit", []string{"run", config, "--set", "model.layers=[{linear: {out_features: classes}}]"}, shell.ExitUsage, "expected a vector or a sequence; put flatten"},
		{"no data", []string{"run", "mnist-cnn", "--data-dir", t.TempDir()}, shell.ExitData, "mnist"},
		{"no pictures", []string{"run", config, "--set", "data.folder=" + t.TempDir()}, shell.ExitData, "there is no folder"},
		{"damaged picture", []string{"run", config, "--set", "data.folder=" + damaged}, shell.ExitData, "003.png"},
		{"undeclared class", []string{"run", config, "--set", "data.classes=[up, left]"}, shell.ExitData, "down"},
		{"runs below a file", []string{"run", config, "--runs-dir", filepath.Join(file, "runs")}, shell.ExitDamaged, "lies below a file, expected a folder of runs"},
		{"resume of nothing", []string{"resume", t.TempDir()}, shell.ExitDamaged, "holds no config.yaml, expected the folder of a run"},
		{"eval of nothing", []string{"eval", filepath.Join(folder, "none")}, shell.ExitDamaged, "holds no config.yaml"},
		{"epsilon of nothing", []string{"epsilon", folder}, shell.ExitDamaged, "holds no config.yaml"},
		{"epsilon of a run with noise", []string{"epsilon", folder, "--steps", "3"}, shell.ExitUsage, "found --steps beside the run"},
		{"epsilon of a run with other noise", []string{"epsilon", folder, "--noise-multiplier", "3"}, shell.ExitUsage, "found --noise-multiplier beside the run"},
		{"epsilon of a run with other batches", []string{"epsilon", folder, "--sampling", "cyclic"}, shell.ExitUsage, "found --sampling beside the run"},
		{"blocks of one batch", question("--sampling-probability", "0.1", "--bands", "2"), shell.ExitUsage, "found --bands without --sampling cyclic"},
		{"blocks that are too small", question("--sampling-probability", "0.1", "--bands", "11", "--sampling", "cyclic"), shell.ExitUsage, "found 11 blocks with a sampling probability of 0.1, expected at most 10"},
		{"bins of one batch", question("--sampling-probability", "0.1", "--bins", "2"), shell.ExitUsage, "found --bins without --sampling balls-in-bins"},
		{"bins twice", question("--sampling", "balls-in-bins", "--bins", "2", "--examples", "9", "--batch-size", "3"), shell.ExitUsage, "found --bins and --batch-size"},
		{"probability of bins", question("--sampling", "balls-in-bins", "--bins", "2", "--sampling-probability", "0.1"), shell.ExitUsage, "found --sampling-probability with --sampling balls-in-bins"},
		{"bins to solve for", []string{"calibrate", "--solve", "sampling-probability", "--sampling", "balls-in-bins", "--bins", "2"}, shell.ExitUsage, "it is the sampling probability that is solved for"},
		{"epsilon of a run, wrong delta", []string{"epsilon", folder, "--delta", "2"}, shell.ExitUsage, "found --delta 2, expected a number above 0 and below 1"},
		{"no question", []string{"epsilon"}, shell.ExitUsage, "found neither --sampling-probability nor --examples with --batch-size"},
		{"no steps", question("--sampling-probability", "0.1", "--delta", "1e-5"), shell.ExitUsage, "found neither --steps nor --epochs, expected one of the two"},
		{"steps twice", question("--sampling-probability", "0.1", "--steps", "1", "--epochs", "1"), shell.ExitUsage, "found --steps and --epochs, expected one of the two"},
		{"probability twice", question("--sampling-probability", "0.1", "--batch-size", "1"), shell.ExitUsage, "found --sampling-probability and --batch-size"},
		{"probability above 1", question("--sampling-probability", "1.5", "--steps", "1"), shell.ExitUsage, "found --sampling-probability 1.5, expected a number above 0 and at most 1"},
		{"probability NaN", question("--sampling-probability", "nan", "--steps", "1"), shell.ExitUsage, "found --sampling-probability NaN"},
		{"no examples", question("--examples", "0", "--batch-size", "1", "--steps", "1"), shell.ExitUsage, "found --examples 0, expected at least 1"},
		{"batch above examples", question("--examples", "10", "--batch-size", "11", "--steps", "1"), shell.ExitUsage, "found --batch-size 11, expected a number above 0 and at most the 10 examples"},
		{"no step", question("--sampling-probability", "0.1", "--steps", "0"), shell.ExitUsage, "found --steps 0, expected 1 to"},
		{"negative epochs", question("--sampling-probability", "0.1", "--epochs", "-1"), shell.ExitUsage, "found --epochs -1"},
		{"endless epochs", question("--sampling-probability", "0.1", "--epochs", "inf"), shell.ExitUsage, "found --epochs +Inf"},
		{"no delta", question("--sampling-probability", "0.1", "--steps", "1"), shell.ExitUsage, "found no --delta, expected"},
		{"delta of 1", question("--sampling-probability", "0.1", "--steps", "1", "--delta", "1"), shell.ExitUsage, "found --delta 1, expected a number above 0 and below 1"},
		{"delta above 1/n", question("--examples", "100", "--batch-size", "10", "--steps", "1", "--delta", "0.01"), shell.ExitUsage, "found --delta 0.01, expected less than 1/examples = 0.01"},
		{"unknown accountant", question("--sampling-probability", "0.1", "--steps", "1", "--delta", "1e-5", "--accountant", "moments"), shell.ExitUsage, "moments"},
		{"no noise", []string{"epsilon", "--sampling-probability", "0.1", "--steps", "1", "--delta", "1e-5"}, shell.ExitUsage, "found --noise-multiplier 0, expected a finite number above 0"},
		{"infinite epsilon", []string{"delta", "--sampling-probability", "0.1", "--steps", "1", "--noise-multiplier", "1", "--epsilon", "inf"}, shell.ExitUsage, "found --epsilon +Inf"},
		{"infinite noise", []string{"epsilon", "--sampling-probability", "0.1", "--steps", "1", "--delta", "1e-5", "--noise-multiplier", "inf"}, shell.ExitUsage, "found --noise-multiplier +Inf"},
		{"no epsilon", []string{"calibrate", "--sampling-probability", "0.1", "--steps", "1", "--delta", "1e-5"}, shell.ExitUsage, "found no --epsilon, expected a finite number above 0"},
		{"epsilon out of reach", []string{"calibrate", "--accountant", "rdp", "--sampling-probability", "1", "--steps", "1000", "--delta", "1e-5", "--epsilon", "1e-12"}, shell.ExitUsage, "target out of reach"},
		{"epsilon of 0", []string{"steps", "--sampling-probability", "0.1", "--noise-multiplier", "1", "--delta", "1e-5", "--epsilon", "0"}, shell.ExitUsage, "found --epsilon 0, expected a finite number above 0"},
		{"negative epsilon", []string{"delta", "--sampling-probability", "0.1", "--noise-multiplier", "1", "--steps", "1", "--epsilon", "-1"}, shell.ExitUsage, "found --epsilon -1, expected a finite number of at least 0"},
		{"delta without epsilon", []string{"delta", "--sampling-probability", "0.1", "--noise-multiplier", "1", "--steps", "1"}, shell.ExitUsage, "found no --epsilon, expected a finite number of at least 0"},
		{"delta given for delta", []string{"delta", "--delta", "1e-5"}, shell.ExitUsage, "unknown flag: --delta"},
		{"steps given for steps", []string{"steps", "--steps", "5"}, shell.ExitUsage, "unknown flag: --steps"},
		{"noise given for noise", []string{"calibrate", "--sampling-probability", "0.1", "--steps", "1", "--noise-multiplier", "1"}, shell.ExitUsage, "found --noise-multiplier, which is what is solved for"},
		{"probability given for probability", []string{"calibrate", "--solve", "sampling-probability", "--sampling-probability", "0.1"}, shell.ExitUsage, "found --sampling-probability, which is what is solved for"},
		{"epochs for a probability", []string{"calibrate", "--solve", "sampling-probability", "--epochs", "3", "--noise-multiplier", "1"}, shell.ExitUsage, "found --epochs, whose steps depend on the sampling probability; expected --steps"},
		{"nothing to solve", []string{"calibrate", "--solve", "steps"}, shell.ExitUsage, "found --solve steps, expected noise-multiplier or sampling-probability"},
		{"unknown relation", question("--sampling-probability", "0.1", "--steps", "1", "--delta", "1e-5", "--relation", "swap"), shell.ExitUsage, "found --relation swap, expected add-or-remove-one, replace-one or zero-out"},
		{"empty group", question("--sampling-probability", "0.1", "--steps", "1", "--delta", "1e-5", "--group-size", "0"), shell.ExitUsage, "found --group-size 0, expected at least 1"},
		{"too large to run", []string{"run", config, "--set", "performance.max_memory=1MiB"}, shell.ExitUsage, "too little memory: the configuration needs about "},
		{"too large to sweep", []string{"sweep", bad("sweep.yaml", "name: large\nbase: digits\nset: {performance.max_memory: 1MiB}\ngrid: {privacy.clip_norm: [0.1, 1]}\n")}, shell.ExitUsage, "too little memory: the configuration needs about "},
		{"too large to measure", []string{"bench", "--config", bad("large.yaml", "data: {name: digits}\nmodel: {name: mlp128}\nprivacy: {epsilon: 1, delta: 1.0e-5}\nperformance: {max_memory: 1MiB}\n")}, shell.ExitUsage, "too little memory: the configuration needs about "},
		{"groups that nobody can analyse", question("--sampling-probability", "0.1", "--steps", "1", "--delta", "1e-5", "--group-size", "2", "--relation", "replace-one"), shell.ExitUsage, "accountant: "},
		{"flags beside the batch", []string{"epsilon", "--batch", "--delta", "1e-5"}, shell.ExitUsage, "found --delta beside --batch, expected nothing: the lines say everything"},
		{"run beside the batch", []string{"steps", "--batch", "runs/digits-1"}, shell.ExitUsage, "found runs/digits-1 beside --batch"},
		{"plot of another kind", []string{"compare", "--plot", "plot.pdf"}, shell.ExitUsage, "found --plot plot.pdf, expected a file that ends in .svg or .png"},
		{"compare without noise", []string{"compare", "--sampling-probability", "0.1", "--steps", "1", "--delta", "1e-5"}, shell.ExitUsage, "found --noise-multiplier 0, expected"},
		{"compare of nothing", []string{"compare", folder}, shell.ExitDamaged, "holds no config.yaml"},
		{"steps of nothing", []string{"steps", folder, "--epsilon", "3"}, shell.ExitDamaged, "holds no config.yaml"},
		{"describe of -1 examples", []string{"describe", "--examples", "-1"}, shell.ExitUsage, "found --examples -1, expected at least 1"},
		{"describe without pictures", []string{"describe", "own-pictures"}, shell.ExitData, "my-pictures"},
		{"bench of an unknown network", []string{"bench", "--model", "mlp129"}, shell.ExitUsage, `found --model "mlp129", expected one of cifar-cnn, convnet,`},
		{"bench of nothing", []string{"bench", "--config", "./nothing.yaml"}, shell.ExitUsage, "nothing.yaml"},
		{"bench of a wrong configuration", []string{"bench", "--config", bad("bad.yaml", "data: {name: digits}\nprivacy: {epsilon: 1, clip: 3}\n")}, shell.ExitUsage, "bad.yaml:2:"},
		{"bench of two things", []string{"bench", "--model", "mlp128", "--config", "digits"}, shell.ExitUsage, "found --model and --config, expected one of the two"},
		{"bench of an argument", []string{"bench", "mlp128"}, shell.ExitUsage, "`train bench` found 1 argument, expected none"},
		{"bench of an unknown mode", []string{"bench", "--mode", "fast"}, shell.ExitUsage, `found --mode "fast", expected one of private, plain, materialise, ghost`},
		{"bench of no examples", []string{"bench", "--batch", "0"}, shell.ExitUsage, "found --batch 0, expected 1 to 10000000"},
		{"bench without threads", []string{"bench", "--threads", "0"}, shell.ExitUsage, "found --threads 0, expected 1 to 1024"},
		{"bench without time", []string{"bench", "--seconds", "0"}, shell.ExitUsage, "found --seconds 0, expected a number above 0 and at most 3600"},
		{"bench for ever", []string{"bench", "--seconds", "inf"}, shell.ExitUsage, "found --seconds +Inf, expected"},
		{"bench for no number of seconds", []string{"bench", "--seconds", "nan"}, shell.ExitUsage, "found --seconds NaN, expected"},
		{"plain training", []string{"run", config, "--set", "performance.engine=plain"}, shell.ExitUsage, "found plain, expected one of auto, ghost, materialise"},
		{"unknown preset to print", []string{"presets", "nothing"}, shell.ExitUsage, `found no preset "nothing", expected one that`},
		{"unknown data set", []string{"data", "fetch", "imagenet", "--data-dir", t.TempDir()}, shell.ExitUsage, "imagenet"},
		{"ready network for other data", []string{"run", config, "--set", "model.name=text-lstm"}, shell.ExitUsage, "--set model.name is text-lstm, which does not fit the data: "},
		{"bounds given twice", []string{"stats", config, "--bounds", "a=0:1", "--bounds", "a=0:2"}, shell.ExitUsage, "found --bounds a=0:2, expected those of a once: they were given before"},
		{"drawn data set", []string{"data", "fetch", "digits"}, shell.ExitUsage, `found the data set "digits", expected one of mnist, `},
		{"ledger of nothing", []string{"ledger", "show", "--runs-dir", t.TempDir()}, shell.ExitDamaged, "holds no datasets.jsonl and no run, expected a folder of runs"},
		{"check of nothing", []string{"ledger", "verify", "--runs-dir", filepath.Join(folder, "none")}, shell.ExitDamaged, "holds no datasets.jsonl and no run"},
		{"head that is none", []string{"ledger", "verify", "--head", "abcd"}, shell.ExitUsage, `found --head "abcd", expected the 32 hexadecimal digits that`},
		{"ledger of an argument", []string{"ledger", "show", "runs"}, shell.ExitUsage, "found 1 argument, expected none"},
		{"unknown ledger command", []string{"ledger", "list"}, shell.ExitUsage, `found "list", expected one of the commands that`},
		{"unknown data command", []string{"data", "get"}, shell.ExitUsage, `found "get"`},
		{"sweep that is none", []string{"sweep", bad("sweep.yaml", "name: x\nbase: digits\ngrid: {privacy.clip: [1]}\n")}, shell.ExitUsage, "sweep.yaml:3:"},
		{"sweep without its preset", []string{"sweep", bad("sweep.yaml", "name: x\nbase: digit\ngrid: {privacy.clip_norm: [1]}\n")}, shell.ExitUsage, "sweep.yaml:2:7: base: found no preset and no file \"digit\", expected"},
		{"file as a folder of pictures", []string{"run", config, "--set", "data.folder=" + file}, shell.ExitData, file + " is no folder (expected a folder with train and test)"},
		{"file as a table", []string{"run", "own-table", "--set", "data.table=" + file}, shell.ExitData, file},
		{"file as vectors", []string{"run", "own-vectors", "--set", "data.vectors=" + file}, shell.ExitData, file},
		{"file as a folder of data sets", []string{"run", "mnist-cnn", "--data-dir", file}, shell.ExitData, file},
		{"sweep with a wrong trial", []string{"sweep", bad("sweep.yaml", "name: x\nbase: "+config+"\ngrid: {training.batch_size: [10, 500]}\n")}, shell.ExitUsage, "trial batch_size=500: "},
	}
	layer := bad("layer.yaml", "data: {name: digits}\nmodel:\n  layers:\n    - flatten\n    - conv2d: {out_channels: 3, kernel_size: 3}\nprivacy: {epsilon: 3}\ntraining: {steps: 1, batch_size: 10}\n")
	for _, args := range [][]string{{"describe"}, {"bench", "--config"}} { // and run, in testdata/newcomers.md
		tests = append(tests, wrongInput{"layer that does not fit: " + args[0], append(args, layer), shell.ExitUsage, "layer.yaml:5:7: model.layers[1]: layer 1: its input has shape [784]"})
	}
	nothing := filepath.Join(t.TempDir(), "nothing")
	if err := os.Symlink("nowhere", nothing); err == nil { // some systems allow no links
		for _, args := range [][]string{{"run"}, {"describe"}, {"sweep"}, {"bench", "--config"}, {"features", "show"}} {
			tests = append(tests, wrongInput{"configuration behind a link to nothing: " + args[0], append(args, nothing), shell.ExitUsage, "found the link " + nothing + " to nothing"})
		}
		for _, name := range []string{"resume", "eval", "epsilon", "delta", "calibrate", "steps", "compare"} {
			tests = append(tests, wrongInput{"run behind a link to nothing: " + name, []string{name, nothing}, shell.ExitDamaged, nothing + " is a link to nothing, expected the folder of a run"})
		}
		for _, name := range []string{"show", "verify"} {
			tests = append(tests, wrongInput{"runs behind a link to nothing: " + name, []string{"ledger", name, "--runs-dir", nothing}, shell.ExitDamaged, nothing + " is a link to nothing, expected a folder of runs"})
		}
		for _, name := range []string{"run", "describe"} {
			tests = append(tests, wrongInput{"data behind a link to nothing: " + name, []string{name, config, "--set", "data.folder=" + nothing}, shell.ExitData, nothing})
		}
		tests = append(tests,
			wrongInput{"table behind a link to nothing", []string{"run", "own-table", "--set", "data.table=" + nothing}, shell.ExitData, nothing},
			wrongInput{"vectors behind a link to nothing", []string{"run", "own-vectors", "--set", "data.vectors=" + nothing}, shell.ExitData, nothing},
			wrongInput{"data sets behind a link to nothing", []string{"run", "mnist-cnn", "--data-dir", nothing}, shell.ExitData, nothing})
	}
	for _, name := range []string{"resume", "eval", "epsilon", "delta", "calibrate", "steps", "compare"} {
		tests = append(tests, wrongInput{"file as a run: " + name, []string{name, file}, shell.ExitDamaged, file + " is a file, expected the folder of a run"},
			wrongInput{"run below a file: " + name, []string{name, filepath.Join(file, "run")}, shell.ExitDamaged, " lies below a file, expected the folder of a run"})
	}
	for _, name := range []string{"show", "verify"} {
		tests = append(tests, wrongInput{"file as a folder of runs: " + name, []string{"ledger", name, "--runs-dir", file}, shell.ExitDamaged, file + " is a file, expected a folder of runs"})
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			refused(t, test.code, test.want, test.args...)
			left, err := os.ReadDir(".")
			if err != nil || len(left) > 0 {
				t.Errorf("found %v (%v), expected that nothing is left behind", left, err)
			}
		})
	}
}

// A name that is taken is refused, and the run that has it is not touched.
func TestTakenName(t *testing.T) {
	config := own(t, 5)
	succeed(t, "run", config, "--set", "run.name=mine")
	refused(t, shell.ExitUsage, "expected a name that is free", "run", config, "--set", "run.name=mine")
	if entries("runs/mine") != 5 {
		t.Errorf("the run has %d releases, expected 5", entries("runs/mine"))
	}
}

// Runs that must not go on have exit codes of their own.
func TestRefusedResume(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(t *testing.T)
		code  int
	}{
		{"other configuration", func(t *testing.T) { replace(t, "runs/own-1/config.yaml", "clip_norm: 0.5", "clip_norm: 0.25") }, shell.ExitRefused},
		{"ledger rolled back", func(t *testing.T) {
			lines := strings.SplitAfter(tiny.Read(t, "runs/own-1/ledger.jsonl"), "\n")
			tiny.Write(t, "runs/own-1/ledger.jsonl", strings.Join(lines[:2], ""))
		}, shell.ExitRefused},
		{"ledger changed", func(t *testing.T) { replace(t, "runs/own-1/ledger.jsonl", `"step":2`, `"step":3`) }, shell.ExitDamaged},
		{"no checkpoint", func(t *testing.T) { tiny.Check(t, os.RemoveAll("runs/own-1/checkpoints")) }, shell.ExitDamaged},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			succeed(t, "run", own(t, 5))
			test.spoil(t)
			refused(t, test.code, "", "resume", "runs/own-1")
		})
	}
}

func replace(t testing.TB, path, old, new string) {
	t.Helper()
	content := tiny.Read(t, path)
	if !strings.Contains(content, old) {
		t.Fatalf("%s does not hold %s:\n%s", path, old, content)
	}
	tiny.Write(t, path, strings.Replace(content, old, new, 1))
}

// Files that are no pictures are told about by the commands that read the folder.
func TestPassedOverFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	folder := t.TempDir()
	drawPictures(t, folder)
	tiny.Write(t, filepath.Join(folder, "train", "up", "notes.txt"), "")
	tiny.Write(t, "grid.yaml", "name: grid\nbase: "+ownConfig(t, folder, 5)+"\ngrid: {privacy.clip_norm: [0.1, 1]}\n")
	const want = "found 1 file (1 .txt) in "
	for _, args := range [][]string{{"run", ownConfig(t, folder, 5)}, {"eval", "runs/own-1"}, {"sweep", "grid.yaml"}} {
		r := command(args...)
		if r.code != 0 || strings.Count(r.out+r.err, want) != 1 {
			t.Errorf("train %v: exit code %d, expected 0 and once %q:\n%s%s", args, r.code, want, r.out, r.err)
		}
	}
}
