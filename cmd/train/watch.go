package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"dpsgd/accountant"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/account"
	"dpsgd/internal/gradients"
	"dpsgd/internal/run"
	"dpsgd/internal/statement"
	"dpsgd/internal/train"
	"dpsgd/internal/web"

	"github.com/spf13/cobra"
)

// runWatcher prints the plan of a run, its progress, and its result.
type runWatcher struct{ shell.Display }

func (p *runWatcher) Started(o train.Overview) {
	fmt.Fprintf(p.W, "run       %s\n", o.Run)
	fmt.Fprintf(p.W, "data      %s, %s training examples\n", o.Data, shell.Count(o.Examples))
	if n := o.Plan.Records; n != o.Examples {
		fmt.Fprintf(p.W, "protects  %s, of %s\n", o.Plan.Unit, shell.Count(n))
	}
	fmt.Fprintf(p.W, "model     %s parameters\n", shell.Count(o.Parameters))
	plan := o.Plan
	fmt.Fprintf(p.W, "privacy   noise multiplier %.4f, clip norm %g\nsampling  %s, probability %.4g\n", plan.NoiseMultiplier(), plan.Policy.Bound(), plan.Sampler.Name(), plan.SamplingProbability)
	by := ""
	if plan.Accountant.Name() != account.RDP { // which is shown beside it
		by = " by " + plan.Accountant.Name()
	}
	if plan.Budget != nil {
		fits := ""
		if plan.MaxSteps < plan.Steps {
			fits = fmt.Sprintf(", of which %s fit", shell.Count(plan.MaxSteps))
		}
		fmt.Fprintf(p.W, "budget    ε ≤ %g at δ = %g%s, %s steps planned%s\n", plan.Budget.Epsilon, plan.Delta, by, shell.Count(plan.Steps), fits)
	} else {
		fmt.Fprintf(p.W, "budget    none, %s steps planned, ε reported at δ = %g%s\n", shell.Count(plan.Steps), plan.Delta, by)
	}
	if len(o.Processes) > 0 {
		fmt.Fprintf(p.W, "ranks     %s\n", rankNumbers(o.Processes))
	}
	if o.ResumedAt > 0 || o.LedgerEntries > 0 {
		fmt.Fprintf(p.W, "resumed   at step %s; the ledger holds %s releases, which all count\n", shell.Count(o.ResumedAt), shell.Count(o.LedgerEntries))
	}
	if o.PrivateDiagnosed {
		p.Warned("run.private_diagnostics is on: diagnostics.private.jsonl is NOT private")
	}
	fmt.Fprintln(p.W)
	p.Told()
	if p.Bars {
		fmt.Fprintln(p.W, "steps, ε of the budget, test accuracy, examples per second, time left:")
		p.StartBar(int64(plan.Steps))
		p.Show(int64(o.ResumedAt), "%d/%d", o.ResumedAt, plan.Steps)
	}
}

func (p *runWatcher) Stepped(s train.Progress) {
	if p.Bars {
		p.ShowFitting(int64(s.Step), func(width int) string { return liveText(s, width) })
		return
	}
	if p.Due(s.Evaluated) {
		fmt.Fprintf(p.W, "step %d/%d  %s  %s  %s%s examples/s  %s left\n", s.Step, s.Steps, spend(s, 2), accuracy(s), clipNorm(s), shell.Count(int(s.ExamplesPerSecond)), left(s))
	}
}

func (p *runWatcher) Finished(r train.Result) {
	p.EndBar()
	why := map[run.Status]string{
		run.Done:            "all planned steps ran",
		run.BudgetExhausted: "no step more fits plan and budget",
		run.Interrupted:     "stopped from outside, saved",
	}
	fmt.Fprintf(p.W, "\n%s after %s steps in %s: %s\n", r.Status, shell.Count(r.Steps), shell.Duration(r.Seconds), why[r.Status])
	of := ""
	if r.Average != "none" {
		of = fmt.Sprintf(" by the average of the parameters (%s), as in the model", r.Average)
	}
	fmt.Fprintf(p.W, "%-15s %s%s\n", r.Test.Name(), r.Test, of)
	printExtremes(p.W, r.ByClass)
	fmt.Fprintf(p.W, "privacy         %s\n", shell.Guarantee(r.Epsilon, r.Delta, r.Accountant, r.EpsilonRDP))
	printLeft(p.W, r.TargetEpsilon, r.Epsilon)
	printReleased(p.W, r.Released)
	printTogether(p.W, r.Together)
	if r.ExamplesPerSecond > 0 { // a run that was done when it was resumed took no step
		fmt.Fprintf(p.W, "speed           %s examples/s (times are no part of the guarantee)\n", shell.Count(int(r.ExamplesPerSecond)))
	}
	fmt.Fprintf(p.W, "in %s: model.safetensors, privacy.md, metrics.jsonl\n", r.Run)
}

