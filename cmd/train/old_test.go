package main

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

// oldRuns unpacks the runs that version 1ae6581 wrote and goes to their folder: "runs" with runs of
// every kind that ended (extended-1 was extended by `train extend --epsilon 4 --steps 16` and not
// resumed; digits-statistics-1 was deleted), "stopped" with runs of the same configurations that
// SIGINT stopped after their first releases (stats by SIGKILL), "people" with their table.
func oldRuns(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	f, err := os.Open(filepath.Join(packageFolder, "testdata", "runs-of-1ae6581.tar.gz"))
	tiny.Check(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	tiny.Check(t, err)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		tiny.Check(t, err)
		if h.FileInfo().IsDir() {
			tiny.Check(t, os.MkdirAll(h.Name, 0o700))
		} else {
			tiny.Write(t, h.Name, string(tiny.Must(io.ReadAll(r))(t)))
		}
	}
}

// packageFolder holds the sources of this package: tests begin there.
var packageFolder, _ = os.Getwd()

// oldKinds has a row for every kind of run: what version 1ae6581 said by `train epsilon RUN --json`
// and `train eval RUN --json` of the run that ended. A loss of 0 is a run without a model.
var oldKinds = []struct {
	name                string
	epsilon, loss       float64
	stoppedEpsilon      float64 // of the one in "stopped"; 0 where there is none
	resumeIsRefusedWith string
}{
	{"examples-1", 2.9999999999999996, 0.16310163461857882, 2.0562137022864935, ""},
	{"baseline-1", math.Inf(1), 0.16350751412683168, math.Inf(1), ""},
	{"labels-1", 0.9986311841607256, 0.42920191772282124, 0.9986311841607256, "places of the examples could follow from their labels"},
	{"persons-1", 2.9999999999998614, 0.22382941855721583, 1.9108661827653, "privacy.unit person goes by their places"},
	{"federated-1", 2.9999999999999964, 0.18437131309183313, 1.8705447172316936, "federated.clients goes by their places"},
	{"pate-1", 1.6719116180527123, 0.3004239145032244, 0.639603891085394, ""},
	{"stats-statistics-1", 1.9910616008434918, 0, 0.6651521031778401, ""},
	{"extended-1", 3.3019648526851646, 0.16, 0, ""},
}

// Runs that an earlier version wrote are accounted, evaluated and reported as that version did.
func TestOldRunsReadAlike(t *testing.T) {
	oldRuns(t)
	if found, err := filepath.Glob("runs/*/config.yaml"); err != nil || len(found) != len(oldKinds) {
		t.Errorf("found %q (%v), expected the %d runs of the table", found, err, len(oldKinds))
	}
	for _, k := range oldKinds {
		run := filepath.Join("runs", k.name)
		checkOldEpsilon(t, run, k.epsilon)
		if k.loss == 0 {
			continue
		}
		found := lastLine(t, succeed(t, "eval", run, "--json"))["test_loss"].(float64)
		if k.name != "extended-1" && math.Abs(found-k.loss) > 1e-6 {
			t.Errorf("%s: found a test loss of %v, expected %v", run, found, k.loss)
		}
	}
	// 7.762 were all runs on the table together, 4.037 the trials of the sweep.
	says(t, succeed(t, "ledger", "show"), "7.76", "digits-statistics-1")
	says(t, succeed(t, "runs"), "4.037")
	reported := []string{"report", "-o", "report.html", "runs/labels-1", "runs/grid"}
	if slow.Asked() { // trials are planned anew, and all accountants are asked for the curves of each run
		succeed(t, "sweep", "grid.yaml")
		reported = append(reported, "runs/examples-1", "runs/persons-1", "runs/federated-1")
	}
	succeed(t, reported...)
}

// checkOldEpsilon holds what `train epsilon` says now against what it said, which was no less than
// the truth: it may not become less, but by the rounding of an accountant.
func checkOldEpsilon(t *testing.T, run string, least float64) {
	t.Helper()
	r := command("epsilon", run, "--json")
	if math.IsInf(least, 1) {
		if r.code != 2 || !strings.Contains(r.out+r.err, "NOT PRIVATE") {
			t.Errorf("%s: found exit code %d and %q, expected NOT PRIVATE", run, r.code, r.err)
		}
		return
	}
	if r.code != 0 {
		t.Errorf("%s: found exit code %d and %s", run, r.code, r.err)
	} else if found := lastLine(t, r.out)["epsilon"].(float64); found < least-1e-4 {
		t.Errorf("%s: found ε = %v, expected at least %v", run, found, least)
	}
}

// Runs that an earlier version began go on, and what they released before counts.
func TestOldRunsResume(t *testing.T) {
	oldRuns(t)
	for _, k := range oldKinds {
		run := filepath.Join("stopped", k.name)
		if k.stoppedEpsilon == 0 {
			run = filepath.Join("runs", k.name)
		} else {
			checkOldEpsilon(t, run, k.stoppedEpsilon)
		}
		before := tiny.Snapshot(t, run)
		r := command("resume", run)
		if k.resumeIsRefusedWith != "" {
			if r.code == 0 || !strings.Contains(r.err, k.resumeIsRefusedWith) || !maps.Equal(before, tiny.Snapshot(t, run)) {
				t.Errorf("%s: found exit code %d and %q, expected a refusal that writes nothing", run, r.code, r.err)
			}
			continue
		}
		if r.code != 0 {
			t.Errorf("%s: found exit code %d and %s, expected it to go on", run, r.code, r.err)
			continue
		}
		checkOldEpsilon(t, run, k.epsilon)
	}
	succeed(t, "ledger", "verify", "--runs-dir", "stopped")
}

// The command run carries out any configuration, whatever its kind.
func TestRunOfEveryKind(t *testing.T) {
	t.Chdir(t.TempDir())
	folderOf(t, nil)
	for _, args := range runsOfEveryKind {
		if args[0] == "extend" || args[0] == "resume" || args[0] == "sweep" {
			continue
		}
		run := append([]string{"run"}, args[1:]...)
		says(t, succeed(t, append(run, "--runs-dir", "new")...), "in new/")
		if args[0] != "pate" && args[0] != "stats" {
			continue
		}
		refused(t, 2, "found --serve, expected none", append(run, "--serve")...)
	}
}
