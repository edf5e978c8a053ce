package shell

import (
	"context"
	"io"
	"os"
	"slices"

	"dpsgd/cmd/train/internal/terminal"

	"github.com/spf13/cobra"
)

// App is where commands write, and how.
type App struct {
	Out, Err io.Writer
	JSON     bool // print the result as one object
	printed  bool // one has been printed
	stopper
}

// New returns an app whose commands write there.
func New(out, err io.Writer) *App {
	return &App{Out: out, Err: err, stopper: stopper{err: err, exit: os.Exit}}
}

// IsRank says that this process is one of several that carry out one command. Rank 0 prints its result.
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

// ExecuteContext is Execute until a context ends.
func (a *App) ExecuteContext(ctx context.Context, root func(*App) *cobra.Command, args []string) int {
	checked := &terminal.Writer{To: a.Out}
	a.Out = checked
	command := root(a)
	command.SetArgs(args)
	a.JSON = slices.Contains(args, "--json") // also where the command line cannot be read
	failure := command.ExecuteContext(ctx)
	if failure == nil {
		failure = checked.Err
	}
	return a.Fail(failure)
}
