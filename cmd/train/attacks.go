package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"dpsgd/accountant"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/attack"
	"dpsgd/internal/report"
	"dpsgd/internal/score"
	"dpsgd/internal/train"

	"github.com/spf13/cobra"
)

func attackCommand(a *shell.App) *cobra.Command {
	return group(&cobra.Command{
		Use:   "attack",
		Short: "Attack answers and models, to see what noise buys",
		Long: `Attack answers about drawn people, with noise and without, and the model of a run: to see what noise buys, and that it
does. All but membership draw their data, take seconds, and hold nothing of anybody.`,
		Example: `  train attack differencing --out differencing.svg
  train attack membership runs/digits-1`,
	}, sensitivityCommand(a), differencingCommand(a), reconstructionCommand(a), membershipCommand(a))
}

func sensitivityCommand(a *shell.App) *cobra.Command {
	var out string
	var people int
	var epsilon float64
	c := &cobra.Command{
		Use:   "sensitivity",
		Short: "Measure how far one person moves counts, sums and means",
		Long: `Measure how far one person moves counts, sums and means: over the databases in which one of the drawn
people is missing, and on the worst database. Noise has to hide the bound, which holds for all databases, not what was measured on
one. The picture shows the answers to the count with somebody and without, with noise.`,
		Example: "  train attack sensitivity --out sensitivity.svg",
		Args:    shell.None,
		RunE: func(*cobra.Command, []string) error {
			if !(epsilon >= 0.01 && epsilon <= 100) || people < 2 || people > 100_000 {
				return shell.Usagef("found --people %d and --epsilon %g, expected 2 to 100,000 people and an ε from 0.01 to 100", people, epsilon)
			}
			return shell.ShowDrawn(a, out, picture, func(w io.Writer, s *attack.Sensitivity) {
				shell.PrintRows(w, []string{"query", "answer", "one person, here", "at worst", "bound", "noise for ε"}, s.Queries, func(q attack.Query) []string {
					return []string{q.Name, attackNumber(q.Answer), attackNumber(q.Measured), attackNumber(q.Worst), attackNumber(q.Bound), attackNumber(q.Noise)}
				})
				fmt.Fprintf(w, "\n%s drawn people; the noise is the standard deviation that ε = %g takes, by Laplace\n", shell.Count(s.People), s.Epsilon)
			})(attack.Sensitivities(people, epsilon, 20_000))
		},
	}
	c.Flags().IntVar(&people, "people", 1000, "how many people are drawn")
	c.Flags().Float64Var(&epsilon, "epsilon", 1, "ε of one answer")
	shell.PictureFlag(c, &out, "out", "a picture")
	return c
}

func differencingCommand(a *shell.App) *cobra.Command {
	var out, noise string
	var trials int
	c := &cobra.Command{
		Use:   "differencing",
		Short: "Find one person's value from two answers that differ by him",
		Long: `Find one person's bit from two answers: how many people have a one, and how many of all others. Without noise their
difference is the bit. With noise nobody is right more often than the ε of one answer allows, also not somebody who knows
all others.`,
		Example: "  train attack differencing --out differencing.svg",
		Args:    shell.None,
		RunE: func(*cobra.Command, []string) error {
			if trials < 1 || trials > 1_000_000 {
				return shell.Usagef("found --trials %d, expected 1 to 1,000,000", trials)
			}
			result, err := attack.Difference(attack.Noise(noise), trials)
			return shell.ShowDrawn(a, out, picture, func(w io.Writer, d *attack.Differencing) {
				shell.PrintRows(w, []string{"ε", "difference %", "knows others %", "95 % interval", "best %", "by ε alone %"}, d.Rows, func(g attack.Guess) []string {
					epsilon := "no noise"
					if g.Epsilon > 0 {
						epsilon = fmt.Sprintf("%g", g.Epsilon)
					}
					return []string{epsilon, shell.Percent(g.Difference.Accuracy), shell.Percent(g.Informed.Accuracy), interval(g.Informed), shell.Percent(g.Allowed), shell.Percent(g.Bound)}
				})
				fmt.Fprintf(w, "\n%s noise, %s trials each; guessing is right in 50 %%\n", d.Noise, shell.Count(d.Trials))
			})(result, shell.AsUsage(err))
		},
	}
	c.Flags().IntVar(&trials, "trials", 10_000, "how often each attack is tried, with people drawn anew")
	noiseFlag(c, &noise)
	shell.PictureFlag(c, &out, "out", "a picture")
	return c
}

