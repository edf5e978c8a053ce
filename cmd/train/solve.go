package main

import (
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/account"

	"github.com/spf13/cobra"
)

func askCommands(a *shell.App) []*cobra.Command {
	all := []*cobra.Command{epsilonCommand(a)}
	for _, s := range solvers {
		all = append(all, s.command(a))
	}
	return append(all, compareCommand(a), tradeoffCommand(a))
}

// solver describes a command that asks one accountant for an unknown, such as `train delta`.
type solver struct {
	unknown                    account.Unknown
	use, short, about, example string
	line                       string // how the lines of --batch differ from those of `train epsilon`
}

var solvers = []solver{
	{
		unknown: account.Delta,
		use:     "delta [RUN]",
		short:   "Compute δ at an ε of a run, or of planned steps",
		about: `Compute δ at ε.

With the folder of a run: of everything in its ledger, at the ε of its budget unless --epsilon asks about another.
Without one: of --steps updates with the given noise and sampling.`,
		line: `Here "epsilon" takes the place of "delta", and lower and
upper are bounds of δ.`,
		example: `  train delta runs/digits-1 --epsilon 2
  train delta --epsilon 3 --examples 60000 --batch-size 512 --epochs 40 --noise-multiplier 1.1
  train delta --epsilon 3 --sampling-probability 0.01 --steps 10000 --noise-multiplier 1.1 --relation replace-one --json
  echo '{"phases":[{"sampling_probability":0.01,"noise_multiplier":1,' \
    '"steps":1000}],"epsilon":2}' | train delta --batch`,
	},
	{
		unknown: account.NoiseMultiplier,
		use:     "calibrate [RUN]",
		short:   "Compute the noise multiplier with which steps stay within a budget",
		about: `Compute the least noise multiplier with which steps stay within a budget (ε, δ); or, with --solve
sampling-probability, the largest sampling probability for a noise multiplier and a number of steps.

With the folder of a run: the one that everything in its ledger could have had, by the budget of its configuration unless
--epsilon and --delta say another.`,
		line: `Here "target_epsilon" is the budget, and the
phases leave out "noise_multiplier" or "sampling_probability": that is solved for and added.`,
		example: `  train calibrate --epsilon 3 --examples 60000 --batch-size 512 --epochs 40 --delta 1e-5
  train calibrate --epsilon 1 --sampling-probability 0.01 --steps 10000 --delta 1e-6 --json
  train calibrate --solve sampling-probability --noise-multiplier 1.1 --steps 5000 --epsilon 3 --delta 1e-5
  train calibrate runs/digits-1 --epsilon 1
  echo '{"phases":[{"sampling_probability":0.01,"steps":1000}],' \
    '"target_epsilon":2,"delta":1e-5}' | train calibrate --batch`,
	},
	{
		unknown: account.Steps,
		use:     "steps [RUN]",
		short:   "Compute how many steps stay within a budget",
		about: `Compute how many steps stay within a budget (ε, δ).

With the folder of a run: how many more of the kind that its ledger ends with, by the budget of its configuration
unless --epsilon and --delta say another.`,
		line: `Here "target_epsilon" is the budget, and the
last phase leaves out "steps": they are solved for, after those of the phases before it, and added.`,
		example: `  train steps --epsilon 3 --examples 60000 --batch-size 512 --noise-multiplier 1.1 --delta 1e-5
  train steps --epsilon 3 --sampling-probability 0.01 --noise-multiplier 1.1 --delta 1e-5 --accountant rdp --json
  train steps runs/digits-1 --epsilon 5
  echo '{"phases":[{"sampling_probability":0.01,"noise_multiplier":1}],' \
    '"target_epsilon":2,"delta":1e-5}' | train steps --batch`,
	},
}

func (s solver) command(a *shell.App) *cobra.Command {
	q := &question{unknown: s.unknown}
	c := questionCommand(a, q, &cobra.Command{
		Use: s.use, Short: s.short, Long: s.about + "\n\n" + batchHelp + "\n" + s.line, Example: s.example,
	})
	if s.unknown == account.NoiseMultiplier {
		solveFlag(c, q)
	}
	return c
}

// solveFlag adds --solve, by which `train calibrate` solves for the sampling probability.
func solveFlag(c *cobra.Command, q *question) {
	solve := c.Flags().String("solve", "noise-multiplier", "what is solved for: noise-multiplier or sampling-probability")
	c.PreRunE = func(*cobra.Command, []string) error {
		switch *solve {
		case "noise-multiplier":
		case "sampling-probability":
			q.unknown = account.SamplingProbability
		default:
			return shell.Usagef("found --solve %s, expected noise-multiplier or sampling-probability", *solve)
		}
		return nil
	}
}
