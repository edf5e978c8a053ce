package main

import (
	"fmt"
	"io"

	"dpsgd/accountant"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/internal/pate"
	"dpsgd/internal/run"

	"github.com/spf13/cobra"
)

func pateCommand(a *shell.App) *cobra.Command {
	var o run.Options
	var file string
	var set []string
	c := &cobra.Command{
		Use:   "pate CONFIG|PRESET",
		Short: "Train a student on what private teachers answer (PATE)",
		Long: `Train a student on what private teachers answer (PATE).

Teachers learn without privacy, each from its own part of the training examples. They vote on public pictures
without labels, which are a part of the test examples, and noise is added to their votes. The student learns from
these answers alone. The teachers' accuracy and the data-dependent ε that are printed are NOT PRIVATE.

With --votes: only say what the aggregation of a configuration would cost for votes of your own teachers. The file
has comma-separated values: a row for each question, a column for each class with how many teachers vote for it.
Nothing is drawn, and no ledger is written. So many questions are answered as privacy.epsilon allows.`,
		Example: `  train pate pate-digits
  train pate pate-digits --votes votes.csv --set pate.teachers=250
  train pate pate-mnist --set privacy.epsilon=1 --json`,
		Args: shell.Args(1, 1, "one: a configuration file or the name of a preset"),
		RunE: func(c *cobra.Command, args []string) error {
			config, err := configs.Load(args[0], set)
			if err != nil {
				return shell.AsUsage(err)
			}
			if c.Flags().Changed("votes") {
				return analyseVotes(a, config, file)
			}
			o.Name = baseName(args[0])
			return carryOutPate(a, c, config, "", o)
		},
	}
	dataDirFlag(c, &o.DataDir)
	runsDirFlag(c, &o.RunsDir)
	setFlag(c, &set)
	c.Flags().StringVar(&file, "votes", "", "counts of votes, .csv: analyse them, and train nothing")
	a.ProgressFlag(c)
	return c
}

// analyseVotes prints what the aggregation in config costs for the votes in a .csv file.
func analyseVotes(a *shell.App, config *configs.Config, file string) error {
	table, err := pate.ReadVotes(file)
	if err != nil {
		return shell.AsUsage(err)
	}
	return shell.Show(a, func(w io.Writer, r pate.Analysis) {
		fmt.Fprintf(w, "votes           %s teachers, %s questions, %s classes\n", shell.Count(r.Teachers), shell.Count(r.Questions), shell.Count(r.Classes))
		fmt.Fprintf(w, "privacy         ε = %s at δ = %g for any votes, %s answers; %s; %s\n", accountant.RoundUp(r.Epsilon, 3), r.Delta, shell.Count(r.Answers), r.Method, r.Relation)
		fmt.Fprintf(w, "data-dependent  ε = %s (NOT PRIVATE: a function of these votes; not to be published unless it is released by its smooth sensitivity), %s answered\n", accountant.RoundUp(r.EpsilonDataDependent, 3), shell.Count(r.Likely))
		if r.EpsilonReleased != nil {
			fmt.Fprintf(w, "released        ε of about %s (NOT PRIVATE before the noise of that release is drawn)\n", accountant.RoundUp(*r.EpsilonReleased, 3))
		}
	})(pate.Analyse(config, table))
}

// carryOutPate begins a PATE run or, if dir is not "", goes on with the one in that folder.
func carryOutPate(a *shell.App, c *cobra.Command, config *configs.Config, dir string, o run.Options) error {
	p := &pateWatcher{Display: a.Display()}
	o.Computed, o.Warned, o.Waits = computed(a), p.Warned, a.Waits
	r, err := start(config, dir, pate.Options{Options: o, Started: p.started, Progress: p.progress}, pate.Create, pate.Open)
	if err != nil {
		return err
	}
	defer r.Close()
	defer a.Saving()()
	if err := r.CarryOut(c.Context()); err != nil {
		return err
	}
	return stopped(a, c, r.Result.Status, "and saved; "+goOn(c, r.Result.Run), a.Print(r.Result, nil, func(w io.Writer) { printPate(w, r.Result) }))
}

func printPate(w io.Writer, r pate.Result) {
	fmt.Fprintf(w, "\n%s after %s questions, %s answered, in %s\n", r.Status, shell.Count(r.Queries), shell.Count(r.Answered), shell.Duration(r.Seconds))
	fmt.Fprintf(w, "privacy         %s\n", shell.Guarantee(r.Epsilon, r.Delta, r.Claimed.Accountant, r.Claimed.EpsilonRDP))
	printReleased(w, r.Claimed.Released)
	if r.Status == run.Interrupted {
		return
	}
	dependent, mark := r.EpsilonDataDependent, "NOT PRIVATE: not released"
	if r.Released != nil {
		dependent, mark = r.Released, "released"
	}
	fmt.Fprintf(w, "data-dependent  ε = %s (%s), for this training set alone\n", accountant.RoundUp(*dependent, 3), mark)
	fmt.Fprintf(w, "teachers        %.2f %% (NOT PRIVATE), of the answers %.2f %% are right\n", 100**r.TeacherAccuracy, 100*r.Aggregated)
	fmt.Fprintf(w, "student         %.2f %% of the test examples outside the pool\n", 100**r.StudentAccuracy)
	printTogether(w, r.Together)
	fmt.Fprintf(w, "in %s: model.safetensors, privacy.md, metrics.jsonl\n", r.Run)
}

type pateWatcher struct {
	shell.Display
	stage string
}

func (p *pateWatcher) started(r *pate.Run) {
	fmt.Fprintf(p.W, "run       %s\n", r.Dir)
	fmt.Fprintf(p.W, "teachers  %s, on %s training examples\n", shell.Count(r.Plan.Teachers), shell.Count(r.Plan.Examples))
	fmt.Fprintf(p.W, "budget    ε ≤ %g at δ = %g for all data sets: %s questions, at most %s answers\n\n", r.Plan.Budget.Epsilon, r.Plan.Budget.Delta, shell.Count(r.Plan.Queries), shell.Count(r.Plan.Answers))
	p.Told()
}

func (p *pateWatcher) progress(s pate.Progress) {
	changed := s.Stage != p.stage
	if p.stage = s.Stage; changed {
		p.EndBar()
	}
	text := fmt.Sprintf("%s %d/%d", s.Stage, s.Done, s.Total)
	if s.Stage != "teachers" {
		mark := "NOT PRIVATE"
		if s.Released {
			mark = "released"
		}
		text += fmt.Sprintf("  ε %s, data-dependent %s (%s)  answered %d", accountant.RoundUp(s.Spent.Epsilon, 2), accountant.RoundUp(s.Dependent, 2), mark, s.Answered)
	}
	if s.Accuracy > 0 {
		text += fmt.Sprintf("  test %.1f %%", 100*s.Accuracy)
	}
	p.Step(s.Done, s.Total, changed, text)
}
