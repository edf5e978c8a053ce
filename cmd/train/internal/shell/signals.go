package shell

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// patience is how long work that saves nothing has to end by its context before the process ends.
const patience = 500 * time.Millisecond

// stopper ends the work of a command when a signal comes: by its context, so that what was trained
// is saved, where the command has said that it saves; at once everywhere else.
type stopper struct {
	saves atomic.Bool
	ends  atomic.Bool
	rank0 atomic.Bool // of several processes, whose launcher passes on signals
	err   io.Writer
	exit  func(code int)
}

// untilSignal returns a context that the first SIGINT, SIGTERM, SIGQUIT or SIGHUP ends. The second one kills.
func (s *stopper) untilSignal(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) { // nohup has a run go on when its terminal is gone
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		select {
		case found := <-signals:
			signal.Stop(signals)
			if s.rank0.Load() {
				ignoreSignals()
			}
			cancel(Interrupted{found})
			s.stop(found)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// isRank says that this process is one of several. Each of them gets a signal of the terminal, and
// again what the launcher makes of its own. Rank 0 heeds the first signal. The others heed none:
// they end when rank 0 has ended the step and lets them go.
func (s *stopper) isRank(rank int) {
	if s.rank0.Store(rank == 0); rank > 0 {
		ignoreSignals()
	}
}

func ignoreSignals() { signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP) }

// ignorePipes makes a write to a reader that is gone fail, where it would end the process: a run
// saves first.
func ignorePipes() { signal.Ignore(syscall.SIGPIPE) }

// Saving notes that a signal has to leave the command time to save, until over is called.
func (s *stopper) Saving() (over func()) { return during(&s.saves) }

// Ending notes, until over is called, that a signal is the usual end of the command, as of a
// server: its context ends it soon, and nothing is said.
func (s *stopper) Ending() (over func()) { return during(&s.ends) }

func during(state *atomic.Bool) (over func()) {
	state.Store(true)
	return func() { state.Store(false) }
}

// stop says that the signal was heard if work is saved, else ends the process after a moment.
func (s *stopper) stop(found os.Signal) {
	if s.ends.Load() {
		return
	}
	if s.saves.Load() {
		again := "; again to stop now"
		if s.rank0.Load() {
			again = ""
		}
		fmt.Fprintln(s.err, "\ntrain: stopping after this step, then saving"+again)
		return
	}
	time.Sleep(patience)
	if !s.saves.Load() {
		s.exit(ExitSignal + number(found))
	}
}

// Ended returns err, or the error of [Stopped] if ctx has ended.
func Ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return Stopped(ctx)
	}
	return err
}

// Stopped returns the error of work that its context ended: which signal it was, or an interrupt.
func Stopped(ctx context.Context) error {
	if i, ok := context.Cause(ctx).(Interrupted); ok {
		return i
	}
	return Interrupted{os.Interrupt}
}
