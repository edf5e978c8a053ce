package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/tiny"

	"github.com/spf13/cobra"
)

// full is an output that takes nothing, as /dev/full.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// Every command of the table, and the help of each, fails with one line and a code when its output
// is lost. A run has saved its model all the same.
func TestLostOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	own := pictureFiles(t)
	config := ownConfig(t, own, 5)
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
		"train attack membership": "runs/own-1",
		"train calibrate":         asked + "--steps 1000 --epsilon 1", "train steps": asked + "--noise-multiplier 1 --epsilon 1",
		"train bench": "--model mlp128 --batch 8 --seconds 0.01", "train presets": "", "train schema": "",
		"train data": "", "train data list": "", "train data fetch": needsNetwork, "train data check": config, "train features": "", "train features show": "cifar-best --pictures 1",
		"train version": "", "train runs": "", "train ledger limit": "digits --epsilon 8 --delta 1e-5", "train stats": config, "train extend": "runs/own-1 --epsilon 50", "train init": "new.yaml --data digits --epsilon 1", "train examples": "", "train man": "pages",
	}
	lost := func(args ...string) {
		var err bytes.Buffer
		if code := execute(args, full{}, &err); code != shell.ExitFailed || strings.Count(err.String(), "\n") != 1 || !strings.Contains(err.String(), "no space left on device") {
			t.Errorf("train %s: found exit code %d and %q, expected %d and one line", strings.Join(args, " "), code, err.String(), shell.ExitFailed)
		}
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		path := strings.Fields(c.CommandPath())[1:]
		line, known := lines[c.CommandPath()]
		if !known {
			t.Errorf("this test does not know %s", c.CommandPath())
			return
		}
		if line != needsNetwork {
			lost(append(path, strings.Fields(line)...)...)
		}
		lost(append(path, "--help")...)
		lost(append([]string{"help"}, path...)...)
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(root(&shell.App{}))
	if entries("runs/own-2") != 5 {
		t.Error("the run whose output was lost did not make its steps")
	}
}
