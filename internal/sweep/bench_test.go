package sweep

import (
	"fmt"
	"testing"
	"time"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/setup"
	"dpsgd/internal/tiny"
)

// BenchmarkSideBySide trains three small trials one after the other, each on all cores, and three
// at a time, in turn, and reports the examples per second of both and their ratio, which `parallel`
// should make 1 or more.
func BenchmarkSideBySide(b *testing.B) {
	source := tiny.Must(data.Load(data.Spec{Name: "digits", Seed: 1}))(b)
	const steps, batch = 150, 512
	seconds := map[int]float64{}
	for b.Loop() {
		for _, parallel := range []int{1, 3} {
			s := tiny.Must(configs.ParseSweep("bench.yaml", fmt.Appendf(nil, `
name: bench
base: digits
set: {model.name: mnist-cnn, privacy.epsilon: none, privacy.noise_multiplier: 1, training.steps: %d, training.batch_size: %d}
seeds: 3
parallel: %d
`, steps, batch, parallel)))(b)
			var start time.Time
			watcher := Watcher{TrialStarted: func(TrialOverview) {
				if start.IsZero() {
					start = time.Now()
				}
			}}
			runSweep(b, s, Options{Request: setup.Request{Given: source}, RunsDir: b.TempDir(), Watcher: watcher})
			seconds[parallel] += time.Since(start).Seconds()
		}
	}
	examples := float64(b.N * 3 * steps * batch)
	b.ReportMetric(examples/seconds[1], "one-examples/s")
	b.ReportMetric(examples/seconds[3], "three-examples/s")
	b.ReportMetric(seconds[1]/seconds[3], "ratio")
	b.ReportMetric(0, "ns/op")
}
