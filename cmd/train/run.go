package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"dpsgd/configs"
	"dpsgd/internal/train"

	"github.com/spf13/cobra"
)

// runFlags are what running, resuming and sweeping share.
type runFlags struct {
	dataDir, runsDir string
	set              []string
}

func (f *runFlags) add(c *cobra.Command, withSet bool) {
	c.Flags().StringVar(&f.dataDir, "data-dir", "", "folder with mnist/, fashion-mnist/ and cifar-10/ (default: $DPSGD_DATA)")
	if withSet {
		c.Flags().StringVar(&f.runsDir, "runs-dir", "runs", "folder that gets a folder for each run")
		c.Flags().StringArrayVar(&f.set, "set", nil, "override a key of the configuration, as in --set privacy.epsilon=2 (repeatable)")
	}
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [CONFIG|PRESET]",
		Short: "Train a model (default: the preset digits)",
		Args:  args(0, 1, "at most one: a configuration file or the name of a preset"),
		RunE: func(c *cobra.Command, args []string) error {
			name := "digits"
			if len(args) == 1 {
				name = args[0]
			}
			config, err := configs.Load(name, f.set)
			if err != nil {
				return err
			}
			run, err := train.Create(config, train.Options{
				DataDir: f.dataDir, RunsDir: f.runsDir, Name: baseName(name), Watcher: a.watcher(),
			})
			if err != nil {
				return err
			}
			return a.fit(c, run)
		},
	}
	f.add(c, true)
	return c
}

func (a *app) resumeCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "resume RUN",
		Short: "Go on with a run from its last checkpoint, with the spend of its ledger",
		Args:  args(1, 1, "one: the folder of a run, such as runs/digits-1"),
		RunE: func(c *cobra.Command, args []string) error {
			run, err := train.Open(args[0], train.Options{DataDir: f.dataDir, Watcher: a.watcher()})
			if err != nil {
				return err
			}
			return a.fit(c, run)
		},
	}
	f.add(c, false)
	return c
}

// fit carries out a run and prints its result.
func (a *app) fit(c *cobra.Command, run *train.Run) error {
	defer run.Close()
	result, err := run.Fit(c.Context())
	if err != nil {
		return err
	}
	if err := a.print(result); err != nil {
		return err
	}
	if result.Status == train.Interrupted {
		fmt.Fprintf(a.err, "train: stopped and saved after step %d; go on with `train resume %s`\n", result.Steps, result.Run)
		return errInterrupted
	}
	return nil
}

// baseName names runs after their configuration.
func baseName(config string) string {
	return strings.TrimSuffix(filepath.Base(config), filepath.Ext(config))
}
