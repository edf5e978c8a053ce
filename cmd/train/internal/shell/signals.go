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
	err   io.Writer
	exit  func(code int)
}

// untilSignal returns a context that the first SIGINT, SIGTERM or SIGHUP ends. The second one kills.
func (s *stopper) untilSignal(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup has a run go on when its terminal is gone
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		select {
		case found := <-signals:
			signal.Stop(signals)
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

// Saves says whether the work of the command is saved when a signal ends it.
func (s *stopper) Saves(saves bool) { s.saves.Store(saves) }

// Ends says that a signal is the usual end of the command, which comes by its context, soon and well:
// a server closes its connections.
func (s *stopper) Ends(ends bool) { s.ends.Store(ends) }

// stop says that the signal was heard, and ends the process where nothing is to be saved.
func (s *stopper) stop(found os.Signal) {
	if found == syscall.SIGHUP {
		signal.Ignore(syscall.SIGPIPE) // whoever read what is printed may be gone, and saving goes on
	}
	if s.ends.Load() {
		return
	}
	if s.saves.Load() {
		fmt.Fprintln(s.err, "\ntrain: stopping after this step, then saving; again to stop now")
		return
	}
	time.Sleep(patience)
	if !s.saves.Load() {
		s.exit(ExitSignal + number(found))
	}
}

// Stopped is the error of a command whose work was ended by its context, after saving.
func Stopped(ctx context.Context) error {
	if i, ok := context.Cause(ctx).(Interrupted); ok {
		return i
	}
	return Interrupted{os.Interrupt}
}
