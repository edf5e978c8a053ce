package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/speed"
)

// The fields of --json are these and no others, in every mode, with figures that make sense.
func TestBenchJSON(t *testing.T) {
	const fields = "batch engines examples_per_second fma_limit_gflops gflops kernel mode model parts peak_rss_mib step_ms threads"
	for _, mode := range []string{"private", "plain", "materialise", "ghost"} {
		object := lastLine(t, succeed(t, "bench", "--model", "mlp128", "--mode", mode, "--batch", "32", "--threads", "1", "--seconds", "0.01", "--json"))
		same(t, mode, strings.Join(slices.Sorted(maps.Keys(object)), " "), fields)
		has(t, object, "model", "mlp128", "mode", mode, "batch", 32., "threads", 1.)
		for _, figure := range []string{"examples_per_second", "step_ms", "gflops", "fma_limit_gflops", "peak_rss_mib"} {
			if v, ok := object[figure].(float64); !ok || !(v > 0) {
				t.Errorf("%s: %s is %v", mode, figure, object[figure])
			}
		}
		if engines, ok := object["engines"].([]any); !ok || (len(engines) > 0) != (mode != "plain") {
			t.Errorf("%s: the engines are %v", mode, object["engines"])
		}
		parts, _ := object["parts"].(map[string]any)
		same(t, mode, fmt.Sprint(slices.Sorted(maps.Keys(parts))), fmt.Sprint(slices.Sorted(slices.Values(speed.Parts()))))
	}
}

// Without flags it measures private steps of mnist-cnn at batch 256 on all cores; with a
// configuration, what that says.
func TestBenchDefaults(t *testing.T) {
	object := lastLine(t, succeed(t, "bench", "--seconds", "0.01", "--json"))
	has(t, object, "model", "mnist-cnn", "mode", "private", "batch", 256., "threads", float64(runtime.GOMAXPROCS(0)))
	config := ownConfig(t, "no pictures are read", 10)
	object = lastLine(t, succeed(t, "bench", "--config", config, "--seconds", "0.01", "--json"))
	has(t, object, "model", "logistic", "batch", 30.)
	object = lastLine(t, succeed(t, "bench", "--config", config, "--batch", "7", "--threads", "3", "--seconds", "0.01", "--json"))
	has(t, object, "batch", 7., "threads", 3.)
}

// For people: what was measured, the figures and the parts, within 80 columns.
func TestBenchText(t *testing.T) {
	for _, args := range [][]string{{"--model", "mlp128", "--batch", "1025"}, {"--config", ownConfig(t, "pictures", 10), "--mode", "materialise"}} {
		out := succeed(t, append([]string{"bench", "--seconds", "0.01"}, args...)...)
		says(t, out, append(speed.Parts(), " step, batch ", "examples/s", "% of the FMA limit of ", "MiB at its peak", "% of the step", "per-example norms")...)
		fits(t, out)
	}
}

// A signal ends a benchmark.
func TestBenchStops(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(shell.Interrupted{Signal: os.Interrupt})
	var out, err strings.Builder
	if code := (&shell.App{Out: &out, Err: &err}).ExecuteContext(ctx, root, []string{"bench", "--seconds", "3600"}); code != 130 || out.Len() > 0 || err.Len() > 0 {
		t.Errorf("found exit code %d, output %q and error %q", code, out.String(), err.String())
	}
}

// Where kernels are asked for that cannot run, no others do in their place.
func TestKernelsThatAreNotThere(t *testing.T) {
	c, out := program(t, "run")
	c.Env = append(c.Env, "DPSGD_KERNEL=mmx")
	if err := c.Run(); c.ProcessState.ExitCode() != shell.ExitUsage || !strings.Contains(out.String(), `DPSGD_KERNEL is "mmx", expected one that this machine supports`) {
		t.Errorf("found %v and %q", err, out)
	}
}
