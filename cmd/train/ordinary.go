package main

import (
	"fmt"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/internal/gradients"
	"dpsgd/internal/run"
	"dpsgd/internal/sgd"

	"github.com/spf13/cobra"
)

// carryOutOrdinary begins a run without noise on gradients, or goes on with the one in dir.
func carryOutOrdinary(a *shell.App, c *cobra.Command, config *configs.Config, dir string, o run.Options) error {
	w := &ordinaryWatcher{Display: a.Display()}
	o.Warned = w.Warned
	run, err := start(config, dir, sgd.Options{Options: o, Watcher: sgd.Watcher{Started: w.Started, Stepped: w.Stepped, Finished: w.Finished}}, sgd.Create, sgd.Open)
	if err != nil {
		return err
	}
	defer run.Close()
	defer a.Saving()()
	result, err := run.Fit(c.Context())
	return ended(a, c, result.Status, result.Steps, result.Run, result, err)
}

// ordinaryWatcher prints the progress and the result of a run without noise on gradients.
type ordinaryWatcher struct {
	shell.Display
	private bool
}

func (p *ordinaryWatcher) Started(o sgd.Overview) {
	p.private = o.Private
	fmt.Fprintf(p.W, "run       %s\n", o.Run)
	fmt.Fprintf(p.W, "data      %s, %s training examples\n", o.Data, shell.Count(o.Examples))
	fmt.Fprintf(p.W, "model     %s parameters, %s steps\n", shell.Count(o.Parameters), shell.Count(o.Steps))
	if o.Private {
		fmt.Fprintf(p.W, "privacy   ε ≤ %g for %s: told truly with probability %.3f\n", o.Epsilon, o.Unit, o.Truth)
	} else {
		fmt.Fprintln(p.W, "privacy   NOT PRIVATE: no guarantee (privacy.none)")
	}
	if o.ResumedAt > 0 {
		fmt.Fprintf(p.W, "resumed   at step %s\n", shell.Count(o.ResumedAt))
	}
	fmt.Fprintln(p.W)
	p.Told()
	if p.Bars {
		p.StartBar(int64(o.Steps))
	}
}

func (p *ordinaryWatcher) Stepped(s sgd.Progress) {
	mark, test := "NOT PRIVATE", "test –"
	if p.private {
		mark = s.Phase
	}
	if s.Evaluation != (gradients.Evaluation{}) {
		test = "test " + s.Evaluation.Short()
	}
	if p.Bars {
		p.ShowText(int64(s.Step), fmt.Sprintf("%s  %s  %s/s", mark, test, shell.Count(int(s.ExamplesPerSecond))))
		return
	}
	if p.Due(s.Evaluated) {
		fmt.Fprintf(p.W, "step %d/%d  %s  %s  %s examples/s\n", s.Step, s.Steps, mark, test, shell.Count(int(s.ExamplesPerSecond)))
	}
}

func (p *ordinaryWatcher) Finished(r sgd.Result) {
	p.EndBar()
	fmt.Fprintf(p.W, "\n%s after %s steps in %s\n", r.Status, shell.Count(r.Steps), shell.Duration(r.Seconds))
	fmt.Fprintf(p.W, "%-15s %s\n", r.Test.Name(), r.Test)
	printExtremes(p.W, r.ByClass)
	if r.Private {
		fmt.Fprintf(p.W, "privacy         %s\nprotected       %s; all else of the examples is public\n", shell.Guarantee(*r.Epsilon, *r.Delta, r.Accountant, nil), r.Unit)
	} else {
		fmt.Fprintln(p.W, "privacy         NOT PRIVATE: ε is infinite, the model may hold training examples")
	}
	fmt.Fprintf(p.W, "in %s: model.safetensors, privacy.md, metrics.jsonl\n", r.Run)
}
