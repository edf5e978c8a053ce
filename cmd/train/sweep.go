package main

import (
	"fmt"
	"time"

	"dpsgd/accountant"
	"dpsgd/configs"
	"dpsgd/internal/folder"
	"dpsgd/internal/sweep"
	"dpsgd/internal/train"

	"github.com/spf13/cobra"
)

func (a *app) sweepCommand() *cobra.Command {
	var dataDir, runsDir string
	c := &cobra.Command{
		Use:   "sweep FILE|PRESET",
		Short: "Train every combination of a grid of settings and compare them",
		Long: `Train every combination of a grid of settings, one run each, and print a table.

A sweep that was stopped or killed goes on with the same command: trials with a result are not repeated, one that was
under way goes on from its checkpoint with the spend of its ledger.`,
		Example: `  train sweep clip-noise
  train sweep configs/sweeps/clip-noise.yaml --json`,
		Args: args(1, 1, "one: a sweep file, or the name of a sweep that `train presets` lists"),
		RunE: func(c *cobra.Command, args []string) error {
			file, err := configs.LoadSweep(args[0])
			if err != nil {
				return asUsage(err)
			}
			watcher := &sweepWatcher{display: a.display(), saves: func() { a.saves.Store(true) }}
			defer a.saves.Store(false)
			result, err := sweep.Run(c.Context(), file, sweep.Options{DataDir: dataDir, RunsDir: runsDir, Watcher: watcher, Waits: a.waits})
			if err != nil {
				watcher.endBar()
				return err
			}
			if result.Status == train.Interrupted {
				fmt.Fprintf(a.err, "train: stopped and saved with %d of %d trials finished; go on with `train sweep %s`\n", result.Finished, result.Trials, folder.Argument(args[0])+dataDirGiven(c))
			}
			if err := a.printJSON(result); err != nil || result.Status != train.Interrupted {
				return err
			}
			return stopped(c.Context())
		},
	}
	dataDirFlag(c, &dataDir)
	runsDirFlag(c, &runsDir)
	return c
}

// sweepWatcher shows a sweep, with one bar over the steps of all trials that are left.
type sweepWatcher struct {
	display
	saves       func() // is told that from now on results are saved
	trial       sweep.TrialOverview
	step        int // of the trial
	total, done int // steps of all trials that were left at the start
	stepsHere   int // that this process ran, since
	started     time.Time
}

func (p *sweepWatcher) SweepStarted(o sweep.Overview) {
	p.saves()
	fmt.Fprintf(p.w, "sweep     %s\ntrials    %d, of which %d have a result\n\n", o.Dir, o.Trials, o.Finished)
	p.total, p.started = o.Steps, time.Now()
	if p.bars {
		p.bar = newBar(p.w, int64(max(1, o.Steps)), barWidth)
	}
}

func (p *sweepWatcher) TrialStarted(o sweep.TrialOverview) {
	p.trial, p.step, p.last = o, o.ResumedAt, time.Now()
	p.done += o.ResumedAt
	if p.bars {
		p.showTrial("")
		return
	}
	from := ""
	if o.ResumedAt > 0 {
		from = fmt.Sprintf(", from step %d", o.ResumedAt)
	}
	fmt.Fprintf(p.w, "trial %d/%d  %s  %d steps%s\n", o.Number, o.Trials, o.Name, o.Steps, from)
}

func (p *sweepWatcher) TrialStepped(s train.Progress) {
	steps := s.Step - p.step
	p.step, p.done, p.stepsHere = s.Step, p.done+steps, p.stepsHere+steps
	if p.bars {
		p.showTrial(duration(float64(p.total-p.done)*time.Since(p.started).Seconds()/float64(max(1, p.stepsHere))) + "  ")
	} else if p.due() {
		fmt.Fprintf(p.w, "trial %d/%d  step %d/%d  %s  %s left\n", p.trial.Number, p.trial.Trials, s.Step, s.Steps, spend(s, 2), left(s))
	}
}

func (p *sweepWatcher) TrialFinished(r sweep.Row) {
	p.done += p.trial.Steps - p.step
	if p.bars {
		p.showTrial("")
	} else {
		fmt.Fprintf(p.w, "trial %d/%d  %s\n", p.trial.Number, p.trial.Trials, outcome(r))
	}
}

func (p *sweepWatcher) showTrial(left string) {
	p.show(int64(p.done), "trial %d/%d  %s%s", p.trial.Number, p.trial.Trials, left, p.trial.Name)
}

func (p *sweepWatcher) SweepFinished(r sweep.Result) {
	p.endBar()
	fmt.Fprintln(p.w)
	if len(r.Rows) > 0 {
		printTable(p.w, r.Table())
		fmt.Fprintln(p.w)
	}
	for _, line := range r.Note() {
		fmt.Fprintln(p.w, line)
	}
	fmt.Fprintf(p.w, "in %s: results.csv, results.jsonl, results.md, and a run for each trial\n", r.Sweep)
}

// outcome is a trial's result in a few words.
func outcome(r sweep.Row) string {
	test := "no test accuracy"
	if r.TestAccuracy != nil {
		test = fmt.Sprintf("test %.2f %%", 100**r.TestAccuracy)
	}
	spent := "ε " + accountant.RoundUp(r.Epsilon, 3)
	if r.EpsilonRDP != nil {
		spent += fmt.Sprintf(" (rdp %s)", accountant.RoundUp(*r.EpsilonRDP, 3))
	}
	return fmt.Sprintf("%s  %s  %s  %s", test, spent, duration(r.Seconds), r.Status)
}
