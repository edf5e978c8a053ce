package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/stats"
	"dpsgd/internal/train"
	"dpsgd/internal/web"

	"github.com/spf13/cobra"
)

func runCommand(a *shell.App) *cobra.Command {
	var o train.Options
	var serve string
	var set []string
	c := &cobra.Command{
		Use:   "run [CONFIG|PRESET]",
		Short: "Train a model (default: the preset " + configs.DefaultPreset + ")",
		Example: `  train run
  train run mnist-cnn --data-dir datasets
  train run own-pictures --set data.folder=pictures --set 'data.classes=[cat, dog]'
  train run configs/digits.yaml --set privacy.epsilon=1 --json`,
		Args: shell.Args(0, 1, "at most one: a configuration file or the name of a preset"),
		RunE: func(c *cobra.Command, args []string) error {
			return together(a, o, func(o train.Options) error {
				return runConfig(a, c, cmp.Or(shell.First(args), configs.DefaultPreset), set, serve, o)
			})
		},
	}
	dataDirFlag(c, &o.DataDir)
	runsDirFlag(c, &o.RunsDir)
	setFlag(c, &set)
	serveFlag(c, &serve)
	a.ProgressFlag(c)
	return c
}

// runConfig starts the run of a configuration, or of a preset, whatever its kind, and carries it out.
func runConfig(a *shell.App, c *cobra.Command, name string, set []string, serve string, o train.Options) error {
	config, err := configs.Load(name, set)
	switch {
	case err != nil && configs.AsksStatistics(name):
		return unserved(o, serve, "statistics", func() error { return runStats(a, c, name, set, nil, o.Options) })
	case err != nil:
		return shell.AsUsage(err)
	}
	o.Name = baseName(name)
	if config.Pate.Any() {
		return unserved(o, serve, "a run of teachers", func() error { return configs.Placed(runPate(a, c, config, o.Options), name, set) })
	}
	if config.Privacy.Ordinary() {
		if err := single(o.Group, "a run without noise on gradients"); err != nil {
			return err
		}
		o, err := ordinaryOptions(a, o.Options, serve)
		if err != nil {
			return err
		}
		return configs.Placed(createOrdinary(a, c, config, o), name, set)
	}
	return carryOut(a, c, o, serve, func(o train.Options) (*train.Run, error) {
		run, err := train.Create(config, o)
		return run, configs.Placed(err, name, set)
	})
}

// unserved carries out what one process does, without a page.
func unserved(o train.Options, serve, what string, run func() error) error {
	if serve != "" {
		return shell.Usagef("found --serve, expected none: %s has no page while it is at work", what)
	}
	if err := single(o.Group, what); err != nil {
		return err
	}
	return run()
}

// carryOut starts a run, or goes on with one, and trains.
func carryOut(a *shell.App, c *cobra.Command, o train.Options, serve string, start func(train.Options) (*train.Run, error)) error {
	return followed(a, serve, func(page *web.Page) error {
		o.Watcher, o.Computed, o.Waits = runOn(page, watcher(a)), computed(a), a.Waits
		run, err := start(o)
		if err != nil {
			return err
		}
		return fit(a, c, run)
	})
}

func resumeCommand(a *shell.App) *cobra.Command {
	var o train.Options
	var serve string
	c := &cobra.Command{
		Use:     "resume RUN",
		Short:   "Go on with a run from its last checkpoint and what it has spent",
		Example: "  train resume runs/digits-1",
		Args:    shell.Args(1, 1, "one: the folder of a run, such as runs/digits-1"),
		RunE: func(c *cobra.Command, args []string) error {
			o.RunsDir = filepath.Dir(filepath.Clean(args[0]))
			return together(a, o, func(o train.Options) error {
				return resume(a, c, args[0], serve, o)
			})
		},
	}
	dataFlags(a)(c, &o)
	serveFlag(c, &serve)
	a.ProgressFlag(c)
	return c
}

