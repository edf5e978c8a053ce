package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/tiny"

	"github.com/spf13/cobra"
)

// everyCommand calls f with each command that a person can reach.
func everyCommand(f func(*cobra.Command)) {
	r := root(&shell.App{})
	r.InitDefaultCompletionCmd()
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		f(c)
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				walk(sub)
			}
		}
	}
	walk(r)
}

// The help documents the exit codes and every command. Every line of it can be read whole on a
// terminal of 80 columns.
func TestHelpFitsATerminal(t *testing.T) {
	n, all := 0, succeed(t, "help")
	says(t, all, shell.Flow(shell.ExitHelp))
	everyCommand(func(c *cobra.Command) {
		n++
		if c.Parent() != nil && c.Parent().Parent() == nil && c.Name() != "completion" && c.Name() != "help" {
			says(t, all, c.Short)
			if c.Example == "" && c.Runnable() && c.Name() != "version" && c.Name() != "data" {
				t.Errorf("%s has no example", c.Name())
			}
		}
		for _, line := range strings.Split(shell.Help(c), "\n") {
			if found := utf8.RuneCountInString(line); found > shell.Width || strings.TrimRight(line, " ") != line {
				t.Errorf("%s: a line of %d columns, expected at most %d and no space at its end:\n%s", c.CommandPath(), found, shell.Width, line)
			}
		}
	})
	if n < 25 {
		t.Errorf("found %d commands", n)
	}
}

// offered returns the completions of a command line that the program prints for a shell.
func offered(t *testing.T, args ...string) string {
	t.Helper()
	out := succeed(t, append([]string{"__complete"}, args...)...)
	var found []string
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		word, _, _ := strings.Cut(line, "\t")
		if !strings.HasPrefix(word, ":") && !strings.HasPrefix(word, "Completion ended") {
			found = append(found, filepath.ToSlash(word))
		}
	}
	return strings.Join(found, " ")
}

// Shells complete the names of runs, presets, sweeps, data sets, keys and accountants where a
// command takes one.
func TestCompletion(t *testing.T) {
	config := own(t, 2)
	succeed(t, "run", config)
	succeed(t, "run", config)
	tiny.Write(t, "grid.yaml", "name: grid\nbase: "+config+"\ngrid:\n  privacy.clip_norm: [0.1]\n")
	succeed(t, "sweep", "grid.yaml")
	tiny.Check(t, os.Mkdir("runs/no-run", 0o700))
	all := "runs/own-1 runs/own-2 runs/grid/clip_norm=0.1"
	for _, tt := range []struct{ line, want string }{
		{"resume ", all}, {"extend runs/own", "runs/own-1 runs/own-2"}, {"eval runs/grid/", "runs/grid/clip_norm=0.1"}, {"resume runs/own-1 ", ""},
		{"report runs/own-1 runs/g", "runs/grid/clip_norm=0.1 runs/grid"}, {"epsilon runs/own-1 ", "runs/own-2 runs/grid/clip_norm=0.1"},
		{"run dig", "digits"}, {"describe mnist-b", "mnist-best"}, {"sweep clip", "clip-noise"}, {"presets clip", "clip-noise"}, {"stats digits-", "digits-statistics"}, {"data fetch m", "mnist"},
		{"run --set privacy.eps", "privacy.epsilon="}, {"epsilon --accountant ex", "exact"}, {"bench --model mlp128", "mlp128"}, {"help ext", "extend"},
	} {
		same(t, tt.line, offered(t, strings.Split(tt.line, " ")...), tt.want)
	}
}

