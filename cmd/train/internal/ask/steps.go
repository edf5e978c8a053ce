package ask

import (
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/questions"

	"github.com/spf13/cobra"
)

func stepsCommand(a *shell.App) *cobra.Command {
	return questionCommand(a, &question{unknown: questions.Steps}, &cobra.Command{
		Use:   "steps [RUN]",
		Short: "Compute how many steps stay within a budget",
		Long: `Compute how many steps stay within a budget (ε, δ).

With the folder of a run: how many more of the kind that its ledger ends with, by the budget of its configuration
unless --epsilon and --delta say another.

` + batchHelp + `
Here "target_epsilon" is the budget, and the
last phase leaves out "steps": they are solved for, after those of the phases before it, and added.`,
		Example: `  train steps --epsilon 3 --examples 60000 --batch-size 512 --noise-multiplier 1.1 --delta 1e-5
  train steps --epsilon 3 --sampling-probability 0.01 --noise-multiplier 1.1 --delta 1e-5 --accountant rdp --json
  train steps runs/digits-1 --epsilon 5
  echo '{"phases":[{"sampling_probability":0.01,"noise_multiplier":1}],' \
    '"target_epsilon":2,"delta":1e-5}' | train steps --batch`,
	})
}
