package ask

import (
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/questions"

	"github.com/spf13/cobra"
)

func deltaCommand(a *shell.App) *cobra.Command {
	return questionCommand(a, &question{unknown: questions.Delta}, &cobra.Command{
		Use:   "delta [RUN]",
		Short: "Compute δ at an ε of a run, or of planned steps",
		Long: `Compute δ at ε.

With the folder of a run: of everything in its ledger, at the ε of its budget unless --epsilon asks about another.
Without one: of --steps updates with the given noise and sampling.

` + batchHelp + `
Here "epsilon" takes the place of "delta", and lower and
upper are bounds of δ.`,
		Example: `  train delta runs/digits-1 --epsilon 2
  train delta --epsilon 3 --examples 60000 --batch-size 512 --epochs 40 --noise-multiplier 1.1
  train delta --epsilon 3 --sampling-probability 0.01 --steps 10000 --noise-multiplier 1.1 --relation replace-one --json
  echo '{"phases":[{"sampling_probability":0.01,"noise_multiplier":1,' \
    '"steps":1000}],"epsilon":2}' | train delta --batch`,
	})
}
