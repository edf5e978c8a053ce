package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/random"
	"dpsgd/release"
)

// A log is what happened, in order.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *log) expect(t *testing.T, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.lines, want) {
		t.Errorf("found  %q\nexpected %q", l.lines, want)
	}
}

// A journal writes into a log, slowly.
type journal struct {
	*log
	ledger accountant.Ledger
	fails  error
}

func (j *journal) Begin(step int, e accountant.Event) func() error {
	j.add("event %d begins", step)
	return func() error {
		time.Sleep(time.Millisecond)
		j.add("event %d", step)
		return errors.Join(j.fails, j.ledger.Add(e, 1))
	}
}

func (j *journal) Ledger() *accountant.Ledger { return j.ledger.Clone() }

// A training run of records that each contribute 1: after every release it saves.
type run struct {
	*log
	*Order
	journal *journal
	door    *release.Door

	step    int
	asked   chan struct{} // closed when contributions to the step at work are asked for
	writes  func() error  // what comes of writing a checkpoint
	settles func(error) error
}

// noise writes a line when it is drawn.
type noise struct {
	*release.Gaussian
	*log
}

func (n noise) Privatize(step int, sum *clip.Sum, src *random.Source, consume func(release.Noisy)) error {
	n.add("noise %d", step+1)
	return n.Gaussian.Privatize(step, sum, src, consume)
}

func newRun(t *testing.T) *run {
	t.Helper()
	gaussian := must(release.NewGaussian(1, nil))
	l := new(log)
	r := &run{log: l, journal: &journal{log: l}, writes: func() error { return nil }, settles: func(err error) error { return err }}
	r.Order = NewOrder(r.journal)
	plan := release.Plan{Unit: "one record", Records: 3, Sampler: data.Full{}, Policy: clip.Flat{ClipNorm: 1}, Mechanism: noise{gaussian, l}}
	r.door = must(release.NewDoor(plan, 1, r.Order, nil, nil))
	return r
}

// Capacity and Contributions make it a source.
func (r *run) Capacity() int { return 3 }

func (r *run) Contributions(indices []int) (clip.Batch, error) {
	if r.asked != nil {
		close(r.asked)
		r.asked = nil
	}
	rows, norms := make([]float32, len(indices)), make([]float64, len(indices))
	return clip.Batch{SquaredNorms: norms, Parts: []clip.Part{clip.Stored(rows, 1)}}, nil
}

// take makes a release.
func (r *run) take() error {
	if err := r.door.Release(r.step, r, func(release.Noisy) {}); err != nil {
		return err
	}
	r.step++
	return nil
}

// save begins to write a checkpoint, which is not written before contributions to the next step are
// asked for.
func (r *run) save() error {
	step, asked := r.step, make(chan struct{})
	r.asked = asked
	return r.Save(func() error {
		<-asked
		time.Sleep(time.Millisecond)
		err := r.writes()
		r.add("checkpoint %d: %v", step, err)
		return err
	}, func(err error) error {
		r.add("settled %d: %v", step, err)
		return r.settles(err)
	})
}

// A checkpoint is written while contributions to the next step are computed. The event of that step
// begins when it is written, and the noise is drawn when the event is durable.
func TestInOrder(t *testing.T) {
	r := newRun(t)
	var want []string
	for step := 1; step <= 20; step++ {
		must(0, r.take())
		if step > 1 {
			// The one that waits for the event has to settle the checkpoint first, and may do so
			// before the event has begun or after.
			want = append(want, fmt.Sprintf("checkpoint %d: <nil>", step-1))
		}
		want = append(want, fmt.Sprintf("event %d begins", step), fmt.Sprintf("event %d", step), fmt.Sprintf("noise %d", step))
		must(0, r.save())
	}
	close(r.asked)
	if !r.Pending() || r.Wait() != nil || r.Pending() || r.Wait() != nil {
		t.Error("the last checkpoint was not waited for once")
	}
	want = append(want, "checkpoint 20: <nil>")
	settled := 0
	r.lines = slices.DeleteFunc(r.lines, func(line string) bool {
		var step int
		n, _ := fmt.Sscanf(line, "settled %d: <nil>", &step)
		settled += n
		return n == 1
	})
	if r.expect(t, want...); settled != 20 {
		t.Errorf("%d of 20 checkpoints were settled", settled)
	}
}

