// Package speed says how fast training steps are: [Measure] takes the time of steps on this machine, part by
// part, and [OnRanks] says from such parts and a model of the network how long steps take on many ranks.
package speed

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"dpsgd/configs"
	"dpsgd/internal/gradients"
	"dpsgd/internal/kernel"
)

// Modes lists the kinds of steps that [Measure] measures: private steps with the configured engine,
// plain training without privacy on the same kernels, and private steps with one engine for every
// parameter.
func Modes() []string { return []string{"private", "plain", "materialise", "ghost"} }

// Parts lists the parts of a step in the order in which they happen; overhead is what no other part
// takes: filling the batch with pictures, adding up physical batches, and the book-keeping between
// operations.
func Parts() []string {
	return []string{"forward", "backward", "norms", "sums", "noise", "update", "overhead"}
}

// Result is how fast steps of one kind are.
type Result struct {
	Model             string             `json:"model"` // "layers" for a network that has no name
	Mode              string             `json:"mode"`
	Batch             int                `json:"batch"` // examples in a step
	Threads           int                `json:"threads"`
	Kernel            string             `json:"kernel"`
	ExamplesPerSecond float64            `json:"examples_per_second"` // Batch / the median time of a step
	StepMS            float64            `json:"step_ms"`             // the median, in milliseconds
	GFLOPs            float64            `json:"gflops"`              // useful work
	FMALimitGFLOPs    float64            `json:"fma_limit_gflops"`    // of this process's threads
	PeakRSSMiB        float64            `json:"peak_rss_mib"`        // of the process, so far
	Parts             map[string]float64 `json:"parts"`               // milliseconds of a step, for each of Parts

	// Engines are those of a private step; none in mode plain.
	Engines []gradients.Assignment `json:"engines"`

	Steps    int `json:"-"` // that were measured
	Physical int `json:"-"` // examples that the graph holds at once
}

// mostPhysical is the largest physical batch that a benchmark of a ready network chooses.
const mostPhysical = 256

// Configuration configures a benchmark of a ready network, on pictures of the size that it is meant for:
// 28x28 grey pixels, or 32x32 in colour. The batch is one physical batch while it has at most 256
// examples, and equal ones beyond: that is no slower, and memory does not grow with the batch.
func Configuration(network string, batch int) (*configs.Config, error) {
	pictures := "cifar-10"
	for _, grey := range []string{"mlp", "mnist", "logistic"} {
		if strings.HasPrefix(network, grey) {
			pictures = "mnist"
		}
	}
	source := fmt.Sprintf("data: {name: %s}\nprivacy: {noise_multiplier: 1, clip_norm: 1}\n", pictures)
	c, err := configs.Parse("benchmark", []byte(source), []string{"model.name=" + network})
	if err != nil {
		return nil, err
	}
	physical := (batch + mostPhysical - 1) / mostPhysical // batches, rounded up
	c.Training.BatchSize, c.Training.PhysicalBatchSize = batch, (batch+physical-1)/physical
	return c, nil
}

// Measure measures training steps of a mode for about the given time, on random pictures in memory. Of
// the configuration it takes the network, the size of pictures, clip norm, noise, batch sizes,
// threads and, in mode private, the engine. A step is what [train.Run.Fit] does on a batch that is
// drawn already, but for the ledger and reports; the update is SGD in every mode. The batch has
// exactly the configured size, so that all steps are alike.
//
// Nothing that Run computes can be kept: neither parameters nor gradients leave it.
func Measure(ctx context.Context, c *configs.Config, mode string, d time.Duration) (*Result, error) {
	selected, err := kernel.Selected()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", configs.ErrInvalid, err)
	}
	b, err := newBench(c, mode)
	if err != nil {
		return nil, err
	}
	defer b.pool.Close()
	times, parts, err := b.measure(ctx, d)
	if err != nil {
		return nil, err
	}
	step := median(times)
	result := &Result{
		Model: cmp.Or(c.Model.Name, "layers"), Mode: mode, Batch: c.Training.BatchSize, Threads: b.pool.Threads(), Kernel: selected,
		ExamplesPerSecond: float64(c.Training.BatchSize) / step.Seconds(), StepMS: milliseconds(step),
		FMALimitGFLOPs: b.limit, PeakRSSMiB: peakMemory(), Parts: parts, Engines: []gradients.Assignment{},
		Steps: len(times), Physical: b.physical,
	}
	if private, ok := b.step.(*privateStep); ok {
		result.Engines = private.gradients.Engines()
	}
	// Multiply-adds are counted by one convention whatever a mode really computes: the forward pass, the gradients of
	// all inputs but the first layer's, and the gradients of the weights once, on each view. So the rates of all modes
	// compare, and work that only privacy needs does not count as useful.
	total, first := b.model.MultiplyAdds()
	result.GFLOPs = 2 * float64((3*total-first)*b.views.PerExample()) * result.ExamplesPerSecond / 1e9
	return result, nil
}

// peakMemory is the most memory in MiB that this process has had in use: what Linux counted as
// resident at once, or, on other systems, what the Go runtime has asked the system for.
func peakMemory() float64 {
	const kib, bytes = 1 << 10, 1 << 20 // of a MiB
	status, err := os.ReadFile("/proc/self/status")
	if peak, ok := residentPeak(string(status)); err == nil && ok {
		return peak / kib
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Sys) / bytes
}

// residentPeak finds the line "VmHWM:     12345 kB" of proc(5).
func residentPeak(status string) (kib float64, ok bool) {
	for line := range strings.Lines(status) {
		if value, found := strings.CutPrefix(line, "VmHWM:"); found {
			n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			return n, err == nil
		}
	}
	return 0, false
}
