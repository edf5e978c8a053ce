package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"dpsgd/accountant"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/internal/attack"
	"dpsgd/internal/chart"
	"dpsgd/internal/folder"
	"dpsgd/internal/report"
	"dpsgd/internal/stats"
	"dpsgd/internal/sweep"

	"github.com/spf13/cobra"
)

// Limits of --observations.
const fewestObserved, mostObserved = 1000, 10_000_000

// auditFlags hold the flags of `train audit`.
type auditFlags struct {
	set                    []string
	out                    string
	examples, observations int
	shadows                attack.Shadows
}

func auditCommand(a *shell.App) *cobra.Command {
	var f auditFlags
	c := &cobra.Command{
		Use:   "audit [CONFIG|PRESET|RUN]",
		Short: "Try to falsify the ε of a configuration or a run",
		Long: `Try to falsify what a configuration, or the ledger of a run, claims: releases by its plan's own sampler, clipping and
noise, through the door of runs, of a data set of one canary and of none, and all steps of a run on a data set of many.
A test that tells canaries better than the claim allows falsifies it, with exit code 8; "not falsified" proves nothing.
It reads no example. The picture shows how many canaries are noticed at few false alarms, and how many the claim allows.

With --shadows it asks instead whether the model tells who was trained on: by a threshold of the loss (Yeom et al. 2018) and by
likelihood ratios, LiRA (Carlini et al. 2022), offline and online, with so many shadow models on halves of all examples. A
configuration gets a target of its own, trained on such a half. What that prints is NOT PRIVATE. The shadow models are in
ledgers of their own, which nothing else counts: they are for you alone, whatever ε their own statements name.`,
		Example: `  train audit
  train audit runs/digits-1 --observations 100000
  train audit digits --shadows 16 --shadow-dir shadows.private --out audit.private.svg`,
		Args: shell.Args(0, 1, "at most one: a configuration file, the name of a preset, or the folder of a run"),
	}
	setFlag(c, &f.set)
	dataFlags(a, c, &f.shadows.Request)
	examplesFlag(c, &f.examples)
	c.Flags().IntVar(&f.observations, "observations", 0, "releases with the canary, and as many without, for each test of one step (default: 20,000, more with much noise)")
	c.Flags().IntVar(&f.shadows.Number, "shadows", 0, "audit membership by so many shadow models, an even number: NOT PRIVATE")
	shell.FolderFlag(c, &f.shadows.Dir, "shadow-dir", "", "a new folder to keep them in; the same command goes on there (default: one that is removed)")
	c.Flags().IntVar(&f.shadows.Jobs, "jobs", 0, "shadow models that are trained at a time (default 1)")
	a.ProgressFlag(c)
	shell.PictureFlag(c, &f.out, "out", "a picture")
	c.RunE = func(c *cobra.Command, args []string) error {
		name := shell.First(args, configs.DefaultPreset)
		switch {
		case stats.IsRun(name):
			return shell.Usagef("%s: found a run of statistics, expected one that trains", name)
		case c.Flags().Changed("shadows"):
			return f.membership(a, c, name)
		}
		return f.steps(a, c, name)
	}
	return c
}

func (f *auditFlags) steps(a *shell.App, c *cobra.Command, name string) error {
	if c.Flags().Changed("examples") && f.examples < 1 {
		return shell.Usagef("found --examples %d, expected at least 1", f.examples)
	}
	if c.Flags().Changed("observations") && f.observations < fewestObserved || f.observations > mostObserved {
		return shell.Usagef("found --observations %d, expected %s to %s", f.observations, shell.Count(fewestObserved), shell.Count(mostObserved))
	}
	if extra := shell.GivenFlag(c, func(name string) bool {
		return slices.Contains([]string{"shadow-dir", "jobs", "data-dir", "data-folder"}, name)
	}); extra != "" {
		return shell.Usagef("found %s without --shadows, expected it with shadow models", extra)
	}
	audited, err := auditedBy(name, f.set, f.examples)
	if err != nil {
		return err
	}
	r, err := audited.Audit(c.Context(), f.observations, attack.OpenDoor)
	return concluded(a, f.out, printAudit)(r, shell.Ended(c.Context(), err))
}

// concluded returns a function that shows an audit, and returns its error: a claim that is false.
func concluded[T interface {
	Chart() chart.Chart
	Err() error
}](a *shell.App, out string, show func(io.Writer, T)) func(T, error) error {
	return func(r T, err error) error {
		if err := shell.ShowDrawn(a, out, picture, show)(r, err); err != nil {
			return err
		}
		return r.Err()
	}
}

