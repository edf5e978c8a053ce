package ask

import (
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/questions"

	"github.com/spf13/cobra"
)

// solvable are what `train calibrate` solves for.
var solvable = map[string]questions.Unknown{
	"noise-multiplier":     questions.NoiseMultiplier,
	"sampling-probability": questions.SamplingProbability,
}

func calibrateCommand(a *shell.App) *cobra.Command {
	q := &question{unknown: questions.NoiseMultiplier}
	var solve string
	c := questionCommand(a, q, &cobra.Command{
		Use:   "calibrate [RUN]",
		Short: "Compute the noise multiplier with which steps stay within a budget",
		Long: `Compute the least noise multiplier with which steps stay within a budget (ε, δ); or, with --solve
sampling-probability, the largest sampling probability for a noise multiplier and a number of steps.

With the folder of a run: the one that everything in its ledger could have had, by the budget of its configuration unless
--epsilon and --delta say another.

` + batchHelp + `
Here "target_epsilon" is the budget, and the
phases leave out "noise_multiplier" or "sampling_probability": that is solved for and added.`,
		Example: `  train calibrate --epsilon 3 --examples 60000 --batch-size 512 --epochs 40 --delta 1e-5
  train calibrate --epsilon 1 --sampling-probability 0.01 --steps 10000 --delta 1e-6 --json
  train calibrate --solve sampling-probability --noise-multiplier 1.1 --steps 5000 --epsilon 3 --delta 1e-5
  train calibrate runs/digits-1 --epsilon 1
  echo '{"phases":[{"sampling_probability":0.01,"steps":1000}],' \
    '"target_epsilon":2,"delta":1e-5}' | train calibrate --batch`,
		PreRunE: func(*cobra.Command, []string) error {
			unknown, ok := solvable[solve]
			if !ok {
				return shell.Usagef("found --solve %s, expected noise-multiplier or sampling-probability", solve)
			}
			q.unknown = unknown
			return nil
		},
	})
	c.Flags().StringVar(&solve, "solve", "noise-multiplier", "what is solved for: noise-multiplier or sampling-probability")
	return c
}
