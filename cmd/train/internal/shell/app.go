package shell

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
)

// App is where commands write, and how.
type App struct {
	Out, Err io.Writer
	JSON     bool   // print the result as one object
	Progress string // how progress is shown: a word of --progress, or "" for what suits the output
	Hints    bool   // say so when a command takes longer than a second before it prints anything
	printed  bool   // an object has been printed, or another rank prints it
	hint     *hint
	stopper
}

// New returns an app whose commands write to out and err.
func New(out, err io.Writer) *App {
	return &App{Out: out, Err: err, stopper: stopper{err: err, exit: os.Exit}}
}

// IsRank tells the app its rank. Ranks above 0 ignore signals and, if they fail, print no JSON.
func (a *App) IsRank(rank int) {
	a.isRank(rank)
	a.printed = a.printed || rank > 0
}

// Execute runs one command line, which a signal ends, and returns its exit code.
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
	ignorePipes()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	checked := &Writer{To: a.Out, Lost: func(err error) {
		if errors.Is(err, syscall.EPIPE) {
			cancel(Interrupted{syscall.SIGPIPE})
		}
	}}
	a.Out = checked
	a.Err = a.startHint(checked)
	command := root(a)
	command.SetArgs(args)
	a.JSON = slices.Contains(args, "--json") // also where the command line cannot be read
	failure := command.ExecuteContext(ctx)
	a.hint.end()
	if failure == nil {
		failure = checked.Err
	}
	if errors.Is(checked.Err, syscall.EPIPE) && failure == checked.Err {
		failure = Interrupted{syscall.SIGPIPE} // as in `train runs | head`
	}
	return a.Fail(failure)
}
