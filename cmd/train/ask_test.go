package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/account"
	"dpsgd/internal/tiny"
)

// Shared flags of questions: 60,000 examples in batches of 512, 40 epochs.
var (
	sampling = []string{"--examples", "60000", "--batch-size", "512"}
	epochs   = []string{"--epochs", "40"}
)

const (
	askedProbability = 512. / 60000
	askedSteps       = 4688 // 40 · 60000/512 = 4687.5
)

// golden asks the accountant of the package.
func golden(t testing.TB, name string, r accountant.Relation, group int, q, sigma float64, steps int, delta float64) accountant.Guarantee {
	t.Helper()
	a, err := accountants.New(name, r)
	tiny.Check(t, err)
	l, err := new(accountant.Ledger).With(accountant.PoissonSampled{SamplingProbability: q, Event: accountant.Gaussian{NoiseMultiplier: sigma}}, steps)
	tiny.Check(t, err)
	l, err = accountant.Group(l, group)
	tiny.Check(t, err)
	return tiny.Must(a.Guarantee(l, delta))(t)
}

// ε and δ of the commands are those of the package, for each accountant, relation and group size
// that is asked for.
func TestEpsilonAndDelta(t *testing.T) {
	usual := account.DefaultAccountant
	tests := []struct {
		flags []string
		name  string
		r     accountant.Relation
		group int
	}{
		{nil, usual, accountant.ZeroOut, 1},
		{[]string{"--accountant", "rdp"}, "rdp", accountant.ZeroOut, 1},
		{[]string{"--relation", "add-or-remove-one"}, usual, accountant.AddOrRemoveOne, 1},
		{[]string{"--relation", "replace_one"}, usual, accountant.ReplaceOne, 1},
		{[]string{"--group-size", "3"}, usual, accountant.ZeroOut, 3},
	}
	for _, test := range tests {
		want := golden(t, test.name, test.r, test.group, askedProbability, 2, askedSteps, 1e-5)
		flags := slices.Concat(sampling, epochs, []string{"--noise-multiplier", "2"}, test.flags)
		o := lastLine(t, succeed(t, slices.Concat([]string{"epsilon", "--delta", "1e-5", "--json"}, flags)...))
		has(t, o, "epsilon", want.Epsilon, "upper", want.Epsilon, "accountant", test.name, "relation", test.r.String(), "method", want.Method, "steps", float64(askedSteps))
		epsilon := fmt.Sprint(want.Epsilon)
		o = lastLine(t, succeed(t, slices.Concat([]string{"delta", "--epsilon", epsilon, "--json"}, flags)...))
		// At the upper end of ε, δ is at most the one that was asked about; 1e-6 and the conversion
		// of rdp are the slack.
		if delta := o["delta"].(float64); !(delta <= 1e-5*(1+1e-6)) || delta < 0.9e-5 {
			t.Errorf("%v: found δ = %v at the ε of δ = 1e-5", test.flags, delta)
		}
		if o["upper"] != o["delta"] || !(o["lower"].(float64) <= o["delta"].(float64)) || o["epsilon"] != want.Epsilon {
			t.Errorf("%v: found %v", test.flags, o)
		}
	}
}

// Batches that take turns, and those that share out all examples, cost what the package says.
func TestOtherSamplings(t *testing.T) {
	noise := accountant.Gaussian{NoiseMultiplier: 2}
	for flags, want := range map[string]accountant.Entry{
		"--sampling-probability 0.1 --epochs 0.01":                             {Event: account.InTurns(0, 0.1, 2), Count: 1},
		"--sampling cyclic --bands 4 --sampling-probability 0.01 --steps 40":   {Event: account.InTurns(4, 0.01, 2), Count: 40},
		"--sampling balls-in-bins --examples 1000 --batch-size 600 --epochs 3": {Event: accountant.BallsInBins{Bins: 2, Event: noise}, Count: 6},
	} {
		o := lastLine(t, succeed(t, append([]string{"epsilon", "--noise-multiplier", "2", "--delta", "1e-5", "--json"}, strings.Fields(flags)...)...))
		l := tiny.Must(new(accountant.Ledger).With(want.Event, want.Count))(t)
		has(t, o, "epsilon", tiny.Must(account.SpentBy(account.DefaultAccountant, l, 1e-5))(t).Epsilon, "steps", float64(want.Count))
	}
	succeed(t, strings.Fields("calibrate --solve sampling-probability --sampling cyclic --bands 4 --noise-multiplier 2 --steps 40 --epsilon 1 --delta 1e-5")...)
}

