package main

import (
	"fmt"
	"io"
	"slices"

	"dpsgd/accountant"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/account"
	"dpsgd/internal/books"

	"github.com/spf13/cobra"
)

func epsilonCommand(a *shell.App) *cobra.Command {
	c := questionCommand(a, &question{unknown: account.Epsilon}, &cobra.Command{
		Use:   "epsilon [RUN...]",
		Short: "Compute ε of runs, or of planned steps",
		Long: `Compute ε at δ.

With the folder of a run: of everything in its ledger, also while the run is going on; --delta asks about another δ
than that of its configuration, --accountant asks another accountant. With several: of all of them together, for each
data set; train ledger show takes all runs of a folder. Without one: of --steps updates with the given noise and
sampling. The accountants exact and pld also bound the true ε from below.

With --parallel, --shuffle or --iteration: of what a theorem says, under the conditions that stand beside the answer. In
a line of --batch these are keys, with the same keys in an object; "parallel" has a list of objects, each of which may
have phases or ledger instead.

` + batchHelp,
		Example: `  train epsilon runs/digits-1
  train epsilon runs/digits-1 --accountant pld
  train epsilon runs/digits-1 runs/digits-2
  train epsilon --examples 60000 --batch-size 512 --epochs 40 --noise-multiplier 1.1 --delta 1e-5
  train epsilon --sampling-probability 0.01 --steps 10000 --noise-multiplier 1.1 --delta 1e-5 --json
  train epsilon --parallel sampling_probability=0.01,noise_multiplier=1,steps=1000 \
    --parallel sampling_probability=0.1,noise_multiplier=2,steps=50 --delta 1e-5
  train epsilon --shuffle local_epsilon=2,reports=10000 --delta 1e-6
  train epsilon --delta 1e-6 --iteration \
    noise_multiplier=4,passes=20,batches=9,learning_rate=1,smoothness=2
  train epsilon --batch < questions.jsonl
  echo '{"phases":[{"sampling_probability":0.01,"noise_multiplier":1,' \
    '"steps":1000}],"delta":1e-5}' | train epsilon --batch`,
	})
	one, theorem := c.RunE, theoremFlags(a, c)
	c.Args = shell.Args(0, mostRuns, "folders of runs, such as runs/digits-1")
	c.RunE = func(c *cobra.Command, args []string) error {
		if asked, err := theorem(args); asked {
			return err
		}
		if len(args) < 2 {
			return one(c, args)
		}
		if extra := shell.GivenFlag(c, func(name string) bool { return name != "json" }); extra != "" {
			return shell.Usagef("found %s beside %d runs, expected none: they are accounted for together as they are", extra, len(args))
		}
		totals, err := books.Sum(args)
		return a.Print(map[string]any{"datasets": totals}, err, func(w io.Writer) { printDatasetTotals(w, totals) })
	}
	return c
}

// mostRuns is the most runs that one command line may name.
const mostRuns = 100_000

func printDatasetTotals(w io.Writer, totals []books.Total) {
	for _, t := range totals {
		shell.Prosef(w, "%s  %s examples of %s%s", t.Data.Name, shell.Count(t.Data.Examples), t.Data.Shape, ofClasses(t.Data.Classes))
		shell.Prosef(w, "together  %s over %s releases", shell.Guarantee(t.Epsilon, t.Delta, t.Accountant, t.EpsilonRDP), shell.Count(t.Releases))
		shell.Prosef(w, "          %s, if chosen before any result", shell.Guarantee(t.Fixed.Epsilon, t.Fixed.Delta, t.Fixed.Accountant, t.Fixed.EpsilonRDP))
		fmt.Fprintln(w)
		shell.PrintRows(w, []string{"run", "releases", "ε", "δ"}, t.Runs, func(r books.RunTotal) []string {
			return []string{r.Run, shell.Count(r.Releases), accountant.RoundUp(r.Epsilon, 3), fmt.Sprintf("%g", r.Delta)}
		})
		if t.Note != "" {
			fmt.Fprintln(w)
			shell.Prosef(w, "%s.", t.Note)
		}
		fmt.Fprintln(w)
	}
}

// theoremFlags adds a flag for each theorem. It returns a function that answers a command line with
// one of these flags; for one without, asked is false.
func theoremFlags(a *shell.App, c *cobra.Command) func(args []string) (asked bool, err error) {
	texts := map[string]*[]string{}
	for _, t := range account.Theorems() {
		texts[t.Name] = c.Flags().StringArray(t.Name, nil, t.Usage)
	}
	return func(args []string) (bool, error) {
		for _, t := range account.Theorems() {
			if c.Flags().Changed(t.Name) {
				return true, askTheorem(a, c, t, *texts[t.Name], args)
			}
		}
		return false, nil
	}
}

// askTheorem prints the ε that theorem t gives for texts, the values of its flag.
func askTheorem(a *shell.App, c *cobra.Command, t account.Theorem, texts, args []string) error {
	common := map[string]any{}
	extra := shell.GivenFlag(c, func(name string) bool {
		return !slices.Contains([]string{t.Name, "accountant", "relation", "delta", "json"}, name)
	})
	if len(args) > 0 {
		extra = args[0]
	}
	if extra != "" {
		return shell.Usagef("found %s beside --%s, expected none: it says what is asked about", extra, t.Name)
	}
	for _, name := range []string{"accountant", "relation"} {
		if f := c.Flags().Lookup(name); f.Changed {
			common[name] = f.Value.String()
		}
	}
	if c.Flags().Changed("delta") {
		common["delta"], _ = c.Flags().GetFloat64("delta")
	}
	cost, err := t.Ask(new(account.Answerer), texts, common)
	return shell.Show(a, printCost(account.Epsilon))(cost, shell.AsUsage(err))
}
