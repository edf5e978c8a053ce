package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/stats"
	"dpsgd/internal/train"
	"dpsgd/internal/web"

	"github.com/spf13/cobra"
)

// job holds the flags of a command that begins or resumes a run.
type job struct {
	train.Options
	set   []string
	serve string
	form  func(train.Result) any // makes what --json prints of a result; nil where that is the result itself
}

func runCommand(a *shell.App) *cobra.Command {
	var j job
	c := &cobra.Command{
		Use:   "run [CONFIG|PRESET]",
		Short: "Train a model (default: the preset " + configs.DefaultPreset + ")",
		Example: `  train run
  train run mnist-cnn --data-dir datasets
  train run own-pictures --set data.folder=pictures --set 'data.classes=[cat, dog]'
  train run configs/digits.yaml --set privacy.epsilon=1 --json`,
		Args: shell.Args(0, 1, oneConfig),
		RunE: func(c *cobra.Command, args []string) error {
			return together(a, j.Options, func(o train.Options) error {
				j.Options = o
				return j.begin(a, c, shell.First(args, configs.DefaultPreset))
			})
		},
	}
	j.flags(a, c)
	return c
}

// flags adds to c the flags of a command that begins a run and can show a page about it.
func (j *job) flags(a *shell.App, c *cobra.Command) {
	dataDirFlag(c, &j.DataDir)
	runsDirFlag(c, &j.RunsDir)
	setFlag(c, &j.set)
	serveFlag(c, &j.serve)
	a.ProgressFlag(c)
}

// begin starts the run of the configuration file or preset called name, and carries it out.
func (j job) begin(a *shell.App, c *cobra.Command, name string) error {
	config, err := configs.Load(name, j.set)
	switch {
	case err != nil && configs.AsksStatistics(name):
		return j.alone("statistics", func() error { return runStats(a, c, name, j.set, nil, j.Options.Options) })
	case err != nil:
		return shell.AsUsage(err)
	}
	j.Name = baseName(name)
	return configs.Placed(j.carryOut(a, c, config, ""), name, j.set)
}

func resumeCommand(a *shell.App) *cobra.Command {
	var j job
	c := &cobra.Command{
		Use:     "resume RUN",
		Short:   "Go on with a run from its last checkpoint and what it has spent",
		Example: "  train resume runs/digits-1",
		Args:    shell.Args(1, 1, oneRun),
		RunE: func(c *cobra.Command, args []string) error {
			j.RunsDir = folder.Around(args[0])
			return together(a, j.Options, func(o train.Options) error {
				j.Options = o
				return j.resume(a, c, args[0])
			})
		},
	}
	dataFlags(a, c, &j.Request)
	serveFlag(c, &j.serve)
	a.ProgressFlag(c)
	return c
}

// resume goes on with the run in the folder dir, whatever its kind.
func (j job) resume(a *shell.App, c *cobra.Command, dir string) error {
	if stats.IsRun(dir) {
		return j.alone("statistics", func() error { return resumeStats(a, c, dir, j.Options.Options) })
	}
	config, err := folder.ReadConfig(dir)
	if err != nil {
		return err
	}
	return j.carryOut(a, c, config, dir)
}

// carryOut begins the run of config, or goes on with the one in dir, and prints its result.
func (j job) carryOut(a *shell.App, c *cobra.Command, config *configs.Config, dir string) error {
	j.Computed, j.Waits = computed(a), a.Waits
	switch {
	case config.Pate.Any():
		return j.alone("a run of teachers", func() error { return carryOutPate(a, c, config, dir, j.Options.Options) })
	case config.Privacy.Ordinary():
		return j.alone("a run without noise on gradients", func() error { return carryOutOrdinary(a, c, config, dir, j.Options.Options) })
	}
	return followed(a, j.serve, func(page *web.Page) error {
		w := &runWatcher{a.Display()}
		j.Warned, j.Watcher = w.Warned, page.Run(train.Watcher{Started: w.Started, Stepped: w.Stepped, Finished: w.Finished})
		run, err := start(config, dir, j.Options, train.Create, train.Open)
		if err != nil {
			return err
		}
		defer run.Close()
		defer a.Saving()()
		result, err := run.Fit(c.Context())
		if j.form == nil {
			return ended(a, c, result.Status, result.Steps, result.Run, result, err)
		}
		return ended(a, c, result.Status, result.Steps, result.Run, j.form(result), err)
	})
}