// What people read: rounded against the promise, bounds where there are some, the method and the
// relation.
func TestAnswersForPeople(t *testing.T) {
	rdp := golden(t, "rdp", accountant.ZeroOut, 1, askedProbability, 1.1255, askedSteps, 1e-5)
	flags := slices.Concat(sampling, epochs, []string{"--noise-multiplier", "1.1255"})
	want := "ε = " + accountant.RoundUp(rdp.Epsilon, 4) + " at δ = 1e-05, 4,688 steps with noise multiplier 1.1255, sampling probability 0.008533333333333334\n" +
		rdp.Method + "; datasets that differ by zero-out\n"
	same(t, "epsilon", succeed(t, slices.Concat([]string{"epsilon", "--delta", "1e-5", "--accountant", "rdp"}, flags)...), want)
	tests := []struct {
		args []string
		want []string
	}{
		{slices.Concat([]string{"delta", "--epsilon", "3"}, flags), []string{"δ = ", " at ε = 3, 4,688 steps with noise multiplier 1.1255"}},
		{slices.Concat([]string{"calibrate", "--epsilon", "3", "--delta", "1e-5"}, sampling, epochs), []string{"noise multiplier 1.0", " is the least within ε ≤ 3 at δ = 1e-05\nε = 3.0000 at δ = 1e-05, 4,688 steps"}},
		{[]string{"calibrate", "--solve", "sampling-probability", "--noise-multiplier", "1.1", "--steps", "5000", "--epsilon", "3", "--delta", "1e-5"},
			[]string{"sampling probability 0.00", " is the largest within ε ≤ 3 at δ = 1e-05\nε = 3.0000 at δ = 1e-05, 5,000 steps"}},
		{slices.Concat([]string{"steps", "--epsilon", "3", "--delta", "1e-5", "--noise-multiplier", "1.1"}, sampling), []string{" steps are the most within ε ≤ 3 at δ = 1e-05\nε = "}},
		{slices.Concat([]string{"epsilon", "--delta", "1e-5", "--group-size", "2"}, flags), []string{"; datasets that differ by zero-out in groups of 2 records\n"}},
	}
	for _, test := range tests {
		out := succeed(t, test.args...)
		says(t, out, test.want...)
		_, bounds := tiny.Must(accountants.New(account.DefaultAccountant, accountant.ZeroOut))(t).(accountant.IntervalAccountant)
		same(t, out, strings.Contains(out, " lies in ["), bounds)
	}
}