func reconstructionCommand(a *shell.App) *cobra.Command {
	var out, noise string
	var people, queries int
	c := &cobra.Command{
		Use:   "reconstruction",
		Short: "Find everybody's value from many noisy answers",
		Long: `Find the bit of everybody from answers to how many people of random subsets have a one, by least squares (Dinur, Nissim
2003). With noise far below √people nearly all are found, however harmless one answer looks; the ε of all answers
together says so ahead.`,
		Example: "  train attack reconstruction --out reconstruction.svg",
		Args:    shell.None,
		RunE: func(c *cobra.Command, _ []string) error {
			if !c.Flags().Changed("queries") {
				queries = 5 * people
			}
			result, err := attack.Reconstruct(attack.Noise(noise), people, queries)
			return shell.ShowDrawn(a, out, picture, func(w io.Writer, r *attack.Reconstruction) {
				shell.PrintRows(w, []string{"noise / √people", "ε of all answers", "found %", "95 % interval", "allowed %"}, r.Rows, func(row attack.Found) []string {
					epsilon := "–"
					if row.Epsilon > 0 {
						epsilon = accountant.RoundUp(row.Epsilon, 2)
					}
					return []string{fmt.Sprintf("%g", row.Ratio), epsilon, shell.Percent(row.Recovered.Accuracy), interval(row.Recovered), shell.Percent(row.Allowed)}
				})
				fmt.Fprintf(w, "\n%s noise on %s answers about %s people, %d times; guessing finds 50 %%\n", r.Noise, shell.Count(r.Queries), shell.Count(r.People), r.Repeated)
			})(result, shell.AsUsage(err))
		},
	}
	c.Flags().IntVar(&people, "people", 200, "how many people are drawn")
	c.Flags().IntVar(&queries, "queries", 0, "how many answers there are (default 5 for each of the people)")
	noiseFlag(c, &noise)
	shell.PictureFlag(c, &out, "out", "a picture")
	return c
}

func membershipCommand(a *shell.App) *cobra.Command {
	var out string
	var options train.Options
	c := &cobra.Command{
		Use:   "membership RUN",
		Short: "Tell the training examples of a model from others: NOT PRIVATE",
		Long: `Tell the training examples of a run's model from its test examples by how sure the model is of their class (Yeom et al.
2018), and say what that shows of ε (one-run audit of Steinke, Nasr, Jagielski 2023, on pairs of one of each).

What it prints is computed from training examples without noise and is NOT PRIVATE: do not publish it. Nothing is
written into the folder of the run. It takes training and test examples to be drawn from one source.`,
		Example: "  train attack membership runs/digits-1",
		Args:    shell.Args(1, 1, oneRun),
		RunE: func(c *cobra.Command, args []string) error {
			if err := report.CheckName("--out", out, "membership.private.svg"); err != nil {
				return shell.AsUsage(err)
			}
			if a.JSON {
				a.Warn(notPrivate)
			}
			return shell.ShowDrawn(a, out, picture, printMembership)(attack.OnRun(args[0], options))
		},
	}
	dataFlags(a, c, &options.Request)
	shell.PictureFlag(c, &out, "out", "a picture")
	return c
}

// picture names the file of --out in messages.
const picture = "the picture"

// notPrivate is the warning that stands before what is computed from training examples.
const notPrivate = "NOT PRIVATE: this is computed from training examples without noise. Do not publish it"

func printMembership(w io.Writer, m *attack.Membership) {
	fmt.Fprintf(w, "%s\n\n%s training and %s test examples of %s\n\n", notPrivate, shell.Count(m.Training), shell.Count(m.Test), m.Run)
	shell.PrintRows(w, []string{"errors %", "training noticed %", "test noticed %", "allowed %"}, m.Operating, func(o attack.Operating) []string {
		return []string{
			fmt.Sprintf("%g", 100*o.Rate), shell.Percent(o.TruePositive.Accuracy) + " (" + interval(o.TruePositive) + ")",
			shell.Percent(o.TrueNegative.Accuracy) + " (" + interval(o.TrueNegative) + ")", shell.Percent(o.Allowed),
		}
	})
	fmt.Fprintf(w, "\nAUC  %.4f, 95 %% interval %.4f to %.4f; 0.5 is guessing\n", m.AUC, m.Low, m.High)
	fmt.Fprintf(w, "ε    at least %s by %s right of %s guesses (95 %%),\n", accountant.RoundDown(m.EpsilonAtLeast, 3), shell.Count(m.Right), shell.Count(m.Guesses))
	promised := "no promise about whole examples"
	if m.EpsilonAtMost > 0 {
		promised = "at most " + accountant.RoundUp(m.EpsilonAtMost, 3) + " by the ledger"
	}
	fmt.Fprintf(w, "     %s; at δ = %g, for one example replaced\n", promised, m.Delta)
}

func noiseFlag(c *cobra.Command, noise *string) {
	c.Flags().StringVar(noise, "noise", string(attack.Laplace), "law of the noise: "+strings.Join(attack.Noises(), " or "))
}

// attackNumber writes a number with four significant digits, or all digits of a whole number.
func attackNumber(x float64) string {
	if x == math.Trunc(x) {
		return shell.Count(int(x))
	}
	return fmt.Sprintf("%.4g", x)
}

func interval(s score.Share) string { return shell.Percent(s.Low) + " to " + shell.Percent(s.High) }
