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

// untilSignal returns a context that the first SIGINT, SIGTERM, SIGQUIT or SIGHUP ends, and a
// function that releases it. The second signal kills the process, unless it is rank 0.
func (a *App) untilSignal(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals, errs := make(chan os.Signal, 1), a.Err
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) { // nohup has a run go on when its terminal is gone
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		select {
		case found := <-signals:
			signal.Stop(signals)
			if a.rank0.Load() {
				ignoreSignals()
			}
			cancel(Interrupted{found})
			a.stop(found, errs)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// IsRank says that this process is one of several ranks. Each of them gets a signal of the
// terminal, and another from the launcher. Rank 0 heeds the first signal. The others heed none:
// they end when rank 0 has ended the step and lets them go. If they fail, they print no JSON.
func (a *App) IsRank(rank int) {
	if a.rank0.Store(rank == 0); rank > 0 {
		a.printed = true
		ignoreSignals()
	}
}

func ignoreSignals() { signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP) }

// Saving notes that a signal has to leave the command time to save, until over is called.
func (a *App) Saving() (over func()) { return during(&a.saves) }

// Ending notes, until over is called, that a signal is the usual end of the command, as of a
// server: its context ends it soon, and nothing is said.
func (a *App) Ending() (over func()) { return during(&a.ends) }

func during(state *atomic.Bool) (over func()) {
	state.Store(true)
	return func() { state.Store(false) }
}

// stop ends the process a moment after a signal. If the command saves its work, it only says that
// the signal was heard, and if a signal is the usual end, it does nothing.
func (a *App) stop(found os.Signal, errs io.Writer) {
	if a.ends.Load() {
		return
	}
	if a.saves.Load() {
		again := "; again to stop now"
		if a.rank0.Load() {
			again = ""
		}
		fmt.Fprintln(errs, "\ntrain: stopping after this step, then saving"+again)
		return
	}
	time.Sleep(patience)
	if !a.saves.Load() {
		os.Exit(ExitSignal + number(found))
	}
}

// Ended returns err, or the error of [Stopped] if ctx has ended.
func Ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return Stopped(ctx)
	}
	return err
}

// Stopped returns the error of work that ended with ctx: which signal it was, or else an interrupt.
func Stopped(ctx context.Context) error {
	if i, ok := context.Cause(ctx).(Interrupted); ok {
		return i
	}
	return Interrupted{os.Interrupt}
}
