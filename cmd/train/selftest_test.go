package main

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/internal/attack"
	"dpsgd/internal/books"
	"dpsgd/internal/run"
	"dpsgd/internal/selftest"
	"dpsgd/internal/sweep"
)

// The self-test of a preset tells each check with what was looked at; with --json it prints one
// object. A wrong command line is refused.
func TestSelftestCommand(t *testing.T) {
	says(t, succeed(t, "selftest", "label-digits"), "holds   derivatives", "–       noise               gradients get no noise")
	says(t, succeed(t, "selftest", "own-table", "--examples", "2000", "--json"), `"check":"sensitivity","passed":true`, `"false_failure_bound":`)
	refused(t, 2, "found --examples 0, expected at least 1", "selftest", "digits", "--examples", "0")
	refused(t, 2, "found no preset and no file", "selftest", "none")
}

// honest audits a true claim again where it is falsified, as by 5 % of audits: by eight, with 4e-11.
func honest(t *testing.T, args ...string) string {
	t.Helper()
	for range 7 {
		if r := command(args...); r.code == 0 {
			return r.out
		}
	}
	return succeed(t, args...)
}

// An audit prints its tests and the verdict. A run is audited by its ledger.
func TestAuditCommand(t *testing.T) {
	says(t, honest(t, "audit", "digits", "--observations", "1000"), "one step, if the record is in its sample", "how often a record is in a sample", "verdict   not falsified at 95 %")
	succeed(t, "run", own(t, 2))
	says(t, honest(t, "audit", "runs/own-1", "--observations", "1000", "--json"), `"of":"runs/own-1"`, `"falsified":false`, `"untested":"all steps, with noise of this law`)
	refused(t, 2, "expected them with a configuration", "audit", "runs/own-1", "--examples", "20")
	refused(t, 2, "expected them with a configuration", "audit", "runs/own-1", "--set", "privacy.epsilon=9")
	refused(t, 2, "found --set beside the run runs/own-1", "audit", "runs/own-1", "--shadows", "4", "--set", "privacy.epsilon=9")
	refused(t, 2, "found --observations 10, expected", "audit", "digits", "--observations", "10")
	refused(t, 2, "expected example or person and false for noise on gradients", "audit", "label-digits")
	refused(t, 2, "found --jobs without --shadows", "audit", "digits", "--jobs", "2")
	refused(t, 2, "found --data-folder without --shadows", "audit", "digits", "--data-folder", "x")
	succeed(t, "run", "runs/own-1/config.yaml", "--set", "training.sampling=cyclic", "--set", "privacy.correlation=auto")
	refused(t, 2, "training.sampling is cyclic, expected poisson (with privacy.correlation none) or full", "audit", "runs/config-1")
	refused(t, 2, "training.sampling is cyclic", "audit", "fashion-cnn")
}

// An audit of membership says that what it prints is NOT PRIVATE, and where the shadow models are.
func TestMembershipAuditCommand(t *testing.T) {
	file := own(t, 2)
	says(t, succeed(t, "audit", file, "--shadows", "4", "--shadow-dir", "kept.private", "--out", "roc.private.svg"), notPrivate, "LiRA, online", "noticed at 0.1 %",
		"in kept.private, with ledgers that nothing else counts", "verdict   not falsified at 95 %", "in roc.private.svg")
	says(t, honest(t, "audit", file, "--shadows", "4", "--json"), `"private":false`, `"shadow_models":4`, `"roc":[{"name":"loss threshold"`)
	refused(t, 2, "found --shadows 5", "audit", file, "--shadows", "5")
	refused(t, 2, "found --examples with --shadows", "audit", file, "--shadows", "4", "--examples", "3")
	refused(t, 2, "found --out roc.svg for what is NOT private", "audit", file, "--shadows", "4", "--out", "roc.svg")
	refused(t, 2, "found --shadow-dir runs for what is NOT private", "audit", file, "--shadows", "4", "--shadow-dir", "runs")
	refused(t, 2, "expected privacy.unit example", "audit", "label-digits", "--shadows", "4")
}

// What does not hold is told with its layer, its meaning and an exit code of its own.
func TestWhatDoesNotHoldIsTold(t *testing.T) {
	var out bytes.Buffer
	a := &shell.App{Out: &out, Err: &out}
	failed := selftest.Check{Name: "gradients", Faults: []string{"layer 2 (faulty)"}, Means: "mend its rule", Chance: 1e-9}
	c := selftestCommand(a, func(_ context.Context, _ *configs.Config, _ int, told func(selftest.Check)) (*selftest.Result, error) {
		told(failed)
		return &selftest.Result{Checks: []selftest.Check{failed}}, nil
	})
	c.SetArgs(nil)
	c.SilenceErrors, c.SilenceUsage = true, true
	same(t, "exit code", fmt.Sprint(a.Fail(c.Execute())), "7")
	audit := &attack.StepAudit{Outcome: attack.Outcome{Tests: []attack.Tested{{Claim: "one step", Quantity: "ε", Claimed: 1.00001, AtLeast: 2.00009, Falsified: true}}, Falsified: true}}
	same(t, "exit code", fmt.Sprint(a.Fail(concluded(a, "", printAudit)(audit, nil))), "8")
	says(t, out.String(), "1.0001", "2.0000 ")
	for err, code := range map[error]int{
		sweep.ErrOtherSweep: 5, run.ErrUntrained: 5, fmt.Errorf("%w: %w", run.ErrDiverged, checkpoints.ErrNotFinite): 1, checkpoints.ErrMoved: 5, checkpoints.ErrNotRegular: 4, checkpoints.ErrNotFinite: 4, checkpoints.ErrUnfinished: 4, accountant.ErrUnreachable: 2, books.ErrSame: 2,
	} {
		same(t, err.Error(), a.Fail(err), code)
	}
	says(t, out.String(), "FAILED  gradients", "layer 2 (faulty)", "This means: mend its rule", "; fails by chance at most 1e-09 of the times", `["gradients"]`, "verdict   CLAIM FALSIFIED", "one step: found ε of at least 2, expected at most 1")
}