// membership audits whether the model tells who was trained on.
func (f *auditFlags) membership(a *shell.App, c *cobra.Command, name string) error {
	if n := f.shadows.Number; n < attack.FewestShadows || n > attack.MostShadows || n%2 > 0 || f.shadows.Jobs < 0 || f.shadows.Jobs > n {
		return shell.Usagef("found --shadows %d and --jobs %d, expected an even number from %d to %s, and at most as many jobs", n, f.shadows.Jobs, attack.FewestShadows, shell.Count(attack.MostShadows))
	}
	if extra := shell.GivenFlag(c, func(name string) bool { return name == "examples" || name == "observations" }); extra != "" {
		return shell.Usagef("found %s with --shadows, expected it without", extra)
	}
	if err := cmp.Or(report.CheckName("--out", f.out, "membership.private.svg"), report.CheckName("--shadow-dir", f.shadows.Dir, "shadows.private")); err != nil {
		return shell.AsUsage(err)
	}
	if a.JSON {
		a.Warn(notPrivate)
	}
	watcher := &sweepWatcher{Display: a.Display(), saves: func() {}}
	f.shadows.Warned, f.shadows.Watcher = watcher.Warned, sweep.Watcher{
		SweepStarted: watcher.SweepStarted, TrialStarted: watcher.TrialStarted, TrialStepped: watcher.TrialStepped, TrialFinished: watcher.TrialFinished,
	}
	r, err := f.attacked(c, name)
	watcher.EndBar()
	show := func(w io.Writer, r *attack.ShadowAudit) { printMembershipAudit(w, r, f.shadows.Dir) }
	return concluded(a, f.out, show)(r, shell.Ended(c.Context(), err))
}

// attacked carries out the audit of membership.
func (f *auditFlags) attacked(c *cobra.Command, name string) (*attack.ShadowAudit, error) {
	if isRun(name) {
		if len(f.set) > 0 {
			return nil, shell.Usagef("found --set beside the run %s, expected it with a configuration", name)
		}
		return f.shadows.AuditRun(c.Context(), name)
	}
	config, err := configs.Load(name, f.set)
	if err != nil {
		return nil, shell.AsUsage(err)
	}
	r, err := f.shadows.AuditConfig(c.Context(), name, config)
	return r, configs.Placed(err, name, f.set)
}

// isRun reports whether a name is the folder of a run, not a configuration.
func isRun(name string) bool { return folder.HoldsAny(name, folder.Config) }

// auditedBy returns what to audit: the run in a folder, or a configuration.
func auditedBy(name string, set []string, examples int) (attack.Audited, error) {
	if isRun(name) {
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
	printTests(w, &r.Outcome, "claim")
	if r.Untested != "" {
		shell.Prosef(w, "untested  %s", r.Untested)
	}
	fmt.Fprintf(w, "\nrun       ε ≤ %s claimed", accountant.RoundUp(r.RunClaimed, 3))
	if r.RunAtLeast > 0 {
		fmt.Fprintf(w, "; at least %s if all of its steps are like these", accountant.RoundDown(r.RunAtLeast, 3))
	}
	fmt.Fprintf(w, "\nverdict   %s\n", r.Verdict())
}

// printTests writes the claims of an audit, with what the observations show beside each.
func printTests(w io.Writer, o *attack.Outcome, what string) {
	shell.PrintRows(w, []string{what, "", "claimed", fmt.Sprintf("at least (%g %%)", 100*o.Confidence), ""}, o.Tests, func(t attack.Tested) []string {
		verdict := ""
		if t.Falsified {
			verdict = "FALSIFIED"
		}
		return []string{t.Claim, t.Quantity, accountant.RoundUp(t.Claimed, 4), accountant.RoundDown(t.AtLeast, 4), verdict}
	})
}

// printMembershipAudit writes what shadow models show; dir is the folder that keeps them, or "".
func printMembershipAudit(w io.Writer, r *attack.ShadowAudit, dir string) {
	fmt.Fprintf(w, "%s\n\n%s: %s shadow models, each on half of %s examples; δ = %g, for one example replaced\n\n", notPrivate, r.Name, shell.Count(r.Shadows), shell.Count(r.Examples), r.Delta)
	printTests(w, &r.Outcome, "attack")
	fmt.Fprintln(w)
	shell.PrintRows(w, []string{"attack", "noticed at 0.1 %", "1 %", "10 % false alarms", "AUC"}, r.Attacks, func(m *attack.Membership) []string {
		row := []string{m.Attack}
		for _, o := range m.Operating {
			row = append(row, shell.Percent(o.TruePositive.Accuracy))
		}
		return append(row, fmt.Sprintf("%.4f", m.AUC))
	})
	shadows := "removed"
	if dir != "" {
		shadows = "in " + dir + ", with ledgers that nothing else counts: publish none of them"
	}
	fmt.Fprintf(w, "\nshadows   %s\nverdict   %s\n", shadows, r.Verdict())
}
