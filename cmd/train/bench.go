package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/internal/gradients"
	"dpsgd/internal/speed"

	"github.com/spf13/cobra"
)

// benchFlags hold the flags of `train bench`.
type benchFlags struct {
	model, config, mode string
	batch, threads      int
	seconds             float64
}

// Limits of the flags of `train bench`.
const (
	mostBatch   = 10_000_000
	mostThreads = 1024
	mostSeconds = 3600
)

func benchCommand(a *shell.App) *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure the speed of training steps on random examples",
		Long: `Measure training steps on random examples in memory: steady-state examples a second, the share of what the
machine's multiply-add units can do, peak memory, and the time of each part of a step. Nothing is trained or written.

Modes: private is the step of train run; materialise and ghost force that engine for all layers; plain is training
without privacy on the same kernels, to compare with. docs/performance.md says how all of it is measured.`,
		Example: `  train bench
  train bench --model cifar-cnn --mode plain --batch 64 --threads 1
  train bench --config configs/mnist-cnn.yaml --json`,
		Args: shell.None,
		RunE: func(c *cobra.Command, _ []string) error {
			config, err := f.read(c)
			if err != nil {
				return err
			}
			result, err := speed.Measure(c.Context(), config, f.mode, time.Duration(f.seconds*float64(time.Second)))
			show := shell.Show(a, func(w io.Writer, b *speed.Result) { printBench(w, b, f) })
			return show(result, configs.Placed(shell.Ended(c.Context(), err), f.config, nil))
		},
	}
	c.Flags().StringVar(&f.model, "model", "mnist-cnn", "a ready network: "+strings.Join(configs.Networks(), ", "))
	c.Flags().StringVar(&f.config, "config", "", "a configuration file or the name of a preset, instead of --model; its batch sizes, threads and engine count")
	c.Flags().StringVar(&f.mode, "mode", "private", "one of "+strings.Join(speed.Modes(), ", "))
	c.Flags().IntVar(&f.batch, "batch", 256, "examples in a step; up to 256 of them are computed at once")
	c.Flags().IntVar(&f.threads, "threads", 0, "threads that compute (default: all cores)")
	c.Flags().Float64Var(&f.seconds, "seconds", 3, "about how long to measure")
	return c
}

// read checks the flags and returns the configuration of the benchmark.
func (f *benchFlags) read(c *cobra.Command) (*configs.Config, error) {
	changed := c.Flags().Changed
	switch {
	case changed("config") && f.config == "":
		return nil, shell.Usagef("found an empty --config, expected a configuration file or the name of a preset")
	case changed("model") && changed("config"):
		return nil, shell.Usagef("found --model and --config, expected one of the two")
	case !slices.Contains(configs.Networks(), f.model):
		return nil, shell.Usagef("found --model %q, expected one of %s", f.model, strings.Join(configs.Networks(), ", "))
	case !slices.Contains(speed.Modes(), f.mode):
		return nil, shell.Usagef("found --mode %q, expected one of %s", f.mode, strings.Join(speed.Modes(), ", "))
	case f.batch < 1 || f.batch > mostBatch:
		return nil, shell.Usagef("found --batch %d, expected 1 to %d", f.batch, mostBatch)
	case changed("threads") && (f.threads < 1 || f.threads > mostThreads):
		return nil, shell.Usagef("found --threads %d, expected 1 to %d", f.threads, mostThreads)
	case !(f.seconds > 0 && f.seconds <= mostSeconds):
		return nil, shell.Usagef("found --seconds %g, expected a number above 0 and at most %d", f.seconds, mostSeconds)
	}
	config, err := speed.Configuration(f.model, f.batch)
	if f.config != "" {
		config, err = configs.Load(f.config, nil)
	}
	if err != nil {
		return nil, shell.AsUsage(err)
	}
	if f.config != "" && changed("batch") {
		config.Training.BatchSize = f.batch
	}
	if changed("threads") {
		config.Performance.Threads = f.threads
	}
	return config, nil
}

func printBench(w io.Writer, b *speed.Result, f benchFlags) {
	name := b.Model
	if f.config != "" {
		name = baseName(f.config) + ", network " + b.Model
	}
	fmt.Fprintf(w, "%s\n%s step, batch %s, %d threads, %s kernels\n\n", shell.Cut(name, 80), b.Mode, shell.Count(b.Batch), b.Threads, b.Kernel)
	fmt.Fprintf(w, "speed     %s examples/s\n", shell.Count(int(math.Round(b.ExamplesPerSecond))))
	fmt.Fprintf(w, "step      %.3f ms, the median of %s\n", b.StepMS, shell.Count(b.Steps))
	fmt.Fprintf(w, "work      %.1f GFLOP/s, %.1f %% of the FMA limit of %.1f\n", b.GFLOPs, 100*b.GFLOPs/b.FMALimitGFLOPs, b.FMALimitGFLOPs)
	fmt.Fprintf(w, "memory    %.1f MiB at its peak, %s examples at once\n\n", b.PeakRSSMiB, shell.Count(b.Physical))
	shell.PrintRows(w, []string{"part", "ms", "% of the step"}, speed.Parts(), func(part string) []string {
		ms := b.Parts[part]
		return []string{part, shell.Decimals(ms, 3), shell.Decimals(100*ms/b.StepMS, 1)}
	})
	if len(b.Engines) > 0 {
		fmt.Fprintln(w)
		shell.PrintRows(w, []string{"parameter", "per-example norms"}, b.Engines, func(e gradients.Assignment) []string { return []string{e.Parameter, e.Engine.String()} })
	}
}
