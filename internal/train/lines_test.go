package train

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"dpsgd/internal/folder"
	"dpsgd/internal/tiny"
)

// stepsOfTable are the steps of metrics.csv.
func stepsOfTable(t *testing.T, dir string) string {
	t.Helper()
	var steps []string
	for _, line := range strings.Split(strings.TrimSpace(tiny.Read(t, filepath.Join(dir, folder.MetricsTable))), "\n")[1:] {
		step, _, _ := strings.Cut(line, ",")
		steps = append(steps, step)
	}
	return strings.Join(steps, " ")
}

// A run that is stopped, or killed after its last checkpoint and ahead of its last point, and that
// ended and is started again, leaves each of its points once.
func TestCopiesOfMetricsHoldEachStepOnce(t *testing.T) {
	for _, cut := range []int{4, 7, 11} {
		o := options(t)
		stopped := interruptAfter(t, create(t, tiny.Parse(t, "training.evaluate_every=3"), o), cut)
		killed := filepath.Join(stopped.Run, folder.Metrics)
		after := tiny.Read(t, killed) + `{"step":` + strconv.Itoa(cut/3*3+3) + `,"epsilon":1,"delta":1e-5,"test_accuracy":0,"test_loss":0,"learning_rate":0}` + "\n" + `{"st`
		tiny.Check(t, os.WriteFile(killed, []byte(after), 0o600))
		fit(t, open(t, stopped.Run, o))
		fit(t, open(t, stopped.Run, o)) // which evaluates the last step once more
		want := map[int]string{4: "3 4 6 9 12", 7: "3 6 7 9 12", 11: "3 6 9 11 12"}[cut]
		if found := stepsOfTable(t, stopped.Run); found != want {
			t.Errorf("stopped at %d: points of steps %s, expected %s", cut, found, want)
		}
		before := tiny.Read(t, filepath.Join(stopped.Run, folder.MetricsEvents))
		open(t, stopped.Run, o).Close()
		if before != tiny.Read(t, filepath.Join(stopped.Run, folder.MetricsEvents)) {
			t.Errorf("stopped at %d: the events are not those of the metrics", cut)
		}
	}
}

// What TensorBoard shows is no more public than what it is a copy of: real batch sizes, times and
// norms are in the folder that says so, and that is there only when it was asked for.
func TestEventsTellNoMoreThanTheirLines(t *testing.T) {
	private := []string{"batch_size\x15", "seconds", "norm\x15", "norms", "examples_per_second", "training_loss"}
	for _, on := range []bool{false, true} {
		r := train(t, options(t), "run.private_diagnostics="+strconv.FormatBool(on))
		public := tiny.Read(t, filepath.Join(r.Run, folder.MetricsEvents))
		for _, tag := range []string{"epsilon", "test_accuracy", "learning_rate", "privacy.clip_norm"} {
			if !strings.Contains(public, tag) {
				t.Errorf("the events have no %q", tag)
			}
		}
		for _, tag := range private {
			if strings.Contains(public, tag) {
				t.Errorf("the public events hold %q", tag)
			}
		}
		content, err := os.ReadFile(filepath.Join(r.Run, folder.DiagnosticEvents))
		if (err == nil) != on {
			t.Fatalf("private diagnostics %v, and reading their events is %v", on, err)
		}
		for _, tag := range []string{"norms", "examples_per_second", "training_loss"} {
			if on && !strings.Contains(string(content), tag) {
				t.Errorf("the private events have no %q", tag)
			}
		}
	}
}
