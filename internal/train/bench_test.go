package train

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"dpsgd/configs"
	"dpsgd/internal/run"
	"dpsgd/internal/tiny"
	"dpsgd/release"
)

// BenchmarkClippedSum measures the clipped sum of one physical batch, the bulk of a private step:
//
//	go test ./internal/train -run '^$' -bench ClippedSum -benchtime 3s
func BenchmarkClippedSum(b *testing.B) {
	for _, network := range []string{"mnist-cnn", "mlp"} {
		for _, engine := range []string{"auto", "ghost", "materialise"} {
			b.Run(fmt.Sprintf("%s/%s", network, engine), func(b *testing.B) {
				c, err := configs.Load("digits", []string{"model.name=" + network, "performance.engine=" + engine, "training.physical_batch_size=256"})
				if err != nil {
					b.Fatal(err)
				}
				r := tiny.Must(prepare(c, Options{}))(b)
				defer r.Pool.Close()
				indices := make([]int, 256)
				for i := range indices {
					indices[i] = i
				}
				b.ReportAllocs()
				sum := newSum(b, r)
				for b.Loop() {
					sum.Reset()
					addAll(b, r, sum, indices)
				}
				b.ReportMetric(256*float64(b.N)/b.Elapsed().Seconds(), "examples/s")
			})
		}
	}
}

// BenchmarkCheckpoints measures what a durable event and a checkpoint of every step cost, as the
// ratio of the median times of whole steps of two runs that take turns: one with both ledgers and
// checkpoints on disk, one without any file. It needs the data sets in $DPSGD_DATA.
//
//	go test ./internal/train -run '^$' -bench Checkpoints -benchtime 20x
func BenchmarkCheckpoints(b *testing.B) {
	tiny.Synced(b)
	for _, test := range []struct {
		name, preset string
		steps        int // in a turn
		overrides    []string
	}{
		{"digits", "digits", 50, nil},
		{"mnist-cnn", "mnist-cnn", 25, nil},
		{"cifar-cnn", "cifar-cnn", 3, nil},
		{"resnet8-gn", "cifar-cnn", 1, []string{"model.name=resnet8-gn"}},
		{"mlp1000", "mnist-cnn", 5, []string{"model.name=mlp1000"}},
		{"logistic", "digits", 100, []string{"model.name=logistic", "training.batch_size=64"}},
	} {
		b.Run(test.name, func(b *testing.B) {
			turn := func(every int) func() time.Duration {
				r := benchRun(b, test.preset, append(test.overrides, fmt.Sprint("run.checkpoint_every=", every))...)
				if every == 0 {
					r.Order = run.NewOrder(new(release.MemoryJournal))
					tiny.Check(b, r.openDoor())
				}
				return func() time.Duration {
					start := time.Now()
					for range test.steps {
						tiny.Check(b, r.Next(context.Background()))
					}
					tiny.Check(b, r.Order.Wait())
					return time.Since(start) / time.Duration(test.steps)
				}
			}
			never, always := turn(0), turn(1)
			never()
			always()
			var without, with []time.Duration
			for b.Loop() {
				without, with = append(without, never()), append(with, always())
			}
			median := func(d []time.Duration) float64 {
				slices.Sort(d)
				return d[len(d)/2].Seconds() * 1e3
			}
			b.ReportMetric(median(without), "ms/step-without")
			b.ReportMetric(median(with), "ms/step-with")
			b.ReportMetric(median(with)/median(without), "ratio")
		})
	}
}

// benchRun is a run of a preset that makes as many steps as it is asked for.
func benchRun(b *testing.B, preset string, overrides ...string) *Run {
	c, err := configs.Load(preset, append(overrides, "privacy.epsilon=none", "privacy.noise_multiplier=1", "privacy.accountant=rdp", "training.evaluate_every=0"))
	if err != nil {
		b.Fatal(err)
	}
	r := create(b, c, Options{Options: run.Options{RunsDir: b.TempDir(), Name: preset}})
	r.plan.Steps = 1 << 30
	return r
}