// spend returns the ε spent, that by RDP, if there is one, with so many decimals, and the budget.
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
	if s.Evaluation == (gradients.Evaluation{}) {
		return "test –"
	}
	return "test " + s.Evaluation.Short()
}

// clipNorm returns text with the clip norm of the next step, or "" if all steps have the same.
func clipNorm(s train.Progress) string {
	if s.ClipNorm == 0 {
		return ""
	}
	return fmt.Sprintf("clip norm %.3g  ", s.ClipNorm)
}

// left returns the estimated time of the remaining steps, or "–" while there is no estimate.
func left(s train.Progress) string {
	if s.Step == 0 || s.SecondsPerStep == 0 {
		return "–"
	}
	return shell.Duration(float64(s.Steps-s.Step) * s.SecondsPerStep)
}

// liveText returns the text beside the bar of a run: steps, spend, accuracy, speed and time left,
// as much of them as fits into width columns.
func liveText(s train.Progress, width int) string {
	steps, rate, test := fmt.Sprintf("%d/%d", s.Step, s.Steps), shell.Short(s.ExamplesPerSecond), accuracy(s)
	short, single := strings.TrimPrefix(test, "test "), s
	single.Spent.EpsilonRDP = nil
	texts := [][]string{
		{steps, spend(s, 2), test, rate + " examples/s", left(s) + " left"},
		{steps, spend(s, 2), test, rate + "/s", left(s) + " left"},
		{steps, spend(s, 0), test, rate + "/s", left(s) + " left"},
		{steps, spend(single, 2), test, rate + "/s", left(s) + " left"},
		{steps, spend(single, 2), test, left(s) + " left"},
		{steps, spend(single, 2), short, left(s)},
		{steps, spend(single, 2), short},
		{steps, spend(single, 2)},
	}
	for _, t := range texts {
		if text := strings.Join(t, "  "); utf8.RuneCountInString(text) <= width {
			return text
		}
	}
	return shell.Cut(steps, max(1, width))
}

// printLeft writes what spent, an ε, leaves of the budget of a run; nothing if budget is 0.
func printLeft(w io.Writer, budget, spent float64) {
	if budget > 0 {
		fmt.Fprintf(w, "budget          ε ≤ %g, left %s\n", budget, accountant.RoundDown(budget-spent, 3))
	}
}

// printReleased writes the ε of the releases made by now, where the ε above it is of all planned.
func printReleased(w io.Writer, now *account.Answer) {
	if now != nil {
		fmt.Fprintf(w, "                which is that of all that was planned; of the releases by now it is %s,\n                only if no decision to stop looked at a result\n", accountant.RoundUp(now.Epsilon, 3))
	}
}

// printTogether writes what all runs on the data cost, and the limit of that data, if it has one.
func printTogether(w io.Writer, t statement.Together) {
	if all := t.DatasetTotal(); all != "" {
		fmt.Fprintf(w, "on this data    %s\n", strings.Join(shell.Wrap(all, 64), "\n                "))
	}
	if limit := t.LimitLine(); limit != "" {
		fmt.Fprintf(w, "                %s\n", limit)
	}
}

func serveFlag(c *cobra.Command, address *string) {
	c.Flags().StringVar(address, "serve", "", "show the job in a browser while it goes on, as in --serve or --serve=127.0.0.1:9000")
	c.Flags().Lookup("serve").NoOptDefVal = web.Default
}

// followed calls work with a page about it at address, or with nil if that is "". An address that
// cannot be had ends the command before anything is done.
func followed(a *shell.App, address string, work func(*web.Page) error) error {
	if address == "" {
		return work(nil)
	}
	page, err := web.Follow(address, version())
	if err != nil {
		return shell.AsUsage(fmt.Errorf("--serve: %w", err))
	}
	fmt.Fprintf(a.Err, "train: live view at %s\n", page.URL())
	err = work(page)
	if problem := page.Close(); problem != nil {
		a.Warn(fmt.Sprintf("the live view ended early: %v", problem)) // the work is done all the same
	}
	return err
}
