package main

import (
	"fmt"
	"time"

	"dpsgd/accountant"
	"dpsgd/internal/compute"
	"dpsgd/internal/train"
)

// runWatcher shows a run.
type runWatcher struct{ display }

func (a *app) watcher() train.Watcher { return &runWatcher{a.display()} }

func (p *runWatcher) Started(o train.Overview) {
	fmt.Fprintf(p.w, "run       %s\n", o.Run)
	fmt.Fprintf(p.w, "data      %s, %s training examples\n", o.Data, count(o.Examples))
	fmt.Fprintf(p.w, "model     %s parameters\n", count(o.Parameters))
	plan := o.Plan
	fmt.Fprintf(p.w, "privacy   noise multiplier %.4f, clip norm %g, sampling probability %.4g\n", plan.NoiseMultiplier, plan.Policy.Bound(), plan.SamplingProbability)
	by := ""
	if twoAccountants(plan) {
		by = " by " + plan.Accountant.Name()
	}
	if plan.Budget != nil {
		fits := ""
		if plan.MaxSteps < plan.Steps {
			fits = fmt.Sprintf(", of which %s fit", count(plan.MaxSteps))
		}
		fmt.Fprintf(p.w, "budget    ε ≤ %g at δ = %g%s, %s steps planned%s\n", plan.Budget.Epsilon, plan.Delta, by, count(plan.Steps), fits)
	} else {
		fmt.Fprintf(p.w, "budget    none, %s steps planned, ε reported at δ = %g%s\n", count(plan.Steps), plan.Delta, by)
	}
	if o.ResumedAt > 0 || o.LedgerEntries > 0 {
		fmt.Fprintf(p.w, "resumed   at step %s; the ledger holds %s releases\n", count(o.ResumedAt), count(o.LedgerEntries))
	}
	if o.PrivateDiagnosed {
		p.Warned("run.private_diagnostics is on: diagnostics.private.jsonl is NOT private")
	}
	fmt.Fprintln(p.w)
	p.last = time.Now()
	if p.bars {
		width := barWidth
		if twoAccountants(plan) {
			width = narrowBarWidth
		}
		p.bar = newBar(p.w, int64(plan.Steps), width)
		p.show(int64(o.ResumedAt), "%d/%d", o.ResumedAt, plan.Steps)
	}
}

func (p *runWatcher) Stepped(s train.Progress) {
	width := textWidth
	if s.Spent.EpsilonRDP != nil {
		width = narrowTextWidth
	}
	if p.bars {
		p.showText(int64(s.Step), liveText(s, width))
		return
	}
	if !p.due() && !s.Evaluated {
		return
	}
	p.last = time.Now()
	fmt.Fprintf(p.w, "step %d/%d  %s  %s  %s%s examples/s  %s left\n", s.Step, s.Steps, spend(s, 2), accuracy(s), clipNorm(s), count(int(s.ExamplesPerSecond)), left(s))
}

func (p *runWatcher) Finished(r train.Result) {
	p.endBar()
	why := map[train.Status]string{
		train.Done:            "all planned steps ran",
		train.BudgetExhausted: "one more step would pass the budget",
		train.Interrupted:     "stopped from outside, saved",
	}
	fmt.Fprintf(p.w, "\n%s after %s steps in %s: %s\n", r.Status, count(r.Steps), duration(r.Seconds), why[r.Status])
	of := ""
	if r.Average != "none" {
		of = fmt.Sprintf(" by the average of the parameters (%s), as in the model", r.Average)
	}
	fmt.Fprintf(p.w, "test accuracy   %.2f %%%s\n", 100*r.TestAccuracy, of)
	fmt.Fprintf(p.w, "privacy         %s\n", guarantee(r.Epsilon, r.Delta, r.Accountant, r.EpsilonRDP))
	if r.DatasetRuns > 0 {
		fmt.Fprintf(p.w, "on this data    ε = %s at δ = %g for all %s runs together\n", accountant.RoundUp(r.DatasetEpsilon, 3), r.DatasetDelta, count(r.DatasetRuns))
	}
	fmt.Fprintf(p.w, "speed           %s examples/s (times are no part of the guarantee)\n", count(int(r.ExamplesPerSecond)))
	fmt.Fprintf(p.w, "in %s: model.safetensors, privacy.md, metrics.jsonl\n", r.Run)
}

// twoAccountants says whether RDP is shown beside the accountant of a plan.
func twoAccountants(p *train.RunPlan) bool { return p.Accountant.Name() != "rdp" }

// guarantee is what was spent and by whose account, with what RDP says beside another accountant.
func guarantee(epsilon, delta float64, accountedBy string, byRDP *float64) string {
	beside := ""
	if byRDP != nil {
		beside = fmt.Sprintf("; by rdp it is ε = %s", accountant.RoundUp(*byRDP, 3))
	}
	return fmt.Sprintf("ε = %s at δ = %g (%s)%s", accountant.RoundUp(epsilon, 3), delta, accountedBy, beside)
}

// spend is what was spent so far, with so many decimals for what RDP says.
func spend(s train.Progress, decimals int) string {
	spent := "ε " + accountant.RoundUp(s.Spent.Epsilon, 2)
	if s.Spent.EpsilonRDP != nil {
		spent += fmt.Sprintf(" (rdp %s)", accountant.RoundUp(*s.Spent.EpsilonRDP, decimals))
	}
	if s.Budget != nil {
		spent += fmt.Sprintf(" of %g", s.Budget.Epsilon)
	}
	return spent
}

func accuracy(s train.Progress) string {
	if s.Evaluation == (compute.Evaluation{}) {
		return "test –"
	}
	return fmt.Sprintf("test %.1f %%", 100*s.Evaluation.Accuracy)
}

// clipNorm is that of the next step, where steps differ in it.
func clipNorm(s train.Progress) string {
	if s.ClipNorm == 0 {
		return ""
	}
	return fmt.Sprintf("clip norm %.3g  ", s.ClipNorm)
}

// left estimates the time of the remaining steps.
func left(s train.Progress) string {
	if s.Step == 0 || s.SecondsPerStep == 0 {
		return "–"
	}
	return duration(float64(s.Steps-s.Step) * s.SecondsPerStep)
}
