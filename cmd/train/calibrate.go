package main

import (
	"math"

	"github.com/spf13/cobra"
)

func (a *app) calibrateCommand() *cobra.Command {
	var q question
	var epsilon float64
	c := &cobra.Command{
		Use:   "calibrate",
		Short: "Compute the noise multiplier with which steps stay within a budget",
		Example: `  train calibrate --epsilon 3 --examples 60000 --batch-size 512 --epochs 40 --delta 1e-5
  train calibrate --epsilon 1 --sampling-probability 0.01 --steps 10000 --delta 1e-6 --json`,
		Args: args(0, 0, "none"),
		RunE: func(c *cobra.Command, args []string) error {
			asked, err := q.read(c)
			if err != nil {
				return err
			}
			if !c.Flags().Changed("epsilon") || !(epsilon > 0) || math.IsInf(epsilon, 1) {
				return usagef("found --epsilon %g, expected a finite number above 0", epsilon)
			}
			cost, err := asked.Calibrate(epsilon)
			if err != nil {
				return err
			}
			return a.printCost(cost)
		},
	}
	q.addFlags(c)
	c.Flags().Float64Var(&epsilon, "epsilon", 0, "the budget")
	return c
}