// Each solver undoes epsilon, on the private side, whichever accountant is asked.
func TestSolversInvertEpsilon(t *testing.T) {
	for _, name := range []string{"rdp", account.DefaultAccountant} {
		asked := slices.Concat(sampling, []string{"--delta", "1e-5", "--accountant", name, "--json"})
		number := func(o map[string]any, key string) string { return tiny.JSON(t, o[key]) }
		calibrated := lastLine(t, succeed(t, slices.Concat([]string{"calibrate", "--epsilon", "3"}, epochs, asked)...))
		if calibrated["steps"] != 4688. || calibrated["epsilon"].(float64) > 3 || calibrated["epsilon"].(float64) < 2.9999 || calibrated["target_epsilon"] != 3. {
			t.Errorf("%s: found %v", name, calibrated)
		}
		cost := lastLine(t, succeed(t, slices.Concat([]string{"epsilon", "--noise-multiplier", number(calibrated, "noise_multiplier")}, epochs, asked)...))
		has(t, cost, "epsilon", calibrated["epsilon"])
		most := lastLine(t, succeed(t, slices.Concat([]string{"steps", "--epsilon", "3", "--noise-multiplier", number(calibrated, "noise_multiplier")}, asked)...))
		// The least noise multiplier has a tolerance, in which a step or two may fit.
		if n := most["steps"].(float64); n < askedSteps || n > askedSteps+2 || most["epsilon"].(float64) > 3 {
			t.Errorf("%s: found %v", name, most)
		}
		rate := lastLine(t, succeed(t, "calibrate", "--solve", "sampling-probability", "--noise-multiplier", number(calibrated, "noise_multiplier"),
			"--steps", "4688", "--epsilon", "3", "--delta", "1e-5", "--accountant", name, "--json"))
		if q := rate["sampling_probability"].(float64); q < askedProbability*(1-1e-8) || q > askedProbability*1.00001 || rate["epsilon"].(float64) > 3 {
			t.Errorf("%s: found %v, expected the probability %v", name, rate, askedProbability)
		}
	}
}

// A run is asked about with its own accountant, δ and budget, or others.
func TestQuestionsAboutARun(t *testing.T) {
	succeed(t, "run", own(t, 40))
	run := "runs/own-1"
	spent := lastLine(t, succeed(t, "epsilon", run, "--json"))
	has(t, spent, "releases", 40., "run", run, "target_epsilon", 5., "delta", 1e-3)
	other := lastLine(t, succeed(t, "epsilon", run, "--accountant", account.DefaultAccountant, "--delta", "1e-4", "--json"))
	has(t, other, "accountant", account.DefaultAccountant, "delta", 1e-4, "target_epsilon", nil)
	d := lastLine(t, succeed(t, "delta", run, "--epsilon", fmt.Sprint(spent["epsilon"]), "--json"))
	if !(d["delta"].(float64) <= 1e-3*(1+1e-6)) || d["accountant"] != spent["accountant"] {
		t.Errorf("delta: found %v", d)
	}
	says(t, succeed(t, "delta", run), " at ε = 5, 40 releases\n")
	more := lastLine(t, succeed(t, "steps", run, "--epsilon", "10", "--json"))
	if more["steps"].(float64) < 40 || more["releases"] != 40. || more["epsilon"].(float64) > 10 {
		t.Errorf("steps: found %v", more)
	}
	says(t, succeed(t, "steps", run, "--epsilon", "10"), "40 releases and ")
	less := lastLine(t, succeed(t, "calibrate", run, "--epsilon", "2.5", "--json"))
	if less["noise_multiplier"].(float64) <= spent["noise_multiplier"].(float64) || less["epsilon"].(float64) > 2.5 {
		t.Errorf("calibrate: found %v", less)
	}
	matches(t, succeed(t, "compare", run), "^40 steps with noise multiplier ")
	succeed(t, "run", run+"/config.yaml", "--set", "privacy.epsilon=none", "--set", "privacy.noise_multiplier=2")
	refused(t, shell.ExitUsage, "found no --epsilon, expected one for the run runs/config-1, which has no budget", "steps", "runs/config-1")
}

// Text on few digits keeps the side it was rounded to.
func TestSignificant(t *testing.T) {
	for _, test := range []struct {
		x        float64
		digits   int
		up, down string
	}{
		{2.73698510, 4, "2.737", "2.736"}, {4.0521e-6, 4, "4.053e-06", "4.052e-06"}, {0.99999, 4, "1", "0.9999"}, {0, 4, "0", "0"}, {1, 4, "1", "1"},
		{123456.7, 4, "123457", "123456"}, {1e-300, 3, "1e-300", "1e-300"}, {9.9996e-5, 4, "0.0001", "9.999e-05"},
	} {
		same(t, fmt.Sprint(test.x, " up"), shell.SignificantUp(test.x, test.digits), test.up)
		same(t, fmt.Sprint(test.x, " down"), shell.SignificantDown(test.x, test.digits), test.down)
	}
	for x, want := range map[float64]string{2.99995: "3.0000", 0.0123456: "0.0124", 0.000123456: "0.0001235", 0: "0.0000"} {
		same(t, fmt.Sprint("ε = ", x), shell.Epsilon(x), want)
	}
}

