package main

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/internal/train"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (a *app) epsilonCommand() *cobra.Command {
	var q question
	var noiseMultiplier float64
	c := &cobra.Command{
		Use:   "epsilon [RUN]",
		Short: "Compute ε of a run's ledger, or of steps that are only thought of",
		Long: `Compute ε.

With the folder of a run: of everything in its ledger, also while the run is going on; --delta asks about another δ
than that of its configuration. Without one: of --steps updates with the given noise and sampling.`,
		Example: `  train epsilon runs/digits-1
  train epsilon --examples 60000 --batch-size 512 --epochs 40 --noise-multiplier 1.1 --delta 1e-5
  train epsilon --sampling-probability 0.01 --steps 10000 --noise-multiplier 1.1 --delta 1e-5 --json`,
		Args: args(0, 1, "at most one: the folder of a run, such as runs/digits-1"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return a.spentBy(c, args[0], q.delta)
			}
			asked, err := q.read(c)
			if err != nil {
				return err
			}
			if !c.Flags().Changed("noise-multiplier") || !(noiseMultiplier > 0) || math.IsInf(noiseMultiplier, 1) {
				return usagef("found --noise-multiplier %g, expected a finite number above 0", noiseMultiplier)
			}
			asked.NoiseMultiplier = noiseMultiplier
			cost, err := asked.Cost()
			if err != nil {
				return err
			}
			return a.printCost(cost)
		},
	}
	q.addFlags(c)
	c.Flags().Float64Var(&noiseMultiplier, "noise-multiplier", 0, "standard deviation of the noise / clip norm")
	return c
}

// spentBy prints what a run has spent.
func (a *app) spentBy(c *cobra.Command, run string, delta float64) error {
	var extra string
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "delta" && f.Name != "json" {
			extra = f.Name
		}
	})
	switch {
	case extra != "":
		return usagef("found --%s beside the run %s, expected at most --delta: the ledger says everything else", extra, run)
	case c.Flags().Changed("delta") && !(delta > 0 && delta < 1):
		return usagef("found --delta %g, expected a number above 0 and below 1", delta)
	}
	cost, err := train.SpentBy(run, delta)
	if err != nil {
		return err
	}
	return a.printCost(cost)
}

func (a *app) printCost(c train.Cost) error {
	if a.json {
		return a.printJSON(c)
	}
	fmt.Fprintf(a.out, "ε = %s at δ = %g", accountant.RoundUp(c.Epsilon, 4), c.Delta)
	switch {
	case c.Run != "" && c.TargetEpsilon > 0:
		fmt.Fprintf(a.out, ", %s releases, budget ε ≤ %g", count(*c.Releases), c.TargetEpsilon)
	case c.Run != "":
		fmt.Fprintf(a.out, ", %s releases", count(*c.Releases))
	default:
		fmt.Fprintf(a.out, ", %s steps with noise multiplier %g, sampling probability %g", count(c.Steps), c.NoiseMultiplier, c.SamplingProbability)
	}
	_, err := fmt.Fprintf(a.out, "\n%s; datasets that differ by %s\n", c.Method, c.Relation)
	return err
}
