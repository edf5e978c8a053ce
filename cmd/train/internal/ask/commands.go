package ask

import (
	"dpsgd/cmd/train/internal/shell"

	"github.com/spf13/cobra"
)

// Commands lists the commands that ask accountants.
func Commands(a *shell.App) []*cobra.Command {
	return []*cobra.Command{epsilonCommand(a), deltaCommand(a), calibrateCommand(a), stepsCommand(a), compareCommand(a), tradeoffCommand(a)}
}
