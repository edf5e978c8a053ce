package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"dpsgd/accountant"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/sweep"
	"dpsgd/internal/train"
	"dpsgd/internal/web"

	"github.com/spf13/cobra"
)

func sweepCommand(a *shell.App) *cobra.Command {
	var o sweep.Options
	var serve string
	var flags taskFlags
	c := &cobra.Command{
		Use:   "sweep FILE|PRESET",
		Short: "Train every point of a grid, or drawn points, and compare them",
		Long: `Train every combination of a grid of settings, or points that are drawn at random, one run for each point and seed. The
table and the lines below it say which point is best and what choosing it cost in privacy: docs/sweeps.md.

A sweep that was stopped or killed goes on with the same command: trials with a result are not repeated, one that was
under way goes on from its checkpoint with the spend of its ledger.

The tasks of a job array share a sweep by --trial or --shard, and --collect gathers what they made: each trains trials of
its own and writes nothing that another one writes. Scripts for Slurm, Kubernetes and GNU parallel are in examples.`,
		Example: `  train sweep clip-noise
  train sweep random-search
  train sweep configs/sweeps/clip-noise.yaml --jobs 2 --json
  train sweep clip-noise --shard 1/4
  train sweep clip-noise --collect`,
		Args: shell.Args(1, 1, "one: a sweep file, or the name of a sweep that `train presets` lists"),
		RunE: func(c *cobra.Command, args []string) error {
			file, err := configs.LoadSweep(args[0])
			if err != nil {
				return shell.AsUsage(err)
			}
			share, why, err := flags.Share(os.Getenv)
			if err != nil {
				return err
			}
			o.Jobs, o.Waits = flags.Jobs, a.Waits
			return followed(a, serve, func(page *web.Page) error {
				over := func() {}
				defer func() { over() }()
				watcher := &sweepWatcher{Display: a.Display(), saves: func() { over = a.Saving() }}
				o.Warned, o.Watcher = watcher.Warned, page.Sweep(sweep.Watcher{
					SweepStarted: watcher.SweepStarted, TrialStarted: watcher.TrialStarted, TrialStepped: watcher.TrialStepped,
					TrialFinished: watcher.TrialFinished, SweepFinished: watcher.SweepFinished,
				})
				if share != nil {
					err = runTask(a, c, &watcher.Display, args[0], why, file, *share, o)
				} else {
					err = runSweep(a, c, args[0], file, flags.Collect, o)
				}
				if err != nil {
					watcher.EndBar()
				}
				return err
			})
		},
	}
	dataDirFlag(c, &o.DataDir)
	runsDirFlag(c, &o.RunsDir)
	serveFlag(c, &serve)
	flags.Add(c)
	a.ProgressFlag(c)
	return c
}

// runSweep carries out a sweep, or collects what tasks have trained of it, and prints the result.
// name is what the command line calls the sweep.
func runSweep(a *shell.App, c *cobra.Command, name string, file *configs.Sweep, collect bool, o sweep.Options) error {
	carryOut := sweep.Run
	if collect {
		carryOut = sweep.Collect
	}
	result, err := carryOut(c.Context(), file, o)
	if err != nil {
		return err
	}
	how := fmt.Sprintf("and saved with %d of %d trials finished; go on with `train sweep %s`", result.Finished, result.Trials, folder.Argument(name)+shell.FoldersGiven(c))
	return stopped(a, c, result.Status, how, a.PrintJSON(result))
}

// runTask trains the trials of a share of a sweep, and prints how many have a result. name is what
// the command line calls the sweep; why is as in [taskFlags.Share].
func runTask(a *shell.App, c *cobra.Command, shown *shell.Display, name, why string, file *configs.Sweep, share sweep.Share, o sweep.Options) error {
	if why != "" {
		fmt.Fprintln(shown.W, "task      "+why)
	}
	result, err := sweep.RunTask(c.Context(), file, share, o)
	if errors.Is(err, sweep.ErrNoTrial) {
		return shell.AsUsage(err)
	}
	if err != nil {
		return err
	}
	shown.EndBar()
	said := fmt.Sprintf("%d of the %d trials of this task have a result", len(result.Rows), len(result.Numbers))
	if result.Status != run.Interrupted {
		fmt.Fprintf(shown.W, "done      %s\ncollect   `train sweep %s --collect%s`\n", said, folder.Argument(name), shell.FoldersGiven(c))
	}
	return stopped(a, c, result.Status, "and saved, "+said+"; go on with the same command", a.PrintJSON(result))
}

