// Package speed says how fast training steps are: [Measure] takes the time of steps on this
// machine, part by part, and [OnRanks] says from such parts and a model of the network how long
// steps take on many ranks.
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
	"dpsgd/internal/setup"
)

// Modes lists the kinds of steps that [Measure] measures: private steps with the configured engine;
// plain training without privacy on the same kernels; and private steps with one engine, of the
// mode's name, for every parameter.
func Modes() []string { return []string{"private", "plain", "materialise", "ghost"} }

// Parts lists the parts of a step in the order in which they happen; overhead is what no other part
// takes: filling the batch with pictures, adding up physical batches, and the book-keeping between
// operations.
func Parts() []string {
	return []string{"forward", "backward", "norms", "sums", "noise", "update", "overhead"}
}

// Result says how fast steps of one kind are.
type Result struct {
	Model             string             `json:"model"` // "layers" for a network that has no name
	Mode              string             `json:"mode"`
	Batch             int                `json:"batch"` // examples in a step
	Threads           int                `json:"threads"`
	Kernel            string             `json:"kernel"`
	ExamplesPerSecond float64            `json:"examples_per_second"` // Batch / the median time of a step
	StepMS            float64            `json:"step_ms"`             // the median, in milliseconds
	GFLOPs            float64            `json:"gflops"`              // of useful work, counted alike in all modes
	FMALimitGFLOPs    float64            `json:"fma_limit_gflops"`    // the most GFLOP/s that the threads can do
	PeakRSSMiB        float64            `json:"peak_rss_mib"`        // of the process, so far
	Parts             map[string]float64 `json:"parts"`               // milliseconds of a step, for each of Parts

	// Engines lists the engine of each parameter in a private step; none in mode plain.
	Engines []gradients.Assignment `json:"engines"`

	Steps    int `json:"-"` // that were measured
	Physical int `json:"-"` // examples that the graph holds at once
}

// A benchmark of a ready network chooses the largest power of two as its physical batch, up to
// mostPhysical, whose examples add at most physicalBytes to the memory of the graph. Smaller ones
// repeat what is done once for a physical batch; larger ones of convolutions leave the caches.
const (
	mostPhysical  = 256
	physicalBytes = 72e6
)

// Configuration returns the configuration for a benchmark of a ready network, on examples that it is
// meant for: 28x28 grey pixels, 32x32 in colour, or texts of up to 64 bytes. A large batch is split
// into equal physical batches, so that memory does not grow with the batch.
func Configuration(network string, batch int) (*configs.Config, error) {
	examples := "name: cifar-10"
	for prefix, other := range map[string]string{
		"mlp": "name: mnist", "mnist": "name: mnist", "logistic": "name: mnist", "text": "text: drawn, classes: [a, b], length: 64",
	} {
		if strings.HasPrefix(network, prefix) {
			examples = other
		}
	}
	source := fmt.Sprintf("data: {%s}\nprivacy: {noise_multiplier: 1, clip_norm: 1}\n", examples)
	c, err := configs.Parse("benchmark", []byte(source), []string{"model.name=" + network})
	if err != nil {
		return nil, err
	}
	physical, err := physicalOf(c)
	if err != nil {
		return nil, err
	}
	parts := (batch + physical - 1) / physical
	c.Training.BatchSize, c.Training.PhysicalBatchSize = batch, (batch+parts-1)/parts
	return c, nil
}

// physicalOf returns the physical batch of a benchmark of the network of c.
func physicalOf(c *configs.Config) (int, error) {
	o, err := setup.OutlineOf(c, benchPictures)
	if err != nil {
		return 0, err
	}
	graph := func(physical int) float64 {
		c.Training.PhysicalBatchSize = physical
		m, failed := setup.MemoryOf(c, o)
		err = cmp.Or(err, failed)
		return m.Graph
	}
	physical := mostPhysical
	for one := graph(1); physical > 1 && graph(physical)-one > physicalBytes; {
		physical /= 2
	}
	return physical, err
}

// Measure times training steps of one of the [Modes] for about d, on random examples in memory, and
// returns the median time of a step and of its parts. The configuration says the network, the shape
// of an example, clip norm, noise, batch sizes, threads and, in mode private, the engine. Every
// batch has exactly the configured size, so that all steps are alike. A step does what a step of
// training does, without drawing a sample, ledger and reports; the update is SGD in every mode.
// Parameters and gradients do not leave Measure.
func Measure(ctx context.Context, c *configs.Config, mode string, d time.Duration) (*Result, error) {
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
	selected, _ := kernel.Selected()
	result := &Result{
		Model: cmp.Or(c.Model.Name, "layers"), Mode: mode, Batch: c.Training.BatchSize, Threads: b.pool.Threads(), Kernel: selected,
		ExamplesPerSecond: float64(c.Training.BatchSize) / step.Seconds(), StepMS: milliseconds(step),
		FMALimitGFLOPs: b.limit, PeakRSSMiB: peakMemory(), Parts: parts, Engines: []gradients.Assignment{},
		Steps: len(times), Physical: b.physical,
	}
	if private, ok := b.step.(*privateStep); ok {
		result.Engines = private.gradients.Engines()
	}
	// Multiply-adds are counted by one convention whatever a mode really computes: the forward
	// pass, the gradients of all inputs but the first layer's, and the gradients of the weights
	// once, on each view. So the rates of all modes compare, and work that only privacy needs does
	// not count as useful.
	total, first := b.model.MultiplyAdds()
	result.GFLOPs = 2 * float64((3*total-first)*b.views.PerExample()) * result.ExamplesPerSecond / 1e9
	return result, nil
}

// peakMemory returns the most memory in MiB that this process has used at a time: what Linux counts
// as resident, or, on other systems, what the Go runtime has asked the system for.
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

// residentPeak reads the number in the line "VmHWM:     12345 kB" of /proc/self/status.
func residentPeak(status string) (kib float64, ok bool) {
	for line := range strings.Lines(status) {
		if value, found := strings.CutPrefix(line, "VmHWM:"); found {
			n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			return n, err == nil
		}
	}
	return 0, false
}
