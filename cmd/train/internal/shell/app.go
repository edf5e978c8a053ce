// Package shell is what every command of train shares: where it writes, its exit codes and errors,
// its arguments, what a signal does to it, and how it writes for people: tables, numbers, and work
// on its way, with a bar where there is a terminal.
package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// App says where the commands of a program write, and how, and holds what the running one does.
type App struct {
	Out, Err io.Writer
	JSON     bool   // print the result as one JSON object
	Progress string // how progress is shown: a word of --progress, or "" for what suits the output
	Hints    bool   // say so when a command takes longer than a second before it prints anything

	printed bool        // an object has been printed, or another rank prints it
	silent  func() bool // reports that the command has written nothing yet
	hint    *time.Timer // prints the hint when it ends; nil where there is none

	saves atomic.Bool // the command needs time after a signal, to save
	ends  atomic.Bool // a signal is the usual end of the command, as of a server
	rank0 atomic.Bool // this is the first of several processes, whose launcher passes signals on
}

// Execute runs the command line args, which a signal ends, and returns its exit code. root makes
// the command of the program.
func (a *App) Execute(root func(*App) *cobra.Command, args []string) int {
	ctx, stop := a.untilSignal(context.Background())
	defer stop()
	return a.ExecuteContext(ctx, root, args)
}

// ExecuteContext does what Execute does, until ctx ends in place of a signal.
func (a *App) ExecuteContext(ctx context.Context, root func(*App) *cobra.Command, args []string) int {
	if err := limits(); err != nil {
		return a.Fail(err)
	}
	signal.Ignore(syscall.SIGPIPE) // a write to a reader that is gone fails, and a run saves before it ends
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out, errs := &Writer{To: a.Out, Lost: func(err error) {
		if errors.Is(err, syscall.EPIPE) {
			cancel(Interrupted{syscall.SIGPIPE})
		}
	}}, &Writer{To: a.Err}
	a.Out, a.Err, a.silent = out, errs, func() bool { return !out.Any() && !errs.Any() }
	command := root(a)
	command.SetArgs(args)
	a.JSON = slices.Contains(args, "--json") // also where the command line cannot be read
	failure := command.ExecuteContext(ctx)
	if a.hint != nil {
		a.hint.Stop()
	}
	if failure == nil {
		failure = out.Err
	}
	if errors.Is(out.Err, syscall.EPIPE) && failure == out.Err {
		failure = Interrupted{syscall.SIGPIPE} // as in `train runs | head`
	}
	return a.Fail(failure)
}

// silence is how long a command may say nothing before it says what it is doing.
const silence = time.Second

// Hint prints what c is doing, in the words of what, unless it prints something else within a
// second. It prints no hint for "", or with --batch, where a command waits for questions.
func (a *App) Hint(c *cobra.Command, what string) {
	if batch := c.Flags().Lookup("batch"); !a.Hints || what == "" || batch != nil && batch.Value.String() == "true" {
		return
	}
	a.hint = time.AfterFunc(silence, func() {
		if a.silent() {
			fmt.Fprintf(a.Err, "train: `%s` %s, which takes longer than a second\n", c.CommandPath(), what)
		}
	})
}