// A checkpoint that fails, and cannot be mended, leaves no event and no noise.
func TestFailedCheckpointEndsTheRelease(t *testing.T) {
	synctest.Test(t, failedCheckpointEndsTheRelease)
}

func failedCheckpointEndsTheRelease(t *testing.T) {
	r, full := newRun(t), errors.New("no room")
	must(0, errors.Join(r.take(), r.save()))
	r.writes = func() error { return full }
	if err := r.take(); !errors.Is(err, full) {
		t.Errorf("found %v, expected %v", err, full)
	}
	synctest.Wait() // for what may still be under way
	r.expect(t, "event 1 begins", "event 1", "noise 1", "checkpoint 1: no room", "settled 1: no room")
	if r.Pending() || r.Wait() != nil {
		t.Error("the failure is told again")
	}
}

// One that fails and is mended by whoever waits has its event afterwards.
func TestMendedCheckpoint(t *testing.T) {
	r := newRun(t)
	must(0, errors.Join(r.take(), r.save()))
	r.writes = func() error { return errors.New("no room") }
	r.settles = func(error) error { r.add("mended"); return nil }
	must(0, r.take())
	r.expect(t, "event 1 begins", "event 1", "noise 1", "checkpoint 1: no room", "settled 1: no room", "mended",
		"event 2 begins", "event 2", "noise 2")
}

// An event that does not become durable ends its release, with a checkpoint ahead of it or without.
func TestFailedEventEndsTheRelease(t *testing.T) {
	for _, saves := range []bool{false, true} {
		r := newRun(t)
		must(0, r.take())
		if saves {
			must(0, r.save())
		}
		r.journal.fails = errors.New("no room")
		if err := r.take(); !errors.Is(err, r.journal.fails) || slices.Contains(r.lines, "noise 2") {
			t.Errorf("found %v after %q, expected %v and no noise", err, r.lines, r.journal.fails)
		}
	}
}

// A second checkpoint waits for the first and its outcome; Close waits and asks for none.
func TestOneAtATime(t *testing.T) {
	o, failed := NewOrder(nil), errors.New("no room")
	written := false
	save := func() error {
		return o.Save(func() error {
			time.Sleep(time.Millisecond)
			written = true
			return failed
		}, func(err error) error { return err })
	}
	must(0, save())
	if err := save(); err != failed || !written || o.Pending() {
		t.Errorf("found %v, written %t, expected the outcome of the first", err, written)
	}
	written = false
	must(0, save())
	if o.Close(); !written || o.Pending() {
		t.Error("Close did not wait")
	}
	o.Close()
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// kept is a job that has nothing but a checkpoint.
type kept struct{ Job }

func (kept) State() *checkpoints.State {
	return &checkpoints.State{Parameters: []float32{1}, Unreleased: true}
}

// An error that ends a run while a checkpoint is on its way waits for it, and says that it is
// saved.
func TestErrorWaitsForTheCheckpoint(t *testing.T) {
	save := SaveState
	release := make(chan struct{})
	SaveState = func(dir string, s *checkpoints.State) (string, error) {
		<-release
		return save(dir, s)
	}
	defer func() { SaveState = save }()
	r := &Run{Dir: t.TempDir(), Step: 3, Began: time.Now(), Order: NewOrder(nil), job: kept{}, ctx: context.Background()}
	must(0, r.beginSave())
	close(release)
	err := r.rescue(fmt.Errorf("metrics: %w", syscall.ENOSPC))
	if r.Order.Pending() || r.saved != 3 || !strings.Contains(err.Error(), "step 3 is saved") {
		t.Errorf("found %v, expected that step 3 is saved", err)
	}
}
