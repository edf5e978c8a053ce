package main

import (
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/train"
	"dpsgd/internal/web"

	"github.com/spf13/cobra"
)

func federatedCommand(a *shell.App) *cobra.Command {
	var o train.Options
	var serve string
	var set []string
	c := &cobra.Command{
		Use:   "federated [CONFIG|PRESET]",
		Short: "Train in rounds of clients, each protected with all it has",
		Long: `Train a model in rounds of clients, each protected with all its examples.

The examples are spread over simulated clients. In a round, those who are drawn
train the model on their own examples; their changes of it are clipped, added
up, and given noise. docs/federated.md says what that protects.

A configuration with federated.clients; train run takes it too, and train resume
goes on with the run.`,
		Example: `  train federated
  train federated federated-mnist --set privacy.epsilon=1 --json
  train federated --set federated.noise=clients --set federated.split=dirichlet`,
		Args: shell.Args(0, 1, "at most one: a configuration file or the name of a preset"),
		RunE: func(c *cobra.Command, args []string) error {
			name := "federated-digits"
			if len(args) > 0 {
				name = args[0]
			}
			config, err := configs.Load(name, set)
			if err != nil {
				return shell.AsUsage(err)
			}
			if !config.Federated.Any() {
				return shell.Usagef("train: found %s without federated.clients, expected clients; give it as --set federated.clients=100, or use `train run`", name)
			}
			return followed(a, serve, func(page *web.Page) error {
				o.Name, o.Watcher, o.Computed, o.Waits = baseName(name), runOn(page, watcher(a)), computed(a), a.Waits
				run, err := train.Create(config, o)
				if err != nil {
					return configs.Placed(err, name, set)
				}
				unit, _ := setup.Unit(config)
				return fitAs(a, c, run, func(r train.Result) any {
					return rounds{r.Status, r.Steps, r.Epsilon, r.Delta, unit, r.TestAccuracy, r.Seconds, r.Run}
				})
			})
		},
	}
	dataDirFlag(c, &o.DataDir)
	runsDirFlag(c, &o.RunsDir)
	setFlag(c, &set)
	serveFlag(c, &serve)
	a.ProgressFlag(c)
	return c
}

// rounds is the result of a federated run for programs.
type rounds struct {
	Status       run.Status `json:"status"`
	Rounds       int        `json:"rounds"`
	Epsilon      float64    `json:"epsilon"`
	Delta        float64    `json:"delta"`
	Unit         string     `json:"unit"`
	TestAccuracy float64    `json:"test_accuracy"`
	Seconds      float64    `json:"seconds"`
	Run          string     `json:"run"`
}
