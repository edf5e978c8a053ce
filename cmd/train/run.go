package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"dpsgd/configs"
	"dpsgd/internal/folder"
	"dpsgd/internal/train"

	"github.com/spf13/cobra"
)

func (a *app) runCommand() *cobra.Command {
	var dataDir, runsDir string
	var set []string
	c := &cobra.Command{
		Use:   "run [CONFIG|PRESET]",
		Short: "Train a model (default: the preset " + configs.DefaultPreset + ")",
		Example: `  train run
  train run mnist-cnn --data-dir datasets
  train run own-pictures --set data.folder=pictures --set 'data.classes=[cat, dog]'
  train run configs/digits.yaml --set privacy.epsilon=1 --json`,
		Args: args(0, 1, "at most one: a configuration file or the name of a preset"),
		RunE: func(c *cobra.Command, args []string) error {
			name := cmp.Or(first(args), configs.DefaultPreset)
			config, err := configs.Load(name, set)
			if err != nil {
				return asUsage(err)
			}
			run, err := train.Create(config, train.Options{
				DataDir: dataDir, RunsDir: runsDir, Name: baseName(name), Watcher: a.watcher(), Computed: a.computed(), Waits: a.waits,
			})
			if err != nil {
				return err
			}
			return a.fit(c, run)
		},
	}
	dataDirFlag(c, &dataDir)
	runsDirFlag(c, &runsDir)
	setFlag(c, &set)
	return c
}

func (a *app) resumeCommand() *cobra.Command {
	var dataDir string
	c := &cobra.Command{
		Use:     "resume RUN",
		Short:   "Go on with a run from its last checkpoint, with the spend of its ledger",
		Example: "  train resume runs/digits-1",
		Args:    args(1, 1, "one: the folder of a run, such as runs/digits-1"),
		RunE: func(c *cobra.Command, args []string) error {
			run, err := train.Open(args[0], train.Options{DataDir: dataDir, RunsDir: filepath.Dir(filepath.Clean(args[0])), Watcher: a.watcher(), Computed: a.computed(), Waits: a.waits})
			if err != nil {
				return err
			}
			return a.fit(c, run)
		},
	}
	dataDirFlag(c, &dataDir)
	return c
}

// fit carries out a run and prints its result.
func (a *app) fit(c *cobra.Command, run *train.Run) error {
	defer run.Close()
	a.saves.Store(true)
	defer a.saves.Store(false)
	result, err := run.Fit(c.Context())
	if err != nil {
		shown := a.display()
		shown.endBar()
		return err
	}
	if result.Status == train.Interrupted {
		fmt.Fprintf(a.err, "train: stopped and saved after step %d; go on with `train resume %s`\n", result.Steps, folder.Argument(result.Run)+dataDirGiven(c))
	}
	if err := a.printJSON(result); err != nil || result.Status != train.Interrupted {
		return err
	}
	return stopped(c.Context())
}

// dataDirGiven repeats --data-dir in advice, if it was given.
func dataDirGiven(c *cobra.Command) string {
	if f := c.Flags().Lookup("data-dir"); f != nil && f.Changed {
		return " --data-dir " + folder.Argument(f.Value.String())
	}
	return ""
}

// waits tells what a person has to mend before work goes on.
func (a *app) waits(message string) { fmt.Fprintln(a.err, "train:", message) }

func dataDirFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "data-dir", "", datasetFolders())
}

func runsDirFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "runs-dir", "runs", "folder that gets a folder for each run")
}

func setFlag(c *cobra.Command, set *[]string) {
	c.Flags().StringArrayVar(set, "set", nil, "override a key of the configuration, as in --set privacy.epsilon=2 (repeatable)")
}

// first is the first argument, or "".
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// baseName names runs after their configuration.
func baseName(config string) string {
	return strings.TrimSuffix(filepath.Base(config), filepath.Ext(config))
}