// shareOf says which trials this process trains, of how many: "3,7-9 of 12", or "12" for all.
func shareOf(o sweep.Overview) string {
	if o.Numbers == nil {
		return fmt.Sprint(o.Trials)
	}
	if len(o.Numbers) == 0 {
		return fmt.Sprintf("none of %d", o.Trials) // of more tasks than trials
	}
	return fmt.Sprintf("%s of %d", sweep.Numbers(o.Numbers), o.Trials)
}

// sweepWatcher prints the progress of a sweep: a line for each trial, or on a terminal one bar over
// the steps of all trials that were left at the start.
type sweepWatcher struct {
	shell.Display
	saves       func()                 // called at the start of the sweep, which saves from then on
	trials      map[string]*trialSteps // the trials under way, by name
	total, done int                    // steps of the trials that had no result at the start: all, and made
	stepsHere   int                    // steps that this process has run
	started     time.Time
}

// trialSteps is a trial under way, with the number of its newest step.
type trialSteps struct {
	sweep.TrialOverview
	step int
}

func (p *sweepWatcher) SweepStarted(o sweep.Overview) {
	p.saves()
	fmt.Fprintf(p.W, "sweep     %s\ntrials    %s, of which %d have a result\n", o.Dir, shareOf(o), o.Finished)
	if o.Drawn {
		fmt.Fprintln(p.W, "drawn     that number: who draws again because of it has no guarantee by it")
	}
	fmt.Fprintln(p.W)
	p.total, p.started = o.Steps, time.Now()
	if p.Bars {
		p.StartBar(int64(o.Steps))
	}
}

func (p *sweepWatcher) TrialStarted(o sweep.TrialOverview) {
	if p.trials == nil {
		p.trials = map[string]*trialSteps{}
	}
	p.trials[o.Name] = &trialSteps{o, o.ResumedAt}
	p.Told()
	p.done += o.ResumedAt
	if p.Bars {
		p.showTrial(o, "")
		return
	}
	from := ""
	if o.ResumedAt > 0 {
		from = fmt.Sprintf(", from step %d", o.ResumedAt)
	}
	fmt.Fprintf(p.W, "trial %d/%d  %s  %d steps%s\n", o.Number, o.Trials, o.Name, o.Steps, from)
}

func (p *sweepWatcher) TrialStepped(o sweep.TrialOverview, s train.Progress) {
	t := p.trials[o.Name]
	steps := s.Step - t.step
	t.step, p.done, p.stepsHere = s.Step, p.done+steps, p.stepsHere+steps
	if p.Bars {
		p.showTrial(o, shell.Duration(float64(p.total-p.done)*time.Since(p.started).Seconds()/float64(max(1, p.stepsHere)))+"  ")
	} else if p.Due(false) {
		fmt.Fprintf(p.W, "trial %d/%d  step %d/%d  %s  %s left\n", o.Number, o.Trials, s.Step, s.Steps, spend(s, 2), left(s))
	}
}

func (p *sweepWatcher) TrialFinished(r books.Row) {
	t := p.trials[r.Trial]
	delete(p.trials, r.Trial)
	p.done += t.Steps - t.step
	if p.Bars {
		p.showTrial(t.TrialOverview, "")
	} else {
		fmt.Fprintf(p.W, "trial %d/%d  %s\n", t.Number, t.Trials, outcome(r))
	}
}

func (p *sweepWatcher) showTrial(o sweep.TrialOverview, left string) {
	p.Show(int64(p.done), "trial %d/%d  %s%s", o.Number, o.Trials, left, o.Name)
}

func (p *sweepWatcher) SweepFinished(r sweep.Result) {
	p.EndBar()
	fmt.Fprintln(p.W)
	if len(r.Rows) > 0 {
		shell.PrintTable(p.W, r.Table())
		fmt.Fprintln(p.W)
	}
	for _, line := range r.Note() {
		fmt.Fprintln(p.W, line)
	}
	fmt.Fprintf(p.W, "in %s: results.csv, results.jsonl, results.md, and a run for each trial\n", r.Sweep)
}

// outcome returns text with the test accuracy, ε, time and status of a trial.
func outcome(r books.Row) string {
	test := "no " + r.Test.Name()
	if !r.Test.None() {
		test = "test " + r.Test.String()
	}
	spent := "ε " + accountant.RoundUp(r.Epsilon, 3)
	if r.EpsilonRDP != nil {
		spent += fmt.Sprintf(" (rdp %s)", accountant.RoundUp(*r.EpsilonRDP, 3))
	}
	return fmt.Sprintf("%s  %s  %s  %s", test, spent, shell.Duration(r.Seconds), r.Status)
}