// A theorem is asked by its flag as by its key in a line, says what it assumes, and stands alone.
func TestEpsilonByTheorem(t *testing.T) {
	asked := []string{"epsilon", "--iteration", "noise_multiplier=4,passes=20,batches=100,learning_rate=0.1,smoothness=1", "--delta", "1e-6"}
	var byLine map[string]any
	lines := account.Lines{Unknown: account.Epsilon}
	line := lines.Answer([]byte(`{"iteration":{"noise_multiplier":4,"passes":20,"batches":100,"learning_rate":0.1,"smoothness":1},"delta":1e-6}`))
	tiny.Check(t, json.Unmarshal(line, &byLine))
	has(t, lastLine(t, succeed(t, slices.Concat(asked, []string{"--json"})...)), "epsilon", byLine["epsilon"], "relation", "zero-out")
	says(t, succeed(t, asked...), "the last iterate of 20 passes of 100 batches", "no gradient is clipped")
	for want, args := range map[string][]string{
		"found --steps beside --iteration":                         {"--steps", "4"},
		"found runs/digits-1 beside --iteration":                   {"runs/digits-1"},
		"found --iteration beside --shuffle":                       {"--shuffle", "local_epsilon=1,reports=5"},
		"found --iteration 2 times":                                {"--iteration", "passes=1"},
		`expected zero-out or replace-one: where records move up,`: {"--relation", "add-or-remove-one"},
	} {
		refused(t, shell.ExitUsage, want, slices.Concat(asked, args)...)
	}
}

// The table lists every accountant within 80 columns, refusals with their reason, and says what an
// estimate is.
func TestCompareTable(t *testing.T) {
	tests := map[string][]string{
		"sampled": {"--sampling-probability", "0.0123456789012345", "--steps", "3000", "--noise-multiplier", "1.2345678901234567", "--delta", "1e-5"},
		"groups":  {"--sampling-probability", "0.01", "--steps", "1000", "--noise-multiplier", "10", "--delta", "1e-5", "--group-size", "3", "--relation", "replace-one"},
		"little":  {"--sampling-probability", "0.00001", "--steps", "1000000", "--noise-multiplier", "1000", "--delta", "1e-12"},
	}
	for name, flags := range tests {
		out := succeed(t, append([]string{"compare"}, flags...)...)
		for _, accountant := range append(accountants.Names(), "gdp") {
			says(t, out, "\n"+accountant+" ")
		}
		fits(t, out)
		same(t, name+": an estimate", strings.Contains(out, "\ngdp *"), strings.Contains(out, "* an estimate, not a bound"))
	}
}

func TestCompareJSON(t *testing.T) {
	o := lastLine(t, succeed(t, "compare", "--sampling-probability", "0.01", "--steps", "1000", "--noise-multiplier", "1", "--delta", "1e-5", "--json"))
	want := golden(t, "rdp", accountant.ZeroOut, 1, 0.01, 1, 1000, 1e-5)
	has(t, o, "releases", 1000., "delta", 1e-5)
	all, _ := o["accountants"].([]any)
	i := slices.IndexFunc(all, func(one any) bool { return one.(map[string]any)["accountant"] == "rdp" })
	rdp := all[i].(map[string]any)
	has(t, rdp, "epsilon", want.Epsilon, "lower", nil, "estimate", nil)
	if rdp["seconds"].(float64) <= 0 {
		t.Errorf("found %v", rdp)
	}
}

