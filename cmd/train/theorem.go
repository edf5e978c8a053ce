package main

import (
	"io"
	"slices"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/account"

	"github.com/spf13/cobra"
)

// theoremFlags adds a flag for each theorem, and returns what answers a command line that has one.
func theoremFlags(a *shell.App, c *cobra.Command) func(args []string) (asked bool, err error) {
	texts := map[string]*[]string{}
	for _, t := range account.Theorems() {
		texts[t.Name] = c.Flags().StringArray(t.Name, nil, t.Usage)
	}
	return func(args []string) (bool, error) {
		for _, t := range account.Theorems() {
			if c.Flags().Changed(t.Name) {
				return true, askTheorem(a, c, t, *texts[t.Name], args)
			}
		}
		return false, nil
	}
}

// askTheorem prints the ε that a theorem gives for what its flag describes.
func askTheorem(a *shell.App, c *cobra.Command, t account.Theorem, texts, args []string) error {
	common := map[string]any{}
	extra := shell.GivenFlag(c, func(name string) bool {
		return !slices.Contains([]string{t.Name, "accountant", "relation", "delta", "json"}, name)
	})
	if len(args) > 0 {
		extra = args[0]
	}
	if extra != "" {
		return shell.Usagef("found %s beside --%s, expected none: it says what is asked about", extra, t.Name)
	}
	for _, name := range []string{"accountant", "relation"} {
		if f := c.Flags().Lookup(name); f.Changed {
			common[name] = f.Value.String()
		}
	}
	if c.Flags().Changed("delta") {
		common["delta"], _ = c.Flags().GetFloat64("delta")
	}
	cost, err := t.Ask(new(account.Answerer), texts, common)
	if err != nil {
		return shell.AsUsage(err)
	}
	return a.Print(cost, func(w io.Writer) { printCost(w, cost, account.Epsilon) })
}
