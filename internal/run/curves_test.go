package run

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/internal/folder"
	"dpsgd/internal/tensorboard"
	"dpsgd/internal/tiny"
)

// at makes files in a new folder, with these lines.
func at(t *testing.T, lines string) Files {
	t.Helper()
	dir := t.TempDir()
	f := Files{
		Lines: filepath.Join(dir, "m.jsonl"), Events: filepath.Join(dir, "below", "tfevents"), Table: filepath.Join(dir, "m.csv"),
		Columns: []string{"step", "x", "gone"}, Without: []string{"delta"},
	}
	must(0, os.WriteFile(f.Lines, []byte(lines), 0o600))
	return f
}

func content(t *testing.T, path string) string {
	t.Helper()
	b := must(os.ReadFile(path))
	return string(b)
}

// events are the records of an event file with these events.
func events(list ...tensorboard.Event) string {
	records := tensorboard.Record(nil, tensorboard.Event{Version: tensorboard.Version}.Encode())
	for _, e := range list {
		records = tensorboard.Record(records, e.Encode())
	}
	return string(records)
}

func scalar(step int, x float64) tensorboard.Event {
	return tensorboard.Event{Step: step, Values: []tensorboard.Value{tensorboard.Scalar("x", x)}}
}

// Whatever happened to a run, its copies hold each step once, as the part of the run that counts
// saw it.
func TestCopiesHoldEachStepOnce(t *testing.T) {
	for _, tt := range []struct {
		name, lines string
		upTo        int
		table       string
		events      string
	}{
		{"new", "", 0, "step,x,gone\n", events()},
		{"stopped", `{"step":5,"x":1,"delta":1}` + "\n", 5, "step,x,gone\n5,1,\n", events(scalar(5, 1))},
		{"killed after its checkpoint", `{"step":5,"x":1}` + "\n" + `{"step":10,"x":2}` + "\n", 7, "step,x,gone\n5,1,\n", events(scalar(5, 1))},
		{"went on from an earlier step", `{"step":5,"x":1}` + "\n" + `{"step":10,"x":2}` + "\n" + `{"step":8,"x":3}` + "\n" + `{"step":10,"x":4}` + "\n", 10,
			"step,x,gone\n5,1,\n8,3,\n10,4,\n", events(scalar(5, 1), scalar(8, 3), scalar(10, 4))},
		{"ended twice", strings.Repeat(`{"step":5,"x":1}`+"\n", 2), 5, "step,x,gone\n5,1,\n", events(scalar(5, 1))},
		{"torn line that was ended", `{"step":5,"x":1}` + "\n" + `{"step":1` + "\n" + `{"step":6,"x":2}` + "\n", 9, "step,x,gone\n5,1,\n6,2,\n", events(scalar(5, 1), scalar(6, 2))},
		{"torn line", `{"step":5,"x":1}` + "\n" + `{"step":1`, 9, "step,x,gone\n5,1,\n", events(scalar(5, 1))},
	} {
		f := at(t, tt.lines)
		for range 2 { // the second time they are there
			must(OpenCopies(f, tt.upTo))
			if found := content(t, f.Table); found != tt.table {
				t.Errorf("%s: the table is\n%s, expected\n%s", tt.name, found, tt.table)
			}
			if found := content(t, f.Events); found != tt.events {
				t.Errorf("%s: the events are %q, expected %q", tt.name, found, tt.events)
			}
		}
	}
}

// Lines that are added are copied as if they had been there.
func TestAddedLinesAreCopied(t *testing.T) {
	f := at(t, "")
	c := must(OpenCopies(f, 0))
	for _, line := range []string{`{"step":5,"x":1,"delta":0.1}`, `{"step":5,"x":9}`, `{"step":6,"x":2,"gone":"no"}`} {
		must(0, c.Add([]byte(line)))
	}
	if found, want := content(t, f.Table), "step,x,gone\n5,1,\n6,2,\"no\"\n"; found != want {
		t.Errorf("the table is\n%s, expected\n%s", found, want)
	}
	if found := content(t, f.Events); found != events(scalar(5, 1), scalar(6, 2)) {
		t.Errorf("the events are %q", found)
	}
	if err := c.Add([]byte(`{"no step":1}`)); err == nil {
		t.Error("a line without a step was taken")
	}
	if err := (*Copies)(nil).Add([]byte("{}")); err != nil {
		t.Error(err)
	}
}

// A histogram and nothing else comes out of an object.
func TestHistogramsAreCopied(t *testing.T) {
	f := at(t, `{"step":1,"norms":{"limits":[1,2],"counts":[3,4],"min":0.5,"max":2,"sum":9,"sum_squares":14}}`+"\n")
	must(OpenCopies(f, 1))
	want := tensorboard.Histogram("norms", tensorboard.Buckets{Limits: []float64{1, 2}, Counts: []float64{3, 4}, Min: 0.5, Max: 2, Sum: 9, SumSquares: 14})
	if content(t, f.Events) != events(tensorboard.Event{Step: 1, Values: []tensorboard.Value{want}}) {
		t.Error("the histogram is another one")
	}
}

// TensorBoard keeps 24 bits of a number: what is an upper bound stays one, as both ε of a run do.
func TestBoundsStayBounds(t *testing.T) {
	f := at(t, `{"step":1,"x":2.00000001,"y":2.00000001,"z":2}`+"\n")
	f.Bounds = []string{"x", "z"}
	must(OpenCopies(f, 1))
	next := float64(math.Nextafter32(2, 3))
	want := tensorboard.Event{Step: 1, Values: []tensorboard.Value{tensorboard.Scalar("x", next), tensorboard.Scalar("y", 2), tensorboard.Scalar("z", 2)}}
	if content(t, f.Events) != events(want) {
		t.Errorf("found other events than x = %v, y = 2 and z = 2", next)
	}
	r := &Run{Dir: t.TempDir(), Step: 1, Config: tiny.Parse(t)}
	must(0, os.WriteFile(r.Path(folder.Metrics), []byte(`{"step":1,"epsilon":2.00000001,"epsilon_rdp":2.00000001}`+"\n"), 0o600))
	r.OpenMetrics()
	want.Values = []tensorboard.Value{tensorboard.Scalar("epsilon", next), tensorboard.Scalar("epsilon_rdp", next)}
	if !strings.HasSuffix(content(t, r.Path(folder.MetricsEvents)), string(tensorboard.Record(nil, want.Encode()))) {
		t.Errorf("found other events than an ε of %v by both accountants", next)
	}
}
