package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"dpsgd/accountant"
	"dpsgd/internal/train"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// watcher shows a run: a progress bar on a terminal, plain lines elsewhere. With --json all of it goes to
// standard error, so that standard output is the result alone.
func (a *app) watcher() train.Watcher {
	w := a.out
	if a.json {
		w = a.err
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &barWatcher{plainWatcher: plainWatcher{w: w}}
	}
	return &plainWatcher{w: w, every: 10 * time.Second}
}

// print writes a result: as one JSON object on one line with --json; otherwise people have already read it.
func (a *app) print(result any) error {
	if !a.json {
		return nil
	}
	line, err := json.Marshal(result)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s\n", line)
	return err
}

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
		fmt.Fprintln(p.w, "WARNING   run.private_diagnostics is on: diagnostics.private.jsonl is NOT private")
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
		train.Interrupted:     "interrupted",
	}
	fmt.Fprintf(p.w, "\n%s after %s steps in %s: %s\n", r.Status, count(r.Steps), duration(r.Seconds), why[r.Status])
	fmt.Fprintf(p.w, "test accuracy   %.2f %%\n", 100*r.TestAccuracy)
	fmt.Fprintf(p.w, "privacy         ε = %s at δ = %g (%s)\n", accountant.RoundUp(r.Epsilon, 3), r.Delta, r.Accountant)
	fmt.Fprintf(p.w, "speed           %s examples/s\n", count(int(r.ExamplesPerSecond)))
	fmt.Fprintf(p.w, "in %s: model.safetensors, privacy.md, metrics.jsonl\n", r.Run)
}

// barWatcher draws a progress bar between the lines at the start and at the end.
type barWatcher struct {
	plainWatcher
	bar *progressbar.ProgressBar
}

func (b *barWatcher) Started(o train.Overview) {
	b.plainWatcher.Started(o)
	b.bar = progressbar.NewOptions(o.Plan.Steps,
		progressbar.OptionSetWriter(b.w),
		progressbar.OptionSetWidth(16),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetTheme(progressbar.ThemeUnicode),
	)
	b.bar.Set(o.ResumedAt)
}

func (b *barWatcher) Stepped(s train.Progress) {
	b.bar.Describe(fmt.Sprintf("%d/%d %s %s %s/s %s", s.Step, s.Steps, spend(s), accuracy(s), short(s.ExamplesPerSecond), left(s)))
	b.bar.Set(s.Step)
}

func (b *barWatcher) Finished(r train.Result) {
	fmt.Fprintln(b.w)
	b.plainWatcher.Finished(r)
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

func duration(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

// count writes a number with thousands separated.
func count(n int) string {
	digits := fmt.Sprint(n)
	var parts []string
	for len(digits) > 3 {
		parts = append([]string{digits[len(digits)-3:]}, parts...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, parts...), ",")
}

// short writes a rate in a few characters.
func short(rate float64) string {
	if rate >= 10000 {
		return fmt.Sprintf("%.0fk", rate/1000)
	}
	return fmt.Sprintf("%.0f", rate)
}
