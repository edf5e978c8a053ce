package ask

import (
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/questions"

	"github.com/spf13/cobra"
)

func epsilonCommand(a *shell.App) *cobra.Command {
	return questionCommand(a, &question{unknown: questions.Epsilon}, &cobra.Command{
		Use:   "epsilon [RUN]",
		Short: "Compute ε of a run's ledger, or of steps that are only thought of",
		Long: `Compute ε at δ.

With the folder of a run: of everything in its ledger, also while the run is going on; --delta asks about another δ
than that of its configuration, --accountant asks another accountant. Without one: of --steps updates with the given
noise and sampling. The accountants exact and pld also bound the true ε from below.

` + batchHelp,
		Example: `  train epsilon runs/digits-1
  train epsilon runs/digits-1 --accountant pld
  train epsilon --examples 60000 --batch-size 512 --epochs 40 --noise-multiplier 1.1 --delta 1e-5
  train epsilon --sampling-probability 0.01 --steps 10000 --noise-multiplier 1.1 --delta 1e-5 --json
  train epsilon --batch < questions.jsonl
  echo '{"phases":[{"sampling_probability":0.01,"noise_multiplier":1,"steps":1000}],"delta":1e-5}' | train epsilon --batch`,
	})
}