// resume goes on with whatever run has this folder.
func resume(a *shell.App, c *cobra.Command, dir, serve string, o train.Options) error {
	another := func(resume func() error) error {
		if err := single(o.Group, dir); err != nil {
			return err
		}
		return resume()
	}
	if stats.IsRun(dir) {
		return another(func() error { return resumeStats(a, c, dir, o.Options) })
	}
	config, err := folder.ReadConfig(dir)
	switch {
	case err != nil:
		return err
	case config.Pate.Any():
		return another(func() error { return resumePate(a, c, dir, o.Options) })
	case config.Privacy.Ordinary():
		return another(func() error { return resumeOrdinary(a, c, dir, o.Options, serve) })
	}
	return carryOut(a, c, o, serve, func(o train.Options) (*train.Run, error) { return train.Open(dir, o) })
}

// fit carries out a run and prints its result.
func fit(a *shell.App, c *cobra.Command, run *train.Run) error {
	return fitAs(a, c, run, func(r train.Result) any { return r })
}

// fitAs is fit with a result of another form for programs.
func fitAs(a *shell.App, c *cobra.Command, run *train.Run, form func(train.Result) any) error {
	defer run.Close()
	a.Saves(true)
	defer a.Saves(false)
	result, err := run.Fit(c.Context())
	return ended(a, c, ending{result.Status, result.Steps, result.Run, form(result)}, err)
}

// ending is how a run of steps ended, and its result for programs.
type ending struct {
	status run.Status
	steps  int
	run    string
	result any
}

// ended prints the result of a run, and how to go on with one that was stopped.
func ended(a *shell.App, c *cobra.Command, e ending, err error) error {
	if err != nil {
		shown := a.Display()
		shown.EndBar()
		return err
	}
	if e.status == run.Interrupted {
		fmt.Fprintf(a.Err, "train: stopped and saved after step %d; go on with `train resume %s`\n", e.steps, folder.Argument(e.run)+shell.DataGiven(c))
	}
	if err := a.PrintJSON(e.result); err != nil || e.status != run.Interrupted {
		return err
	}
	return shell.Stopped(c.Context())
}

func dataDirFlag(c *cobra.Command, dir *string) {
	shell.FolderFlag(c, dir, "data-dir", "", datasetFolders())
}

func dataFolderFlag(c *cobra.Command, dir *string) {
	shell.FolderFlag(c, dir, "data-folder", "", "where data of your own lies now, if it has moved since the run")
}

// dataFlags are those of commands that read the data of a run.
func dataFlags(a *shell.App) func(*cobra.Command, *train.Options) {
	return func(c *cobra.Command, o *train.Options) {
		dataDirFlag(c, &o.DataDir)
		dataFolderFlag(c, &o.DataFolder)
		o.Computed = computed(a)
	}
}

func runsDirFlag(c *cobra.Command, dir *string) {
	shell.FolderFlag(c, dir, "runs-dir", "runs", "folder that gets a folder for each run")
}

func setFlag(c *cobra.Command, set *[]string) {
	c.Flags().Var((*overrides)(set), "set", "override a key of the configuration, as in --set privacy.epsilon=2 (repeatable)")
}

// overrides is a flag that can be given once for each key.
type overrides []string

func (o *overrides) String() string { return strings.Join(*o, " ") }

// Type is what the help calls a value.
func (*overrides) Type() string { return "stringArray" }

// Set takes one more override.
func (o *overrides) Set(text string) error {
	key := func(s string) string {
		k, _, _ := strings.Cut(s, "=")
		return strings.TrimSpace(k)
	}
	if slices.ContainsFunc(*o, func(earlier string) bool { return key(earlier) == key(text) }) {
		return fmt.Errorf("expected %s once: it was given before", key(text))
	}
	*o = append(*o, text)
	return nil
}

// baseName names runs after their configuration.
func baseName(config string) string {
	return strings.TrimSuffix(filepath.Base(config), filepath.Ext(config))
}
