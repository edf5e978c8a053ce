package run_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
)

// What a run wrote about its steps is read again.
func TestReadMetricsAndDiagnostics(t *testing.T) {
	r := tinyrun.Train(t, tinyrun.Options(t), "training.evaluate_every=5", "run.private_diagnostics=true")
	m, err := run.ReadMetrics(r.Run)
	tiny.Check(t, err)
	if len(m) != 3 || m[0].Step != 5 || m[2].Step != 12 || m[2].TestAccuracy != r.TestAccuracy || m[2].Epsilon != r.Epsilon {
		t.Errorf("found %+v, expected steps 5, 10 and 12, the last as in %+v", m, r)
	}
	d, err := run.ReadDiagnostics(r.Run)
	if err != nil || len(d) != 12 {
		t.Fatalf("found %d lines, error %v, expected 12", len(d), err)
	}
	for _, line := range d {
		if len(line.NormQuantiles) != len(run.NormQuantiles) || !slices.IsSorted(line.NormQuantiles) || line.NormQuantiles[0] <= 0 {
			t.Errorf("step %d: found quantiles %v", line.Step, line.NormQuantiles)
		}
	}
	off := tinyrun.Train(t, tinyrun.Options(t))
	if d, err := run.ReadDiagnostics(off.Run); err != nil || d != nil {
		t.Errorf("found %v, error %v, expected none", d, err)
	}
}

// After a crash steps run again: the newest lines count, and a line that is not whole does not.
func TestReadMetricsAfterACrash(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, folder.Metrics)
	tiny.Write(t, path, `{"step":5,"epsilon":1}`+"\n"+`{"step":10,"epsilon":2}`+"\n"+`{"step":11,"eps`+"\n"+`{"step":5,"epsilon":3}`+"\n"+`{"step":10,"eps`)
	m, err := run.ReadMetrics(dir)
	if err != nil || len(m) != 1 || m[0].Step != 5 || m[0].Epsilon != 3 {
		t.Errorf("found %+v, error %v, expected step 5 with ε = 3", m, err)
	}
	// A power loss may leave zeros for what was not on the disk; the run ends the line when it goes on.
	zeros := strings.Repeat("\x00", 30)
	for _, lost := range []string{zeros, `{"step":10,"eps` + zeros, `{"step":10}` + zeros, zeros + `lon":2}`} {
		tiny.Write(t, path, `{"step":5,"epsilon":1}`+"\n"+lost)
		tiny.Check(t, run.EndLine(path))
		tiny.Check(t, run.AppendLine(path, []byte(`{"step":10,"epsilon":3}`)))
		if m, err := run.ReadMetrics(dir); err != nil || len(m) != 2 || m[1].Epsilon != 3 {
			t.Errorf("found %+v, error %v behind %q, expected step 10 with ε = 3", m, err, lost)
		}
	}
	tiny.Write(t, path, `{"step":5,"epsilon":1}`+"\nno JSON\n")
	if _, err := run.ReadMetrics(dir); !errors.Is(err, checkpoints.ErrCorrupt) || !strings.Contains(err.Error(), "metrics.jsonl:2:") {
		t.Errorf("found error %v, expected one about line 2", err)
	}
	if _, err := run.ReadMetrics(path); err == nil || run.EndLine(dir) == nil || run.AppendLine(dir, nil) == nil {
		t.Errorf("found %v below a file, expected an error, and none of a folder is a line", err)
	}
	tiny.Write(t, path, "null\n")
	if _, err := run.OpenCopies(run.Files{Lines: path, Events: filepath.Join(dir, "events")}, 1); !errors.Is(err, checkpoints.ErrCorrupt) {
		t.Errorf("found error %v for the copies of what is no line, expected one about it", err)
	}
}

func TestQuantiles(t *testing.T) {
	values := []float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
	if found := run.Quantiles(values); !slices.Equal(found, []float64{1, 3, 5, 8, 9}) {
		t.Errorf("found %v of 1 to 10, expected 1, 3, 5, 8 and 9", found)
	}
	if found := run.Quantiles([]float64{4}); !slices.Equal(found, []float64{4, 4, 4, 4, 4}) {
		t.Errorf("found %v of one value", found)
	}
	if found := run.Quantiles(nil); found != nil {
		t.Errorf("found %v of none", found)
	}
}
