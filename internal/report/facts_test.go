package report_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/folder"
	"dpsgd/internal/report"
	"dpsgd/internal/sweep"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
)

// readRun is what the folder of a run says.
func readRun(t *testing.T, dir string, q report.Request) *report.Run {
	t.Helper()
	return tiny.Must(report.ReadRun(t.Context(), dir, q))(t)
}

// A run says what it cost and measured; reading changes nothing in its folder.
func TestReadRun(t *testing.T) {
	result := tinyrun.Train(t, tinyrun.Options(t), "training.evaluate_every=4")
	before := tiny.Snapshot(t, filepath.Dir(result.Run))
	r := readRun(t, result.Run, report.Request{Accountants: true, Private: true})
	if r.Name != "tiny-1" || r.Releases != 12 || r.Spent.Epsilon != result.Epsilon || r.Spent.Accountant != "rdp" || len(r.Metrics) != 3 ||
		r.Statement == nil || r.Statement.Epsilon != result.Epsilon || r.NoiseMultiplier != r.Statement.NoiseMultiplier || !strings.Contains(r.Markdown, "# Privacy statement") || r.Diagnostics != nil || len(r.Warnings) != 0 {
		t.Errorf("found %+v", r)
	}
	if r.Curves == nil || r.Curves.Releases != 12 {
		t.Errorf("found %+v, expected ε over 12 releases", r.Curves)
	}
	if !maps.Equal(before, tiny.Snapshot(t, filepath.Dir(result.Run))) {
		t.Error("reading changed a file")
	}
}

// A run that was extended costs what its statement says, choices to go on included; no accountant's
// curve ends below it.
func TestReadExtendedRun(t *testing.T) {
	o := tinyrun.Options(t)
	first := tinyrun.Train(t, o, "privacy.epsilon=3", "privacy.noise_multiplier=1")
	tiny.Must(train.Extend(first.Run, 6, 2*first.Steps, o))(t)
	result := tinyrun.Fit(t, tinyrun.Open(t, first.Run, o))
	r := readRun(t, first.Run, report.Request{Accountants: true})
	if r.Spent.Epsilon != result.Epsilon || r.Releases != result.Steps || r.Statement == nil || r.Statement.Epsilon != result.Epsilon || r.NoiseMultiplier != r.Statement.NoiseMultiplier || len(r.Warnings) != 0 {
		t.Errorf("found ε = %v after %d releases, statement %+v (%v), expected %+v", r.Spent.Epsilon, r.Releases, r.Statement, r.Warnings, result)
	}
	for _, a := range r.Curves.Accountants {
		if n := len(a.Curve); n > 0 && a.Accountant == "rdp" && a.Curve[n-1].Epsilon < result.Epsilon {
			t.Errorf("found ε = %v at the end of its curve, expected %v", a.Curve[n-1].Epsilon, result.Epsilon)
		}
	}
}

// A sweep says what its trials did and what all of them cost; one that is at work says so far.
func TestReadSweep(t *testing.T) {
	o := tinyrun.Options(t)
	file := filepath.Join(t.TempDir(), "base.yaml")
	tiny.Write(t, file, tiny.Config)
	s := tiny.Must(configs.ParseSweep(filepath.Join(filepath.Dir(file), "s.yaml"), []byte("name: s\nbase: base.yaml\nset: {training.steps: 3}\ngrid: {privacy.clip_norm: [0.5, 1], optimizer.name: [sgd, momentum]}\n")))(t)
	result := tiny.Must(sweep.Run(context.Background(), s, sweep.Options{Request: o.Request, RunsDir: o.RunsDir}))(t)
	found, err := report.ReadSweep(result.Sweep, report.Request{Accountants: true})
	tiny.Check(t, err)
	if found.Trials != 4 || len(found.Rows) != 4 || !slices.Equal(found.Keys, []string{"privacy.clip_norm", "optimizer.name"}) || found.Rows[3].Value("optimizer.name") != "momentum" {
		t.Errorf("found %+v", found)
	}
	if found.Composed == nil || found.Composed.Epsilon != result.Composed.Epsilon || found.Releases != 12 || found.Note == "" {
		t.Errorf("found %+v (%s), expected what the sweep reports: %+v", found.Composed, found.Uncomposed, result.Composed)
	}
	list, err := report.Lines(o.RunsDir)
	if err != nil || len(list) != 5 || list[0].Trials != 4 || *list[0].Epsilon != result.Composed.Epsilon || list[0].Status != "done" || list[4].Sweep != result.Sweep {
		t.Errorf("found %+v (%v), expected a line of the sweep ahead of its trials", list, err)
	}
	// Files without a ledger are held against one.
	edit := func(path, pattern, by string) (restore func()) {
		whole := tiny.Read(t, path)
		edited := regexp.MustCompile(pattern).ReplaceAllString(whole, by)
		if edited == whole {
			t.Fatalf("%s has no %s", path, pattern)
		}
		tiny.Write(t, path, edited)
		return func() { tiny.Write(t, path, whole) }
	}
	restore := edit(filepath.Join(result.Sweep, folder.Rows), `"epsilon":[0-9.]+`, `"epsilon":0.5`)
	_, err = report.ReadSweep(result.Sweep, report.Request{})
	_, other := sweep.Run(context.Background(), s, sweep.Options{Request: o.Request, RunsDir: o.RunsDir})
	if !errors.Is(err, checkpoints.ErrCorrupt) || !errors.Is(other, checkpoints.ErrCorrupt) || strings.Contains(err.Error(), "\n") {
		t.Errorf("found %v and %v for an ε that was edited, expected a refusal", err, other)
	}
	restore()
	restore = edit(filepath.Join(result.Sweep, folder.Report), `ε`, `no ε`)
	if found, err = report.ReadSweep(result.Sweep, report.Request{}); err != nil || !strings.Contains(found.Note, "is not what the sweep wrote") {
		t.Errorf("found %s (%v) for a table that was edited", found.Note, err)
	}
	restore()
	trial := filepath.Join(result.Sweep, result.Rows[0].Trial)
	restore = edit(filepath.Join(trial, folder.Metrics), `"epsilon":[0-9.]+`, `"epsilon":0.1`)
	if _, err := report.ReadRun(context.Background(), trial, report.Request{}); !errors.Is(err, checkpoints.ErrCorrupt) {
		t.Errorf("found %v for lines that were edited", err)
	}
	restore()
	tiny.Check(t, os.Remove(filepath.Join(result.Sweep, folder.Rows)))
	if found, err = report.ReadSweep(result.Sweep, report.Request{Accountants: true}); err != nil || found.Trials != 4 || len(found.Rows) != 0 || found.Releases != 12 {
		t.Errorf("found %+v, error %v, expected no row and all releases", found, err)
	}
}

