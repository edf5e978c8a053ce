package main

import (
	"fmt"
	"io"
	"path/filepath"

	"dpsgd/accountant"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/internal/attack"
	"dpsgd/internal/folder"

	"github.com/spf13/cobra"
)

// Limits of --observations.
const fewestObserved, mostObserved = 1000, 10_000_000

func auditCommand(a *shell.App) *cobra.Command {
	var set []string
	var out string
	var examples, observations int
	c := &cobra.Command{
		Use:   "audit [CONFIG|PRESET|RUN]",
		Short: "Try to falsify the ε of a configuration or a run",
		Long: `Try to falsify what a configuration, or the ledger of a run, claims: releases by its plan's own sampler, clipping and
noise, through the door of runs, of a data set of one canary and of none, and all steps of a run on a data set of many.
A test that tells canaries better than the claim allows falsifies it, with exit code 8; "not falsified" proves nothing.

It reads no example. The picture shows how many canaries are noticed at few false alarms, and how many the claim allows.`,
		Example: `  train audit
  train audit runs/digits-1 --observations 100000`,
		Args: shell.Args(0, 1, "at most one: a configuration file, the name of a preset, or the folder of a run"),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("examples") && examples < 1 || c.Flags().Changed("observations") && observations < fewestObserved || observations > mostObserved {
				return shell.Usagef("found --examples %d and --observations %d, expected at least 1, and %s to %s", examples, observations, shell.Count(fewestObserved), shell.Count(mostObserved))
			}
			name := shell.First(args, configs.DefaultPreset)
			audited, err := auditedBy(name, set, examples)
			if err != nil {
				return err
			}
			r, err := audited.Audit(c.Context(), observations, attack.OpenDoor)
			if err := shell.ShowDrawn(a, out, picture, printAudit)(r, shell.Ended(c.Context(), err)); err != nil {
				return err
			}
			return r.Err()
		},
	}
	setFlag(c, &set)
	examplesFlag(c, &examples)
	c.Flags().IntVar(&observations, "observations", 0, "releases with the canary, and as many without, for each test of one step (default: 20,000, more with much noise)")
	shell.PictureFlag(c, &out, "out", "a picture")
	return c
}

// auditedBy returns what to audit: the run in a folder, or a configuration.
func auditedBy(name string, set []string, examples int) (attack.Audited, error) {
	if folder.HoldsAny(name, folder.Config) && filepath.Base(name) != folder.Config {
		if len(set) > 0 || examples > 0 {
			return attack.Audited{}, shell.Usagef("found --set or --examples beside the run %s, expected them with a configuration", name)
		}
		return attack.OfRun(name)
	}
	config, err := configs.Load(name, set)
	if err != nil {
		return attack.Audited{}, shell.AsUsage(err)
	}
	audited, err := attack.OfConfig(name, config, examples)
	return audited, configs.Placed(err, name, set)
}

func printAudit(w io.Writer, r *attack.StepAudit) {
	fmt.Fprintf(w, "%s: %s releases with a canary and as many without, for each ε; δ = %g\n\n", r.Name, shell.Count(r.Observed), r.Delta)
	shell.PrintRows(w, []string{"claim", "", "claimed", fmt.Sprintf("at least (%g %%)", 100*r.Confidence), ""}, r.Tests, func(t attack.Tested) []string {
		verdict := ""
		if t.Falsified {
			verdict = "FALSIFIED"
		}
		return []string{t.Claim, t.Quantity, accountant.RoundUp(t.Claimed, 4), shell.Down(t.AtLeast, 4), verdict}
	})
	fmt.Fprintf(w, "\nrun       ε ≤ %s claimed", accountant.RoundUp(r.RunClaimed, 3))
	if r.RunAtLeast > 0 {
		fmt.Fprintf(w, "; at least %s if all of its steps are like these", shell.Down(r.RunAtLeast, 3))
	}
	verdict := fmt.Sprintf("not falsified at %g %%", 100*r.Confidence)
	if r.Falsified {
		verdict = "CLAIM FALSIFIED"
	}
	fmt.Fprintf(w, "\nverdict   %s\n", verdict)
}