// The plots are files, in which package account draws.
func TestComparePlots(t *testing.T) {
	dir := t.TempDir()
	asked := []string{"compare", "--sampling-probability", "1", "--steps", "20", "--noise-multiplier", "10", "--delta", "1e-5", "--plot"}
	for _, name := range []string{"plot.svg", "plot.PNG"} {
		path := filepath.Join(dir, name)
		matches(t, succeed(t, append(asked, path)...), "in "+regexp.QuoteMeta(path)+": ε over steps\n$")
		says(t, tiny.Read(t, path), map[string]string{".svg": "</svg>", ".PNG": "\x89PNG"}[filepath.Ext(name)])
	}
	refused(t, shell.ExitFailed, "", append(asked, filepath.Join(dir, "none", "plot.svg"))...)
}

func TestWrap(t *testing.T) {
	same(t, "lines", strings.Join(shell.Wrap("one two  three "+strings.Repeat("x", 12), 9), "|"), "one two|three|xxxxxxxx…")
}

// What is computed of training examples says so, stays out of the folder of the run, and needs a
// name that says so for its picture, which is for its owner alone. The result of the run has every
// class.
func TestMembershipIsMarked(t *testing.T) {
	result := lastLine(t, succeed(t, "run", own(t, 5), "--json"))
	if classes, _ := result["accuracy_by_class"].([]any); len(classes) != 2 || classes[0].(map[string]any)["low"] == nil {
		t.Errorf("found the classes %v, expected two with intervals", result["accuracy_by_class"])
	}
	before := tiny.Snapshot(t, "runs")
	matches(t, succeed(t, "attack", "membership", "runs/own-1", "--out", "seen.private.svg"), "^NOT PRIVATE: ")
	if info, err := os.Stat("seen.private.svg"); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("found %v, expected a picture for its owner alone (%v)", info, err)
	}
	asked := command("attack", "membership", "runs/own-1", "--json")
	if o := lastLine(t, asked.out); o["private"] != false || !strings.Contains(asked.err, "NOT PRIVATE") {
		t.Errorf("found %v and %q", o["private"], asked.err)
	}
	if after := tiny.Snapshot(t, "runs"); !maps.Equal(before, after) {
		t.Errorf("the attack wrote %q", written(before, after))
	}
	for _, name := range []string{"seen.svg", "private/seen.svg", "seen.private.pdf"} {
		refused(t, 2, name, "attack", "membership", "runs/own-1", "--out", name)
	}
}

// The curve of a run is about everything in its ledger, at the δ of its configuration.
func TestTradeoffOfARun(t *testing.T) {
	succeed(t, "run", own(t, 5))
	spent, curve := lastLine(t, succeed(t, "epsilon", "runs/own-1", "--json")), lastLine(t, succeed(t, "tradeoff", "runs/own-1", "--json"))
	for _, key := range []string{"epsilon", "delta", "releases", "relation", "accountant"} {
		has(t, curve, key, spent[key])
	}
	for _, key := range []string{"epsilons", "curve", "beliefs"} {
		if list, _ := curve[key].([]any); len(list) < 4 {
			t.Errorf("%s: found %v", key, curve[key])
		}
	}
	refused(t, 2, "curve.pdf", "tradeoff", "runs/own-1", "--out", "curve.pdf")
	var b strings.Builder
	printTradeoff(&b, &account.Tradeoff{Curve: []account.Errors{{FalsePositive: 0.01, FalseNegative: 0.987654321}}, BestGuess: 0.512345, Except: 3e-6, Beliefs: []accountant.Belief{{Prior: 0.5, Low: 0.123456, High: 0.9991234567}}})
	matches(t, b.String(), ` 1 +1\.2346 +98\.7654\n`, `at most 51\.24 % of`, `probability of at most 3e-06 `, ` 50 +12\.34 +99\.912346\n`)
}