// Each shell gets a script, which it can read where it is there.
func TestCompletionScripts(t *testing.T) {
	for name, check := range map[string][]string{"bash": {"-n"}, "zsh": {"-n"}, "fish": {"--no-execute"}, "powershell": nil} {
		script := succeed(t, "completion", name)
		says(t, script, "__complete")
		path, err := exec.LookPath(name)
		if err != nil || check == nil {
			continue
		}
		file := filepath.Join(t.TempDir(), "script")
		tiny.Write(t, file, script)
		if out, err := exec.Command(path, append(check, file)...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// example is a command with everything that a page shows.
func example() *cobra.Command {
	top := &cobra.Command{Use: "top", Short: "Do things"}
	c := &cobra.Command{
		Use: "low RUN", Short: "Do one thing \\ at ε", Example: "  top low runs/a -x",
		Long: "First ε.\n.hidden is no request\n\nTable:\n  1    one\n  2    two\n\n'quoted' too.", Run: func(*cobra.Command, []string) {},
	}
	c.Flags().Int("count", 1, "how often")
	top.AddCommand(c, &cobra.Command{Use: "secret", Hidden: true, Run: func(*cobra.Command, []string) {}})
	return top
}

// Each command that can be seen has its page, and no text of it is taken for a request.
func TestPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	files, err := writeManual(example(), dir)
	if err != nil || len(files) != 2 {
		t.Fatalf("%q (%v), expected two pages", files, err)
	}
	want := `.TH "TOP-LOW" 1 "" "" "top manual"
.SH NAME
top\-low \- Do one thing \e at ε
.SH SYNOPSIS
.B top low RUN [flags]
.SH DESCRIPTION
.PP
First ε.
\&.hidden is no request
.PP
Table:
.PP
.nf
  1    one
  2    two
.fi
.PP
\&'quoted' too.
.SH EXAMPLES
.PP
.nf
  top low runs/a \-x
.fi
.SH OPTIONS
.PP
.nf
      \-\-count int   how often (default 1)
  \-h, \-\-help        help for low
.fi
.SH SEE ALSO
.BR top (1)
`
	same(t, "the page", tiny.Read(t, filepath.Join(dir, "top-low.1")), want)
}

// groff, where it is there, has nothing to complain about.
func TestPagesAreClean(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("no groff on this machine")
	}
	files, err := writeManual(example(), t.TempDir())
	tiny.Check(t, err)
	out, err := exec.Command(groff, append([]string{"-man", "-Tutf8", "-Kutf8", "-ww", "-z"}, files...)...).CombinedOutput()
	if err != nil && strings.Contains(string(out), "preconv") {
		t.Skip("groff is not whole on this machine")
	}
	if err != nil || len(out) > 0 {
		t.Errorf("groff says %s (%v)", out, err)
	}
}

// full is an output that takes nothing, as /dev/full.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// Every command of the table, and the help of each, fails with one line and a code when its output
// is lost. A run has saved its model all the same.
func TestLostOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	own, config := "pictures/test", "own.yaml" // without the spaces that a temporary folder may have
	tiny.Check(t, errors.Join(os.Symlink(pictureFiles(t), "pictures"), os.Rename(ownConfig(t, pictureFiles(t), 5), config)))
	succeed(t, "run", config)
	tiny.Write(t, "grid.yaml", "name: grid\nbase: "+config+"\ngrid: {privacy.clip_norm: [0.1]}\n")
	asked := "--sampling-probability 0.01 --delta 1e-5 "
	const needsNetwork = "?"
	teachers := config + " --set pate.teachers=4 --set pate.pool=5 --set pate.aggregation=gnmax --set pate.noise=20 --set privacy.epsilon=10"
	lines := map[string]string{
		"train predict": "runs/own-1 " + own, "train serve": "runs/own-1 --address 127.0.0.1:0", "train export": "runs/own-1",
		"train card": "runs/own-1", "train import": "runs/own-1/model.safetensors " + config,
		"train": "", "train run": config, "train resume": "runs/own-1", "train eval": "runs/own-1", "train report": "runs/own-1", "train sweep": "grid.yaml",
		"train pate":      teachers,
		"train federated": config + " --set federated.clients=20 --set training.batch_size=10",
		"train ledger":    "", "train ledger show": "", "train ledger verify": "", "train describe": config, "train plan": config + " --seconds 0.01",
		"train epsilon": "runs/own-1", "train delta": "runs/own-1", "train compare": "runs/own-1", "train tradeoff": "runs/own-1",
		"train attack": "", "train attack sensitivity": "--people 2", "train attack differencing": "--trials 10", "train attack reconstruction": "--people 20 --queries 100 --noise gaussian",
		"train attack membership": "runs/own-1", "train audit": "runs/own-1 --observations 1000", "train selftest": config,
		"train calibrate": asked + "--steps 1000 --epsilon 1", "train steps": asked + "--noise-multiplier 1 --epsilon 1",
		"train bench": "--model mlp128 --batch 8 --seconds 0.01", "train presets": "", "train schema": "",
		"train data": "", "train data list": "", "train data fetch": needsNetwork, "train data check": config, "train features": "", "train features show": "cifar-best --pictures 1",
		"train version": "", "train runs": "", "train ledger head": "", "train ledger key": "witness.key", "train ledger limit": "digits --epsilon 8 --delta 1e-5", "train stats": config, "train extend": "runs/own-1 --epsilon 50", "train init": "new.yaml --data digits --epsilon 1", "train examples": "", "train man": "pages",
	}
	lost := func(args ...string) {
		var err bytes.Buffer
		if code := execute(args, full{}, &err); code != shell.ExitFailed || strings.Count(err.String(), "\n") != 1 || !strings.Contains(err.String(), "no space left on device") {
			t.Errorf("train %s: found exit code %d and %q, expected %d and one line", strings.Join(args, " "), code, err.String(), shell.ExitFailed)
		}
	}
	everyCommand(func(c *cobra.Command) {
		path := strings.Fields(c.CommandPath())[1:]
		line, known := lines[c.CommandPath()]
		if len(path) > 0 && (path[0] == "completion" || path[0] == "help") { // the library's
			return
		}
		if !known {
			t.Errorf("this test does not know %s", c.CommandPath())
			return
		}
		if line != needsNetwork {
			lost(append(path, strings.Fields(line)...)...)
		}
		lost(append(path, "--help")...)
		lost(append([]string{"help"}, path...)...)
	})
	if entries("runs/own-2") != 5 {
		t.Error("the run whose output was lost did not make its steps")
	}
}
