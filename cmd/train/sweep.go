package main

import (
	"fmt"
	"io"
	"time"

	"dpsgd/accountant"
	"dpsgd/configs"
	"dpsgd/internal/sweep"
	"dpsgd/internal/train"

	"github.com/schollz/progressbar/v3"
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
			result, err := sweep.Run(c.Context(), file, sweep.Options{DataDir: dataDir, RunsDir: runsDir, Watcher: a.sweepWatcher()})
			if err != nil {
				a.endBar()
				return err
			}
			if result.Status == train.Interrupted {
				fmt.Fprintf(a.err, "train: stopped and saved with %d of %d trials finished; go on with `train sweep %s`\n", result.Finished, result.Trials, args[0])
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

func (a *app) sweepWatcher() sweep.Watcher {
	lines := sweepLines{w: a.progressTo(), every: plainEvery}
	if isTerminal(lines.w) {
		return &sweepBar{sweepLines: lines}
	}
	return &lines
}

// sweepLines tells about a sweep in lines.
type sweepLines struct {
	w     io.Writer
	every time.Duration
	last  time.Time
	trial sweep.TrialOverview
}

func (p *sweepLines) SweepStarted(o sweep.Overview) {
	fmt.Fprintf(p.w, "sweep     %s\ntrials    %d, of which %d have a result\n\n", o.Dir, o.Trials, o.Finished)
}

func (p *sweepLines) TrialStarted(o sweep.TrialOverview) {
	p.trial, p.last = o, time.Now()
	from := ""
	if o.ResumedAt > 0 {
		from = fmt.Sprintf(", from step %d", o.ResumedAt)
	}
	fmt.Fprintf(p.w, "trial %d/%d  %s  %d steps%s\n", o.Number, o.Trials, o.Name, o.Steps, from)
}

func (p *sweepLines) TrialStepped(s train.Progress) {
	if time.Since(p.last) < p.every {
		return
	}
	p.last = time.Now()
	fmt.Fprintf(p.w, "trial %d/%d  step %d/%d  %s  %s left\n", p.trial.Number, p.trial.Trials, s.Step, s.Steps, spend(s, 2), left(s))
}

func (p *sweepLines) Warned(message string) { fmt.Fprintf(p.w, "WARNING   %s\n", message) }

func (p *sweepLines) TrialFinished(r sweep.Row) {
	fmt.Fprintf(p.w, "trial %d/%d  %s\n", p.trial.Number, p.trial.Trials, outcome(r))
}

func (p *sweepLines) SweepFinished(r sweep.Result) {
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

// sweepBar draws one bar over the steps of all trials that are left.
type sweepBar struct {
	sweepLines
	bar         *progressbar.ProgressBar
	total, done int // steps of all trials that were left at the start
	step        int // of the current trial
	stepsHere   int // that this process ran, since
	started     time.Time
}

func (b *sweepBar) SweepStarted(o sweep.Overview) {
	b.sweepLines.SweepStarted(o)
	b.total, b.started = o.Steps, time.Now()
	b.bar = newBar(b.w, int64(max(1, o.Steps)))
}

func (b *sweepBar) Warned(message string) {
	clearBar(b.bar)
	b.sweepLines.Warned(message)
}

func (b *sweepBar) TrialStarted(o sweep.TrialOverview) {
	b.trial, b.step = o, o.ResumedAt
	b.done += o.ResumedAt
	b.show("")
}

func (b *sweepBar) TrialStepped(s train.Progress) {
	steps := s.Step - b.step
	b.step, b.done, b.stepsHere = s.Step, b.done+steps, b.stepsHere+steps
	b.show(duration(float64(b.total-b.done)*time.Since(b.started).Seconds()/float64(max(1, b.stepsHere))) + "  ")
}

func (b *sweepBar) TrialFinished(sweep.Row) {
	b.done += b.trial.Steps - b.step
	b.show("")
}

func (b *sweepBar) show(left string) {
	show(b.bar, int64(b.done), "trial %d/%d  %s%s", b.trial.Number, b.trial.Trials, left, b.trial.Name)
}

func (b *sweepBar) SweepFinished(r sweep.Result) {
	fmt.Fprintln(b.w)
	b.sweepLines.SweepFinished(r)
}