// alone does the work called what, which one process does: it refuses --serve and several ranks.
func (j job) alone(what string, do func() error) error {
	if j.serve != "" {
		return shell.Usagef("found --serve, expected none: %s has no page while it is at work", what)
	}
	if g := j.Group; g != nil && g.Size() > 1 {
		return shell.Usagef("found %d ranks for %s, expected one process: start it without a launcher", g.Size(), what)
	}
	return do()
}

// start creates a run of a configuration or, if dir is not "", opens the run in that folder.
func start[O, R any](config *configs.Config, dir string, o O, create func(*configs.Config, O) (R, error), open func(string, O) (R, error)) (R, error) {
	if dir != "" {
		return open(dir, o)
	}
	return create(config, o)
}

// ended prints result with --json, and how to go on if a signal stopped the run, whose error it
// then returns. If err is not nil, it only returns that.
func ended(a *shell.App, c *cobra.Command, status run.Status, steps int, dir string, result any, err error) error {
	if err != nil {
		return err
	}
	return stopped(a, c, status, fmt.Sprintf("and saved after step %d; %s", steps, goOn(c, dir)), a.PrintJSON(result))
}

// stopped prints how, which says how to go on with work that a signal stopped, and returns the
// error of that signal. If status is another one, or err is not nil, it only returns err.
func stopped(a *shell.App, c *cobra.Command, status run.Status, how string, err error) error {
	if err != nil || status != run.Interrupted {
		return err
	}
	fmt.Fprintln(a.Err, "train: stopped "+how)
	return shell.Stopped(c.Context())
}

// goOn returns advice: the command that resumes the run in the folder dir.
func goOn(c *cobra.Command, dir string) string {
	return "go on with `train resume " + folder.Argument(dir) + shell.DataGiven(c) + "`"
}

func dataDirFlag(c *cobra.Command, dir *string) {
	names := data.Fetchable()
	last := len(names) - 1
	usage := fmt.Sprintf("folder with %s/ and %s/ (default: $%s)", strings.Join(names[:last], "/, "), names[last], data.DirVariable)
	shell.FolderFlag(c, dir, "data-dir", "", usage)
}

func dataFolderFlag(c *cobra.Command, dir *string) {
	shell.FolderFlag(c, dir, "data-folder", "", "where data of your own lies now, if it has moved since the run")
}

// dataFlags adds to c the flags for where a run's data is, and makes o show how far reading it is.
func dataFlags(a *shell.App, c *cobra.Command, o *setup.Request) {
	dataDirFlag(c, &o.DataDir)
	dataFolderFlag(c, &o.DataFolder)
	o.Computed = computed(a)
}

func runsDirFlag(c *cobra.Command, dir *string) {
	shell.FolderFlag(c, dir, "runs-dir", "runs", "folder that gets a folder for each run")
}

func setFlag(c *cobra.Command, set *[]string) {
	c.Flags().Var((*overrides)(set), "set", "override a key of the configuration, as in --set privacy.epsilon=2 (repeatable)")
}

// overrides is the value of --set, which can be given several times, once for each key.
type overrides []string

func (o *overrides) String() string { return strings.Join(*o, " ") }

// Type returns what the help calls a value.
func (*overrides) Type() string { return "stringArray" }

// Set adds an override, and refuses one whose key was given before.
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

// baseName returns the name of a configuration's file without its ending, for the names of runs.
func baseName(config string) string {
	return strings.TrimSuffix(filepath.Base(config), filepath.Ext(config))
}
