package main

import (
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
	"dpsgd/internal/setup"
	"dpsgd/internal/train"

	"github.com/spf13/cobra"
)

func federatedCommand(a *shell.App) *cobra.Command {
	var j job
	c := &cobra.Command{
		Use:   "federated [CONFIG|PRESET]",
		Short: "Train in rounds of clients, each protected with all it has",
		Long: `Train a model in rounds of clients, each protected with all its examples.

The examples are spread over simulated clients. In a round, those who are drawn train the model on their own examples; their
changes of it are clipped, added up, and given noise. docs/federated.md says what that protects.

A configuration with federated.clients; train run takes it too, and train resume goes on with the run.`,
		Example: `  train federated
  train federated federated-mnist --set privacy.epsilon=1 --json
  train federated --set federated.noise=clients --set federated.split=dirichlet`,
		Args: shell.Args(0, 1, oneConfig),
		RunE: func(c *cobra.Command, args []string) error {
			name := shell.First(args, "federated-digits")
			config, err := configs.Load(name, j.set)
			if err != nil {
				return shell.AsUsage(err)
			}
			if !config.Federated.Any() {
				return shell.Usagef("train: found %s without federated.clients, expected clients; give it as --set federated.clients=100, or use `train run`", name)
			}
			j.form = func(r train.Result) any {
				unit, _ := setup.Unit(config)
				return rounds{r.Status, r.Steps, r.Epsilon, r.Delta, unit, r.Test, r.Seconds, r.Run}
			}
			return j.begin(a, c, name)
		},
	}
	j.flags(a, c)
	return c
}

// rounds is the JSON object that --json prints for a federated run.
type rounds struct {
	Status  run.Status `json:"status"`
	Rounds  int        `json:"rounds"`
	Epsilon float64    `json:"epsilon"`
	Delta   float64    `json:"delta"`
	Unit    string     `json:"unit"`
	score.Test
	Seconds float64 `json:"seconds"`
	Run     string  `json:"run"`
}