// A sweep that stopped early costs all that it planned: whoever stopped it may have looked.
func TestStoppedSweepCostsItsPlan(t *testing.T) {
	o := tinyrun.Options(t)
	file := filepath.Join(t.TempDir(), "base.yaml")
	tiny.Write(t, file, tiny.Config)
	s := tiny.Must(configs.ParseSweep(filepath.Join(filepath.Dir(file), "s.yaml"), []byte("name: s\nbase: base.yaml\nset: {training.steps: 3}\ngrid: {privacy.clip_norm: [0.5, 1]}\n")))(t)
	ctx, cancel := context.WithCancel(t.Context())
	options := sweep.Options{Request: o.Request, RunsDir: o.RunsDir, Watcher: sweep.Watcher{TrialStepped: func(sweep.TrialOverview, train.Progress) { cancel() }}}
	result, err := sweep.Run(ctx, s, options)
	if err != nil || result.Composed.Released == nil {
		t.Fatalf("found %+v (%v), expected a sweep that stopped early", result, err)
	}
	tiny.Check(t, os.Remove(filepath.Join(result.Sweep, folder.Summary)))  // as if it was killed
	least := math.Nextafter(result.Composed.Released.Epsilon, math.Inf(1)) // the plan of the second trial is not known yet
	for range 2 {
		found := tiny.Must(report.ReadSweep(result.Sweep, report.Request{Accountants: true}))(t)
		list := tiny.Must(report.Lines(o.RunsDir))(t)
		if found.Composed == nil || found.Composed.Epsilon < least || *list[0].Epsilon != found.Composed.Epsilon || found.Releases != result.Composed.Releases {
			t.Errorf("found %+v and %+v, expected ε of at least %v", found.Composed, list[0], least)
		}
		least = tiny.Must(sweep.Collect(t.Context(), s, options))(t).Composed.Epsilon
	}
}

// Names of trials are names of folders: a file that leads elsewhere is refused, and so is a line
// that is no row.
func TestReadSweepRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range [][2]string{{"../../etc"}, {"/etc"}, {"a/b"}, {""}, {"a", "no"}, {"a", `{"epsilon":1}`}, {"a", `[]`}, {"a", `{"trial":1}`}} {
		tiny.Write(t, filepath.Join(dir, folder.Sweep), `{"trials":[{"name":"`+tt[0]+`"}]}`)
		tiny.Write(t, filepath.Join(dir, folder.Rows), tt[1]+"\n")
		if _, err := report.ReadSweep(dir, report.Request{}); !errors.Is(err, checkpoints.ErrCorrupt) {
			t.Errorf("%q: found error %v", tt, err)
		}
	}
}

// A statement that claims less than the ledger costs is not shown, and that is said.
func TestReadRunWithAnEditedStatement(t *testing.T) {
	result := tinyrun.Train(t, tinyrun.Options(t))
	path := filepath.Join(result.Run, folder.StatementData)
	whole := tiny.Unsummed(tiny.Read(t, path))
	for _, share := range []float64{0.01, 0.5, 0.998} {
		claimed := fmt.Sprint(share * result.Epsilon)
		tiny.Write(t, path, regexp.MustCompile(`"epsilon": [0-9.]+`).ReplaceAllString(whole, `"epsilon": `+claimed))
		r := readRun(t, result.Run, report.Request{})
		if r.Statement != nil || r.Markdown != "" || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "ε = ") {
			t.Errorf("%s: found %+v, expected no statement and one warning", claimed, r)
		}
	}
}
