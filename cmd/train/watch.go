package main

import (
	"fmt"
	"io"
	"time"

	"dpsgd/accountant"
	"dpsgd/internal/train"
)

// watcher shows a run: a progress bar on a terminal, plain lines elsewhere.
func (a *app) watcher() train.Watcher {
	plain := plainWatcher{w: a.progressTo(), every: plainEvery}
	if isTerminal(plain.w) {
		return &barWatcher{plainWatcher: plain}
	}
	return &plain
}

// plainEvery is how often progress is told in lines.
const plainEvery = 10 * time.Second

// plainWatcher writes lines.
type plainWatcher struct {
	w     io.Writer
	every time.Duration
	last  time.Time
}

func (p *plainWatcher) Started(o train.Overview) {
	fmt.Fprintf(p.w, "run       %s\n", o.Run)
	fmt.Fprintf(p.w, "data      %s, %s training examples\n", o.Data, count(o.Examples))
	fmt.Fprintf(p.w, "model     %s parameters\n", count(o.Parameters))
	plan := o.Plan
	fmt.Fprintf(p.w, "privacy   noise multiplier %.4f, clip norm %g, sampling probability %.4g\n", plan.NoiseMultiplier, plan.Policy.Bound(), plan.Sampler.SamplingProbability)
	if plan.Budget != nil {
		fmt.Fprintf(p.w, "budget    ε ≤ %g at δ = %g, %s steps planned\n", plan.Budget.Epsilon, plan.Delta, count(plan.Steps))
	} else {
		fmt.Fprintf(p.w, "budget    none, %s steps planned, ε reported at δ = %g\n", count(plan.Steps), plan.Delta)
	}
	if o.ResumedAt > 0 || o.LedgerEntries > 0 {
		fmt.Fprintf(p.w, "resumed   at step %s; the ledger holds %s releases\n", count(o.ResumedAt), count(o.LedgerEntries))
	}
	if o.PrivateDiagnosed {
		p.Warned("run.private_diagnostics is on: diagnostics.private.jsonl is NOT private")
	}
	fmt.Fprintln(p.w)
	p.last = time.Now()
}

func (p *plainWatcher) Stepped(s train.Progress) {
	if !s.Evaluated && time.Since(p.last) < p.every {
		return
	}
	p.last = time.Now()
	fmt.Fprintf(p.w, "step %d/%d  %s  %s  %s examples/s  %s left\n", s.Step, s.Steps, spend(s), accuracy(s), count(int(s.ExamplesPerSecond)), left(s))
}

func (p *plainWatcher) Warned(message string) { fmt.Fprintf(p.w, "WARNING   %s\n", message) }

func (p *plainWatcher) Finished(r train.Result) {
	why := map[train.Status]string{
		train.Done:            "all planned steps ran",
		train.BudgetExhausted: "one more step would pass the budget",
		train.Interrupted:     "stopped from outside, saved",
	}
	fmt.Fprintf(p.w, "\n%s after %s steps in %s: %s\n", r.Status, count(r.Steps), duration(r.Seconds), why[r.Status])
	fmt.Fprintf(p.w, "test accuracy   %.2f %%\n", 100*r.TestAccuracy)
	fmt.Fprintf(p.w, "privacy         ε = %s at δ = %g (%s)\n", accountant.RoundUp(r.Epsilon, 3), r.Delta, r.Accountant)
	fmt.Fprintf(p.w, "speed           %s examples/s\n", count(int(r.ExamplesPerSecond)))
	fmt.Fprintf(p.w, "in %s: model.safetensors, privacy.md, metrics.jsonl\n", r.Run)
}

func spend(s train.Progress) string {
	spent := "ε " + accountant.RoundUp(s.Spent.Epsilon, 2)
	if s.Budget != nil {
		spent += fmt.Sprintf(" of %g", s.Budget.Epsilon)
	}
	return spent
}

func accuracy(s train.Progress) string {
	if s.Evaluation == (train.Evaluation{}) {
		return "test –"
	}
	return fmt.Sprintf("test %.1f %%", 100*s.Evaluation.Accuracy)
}

// left estimates the time of the remaining steps.
func left(s train.Progress) string {
	if s.Step == 0 || s.SecondsPerStep == 0 {
		return "–"
	}
	return duration(float64(s.Steps-s.Step) * s.SecondsPerStep)
}
