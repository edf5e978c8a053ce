// Package shell is what every command of train shares: where it writes, its exit codes and errors,
// its arguments, what a signal does to it, and how it writes for people: tables, numbers, and
// progress, with a bar where there is a terminal.
package shell

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"dpsgd/internal/chart"
	"dpsgd/internal/mpi"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// PrintJSON writes a result as an object on a line of standard output; nothing without --json.
func (a *App) PrintJSON(result any) error {
	if !a.JSON {
		return nil
	}
	line, err := json.Marshal(result)
	if err != nil {
		return err
	}
	a.printed = true
	_, err = fmt.Fprintf(a.Out, "%s\n", line)
	return err
}

// Printed notes that the command has written JSON objects of its own: Fail then prints none.
func (a *App) Printed() { a.printed = true }

// Print writes result as one JSON object with --json, and otherwise what text writes. If err is not
// nil, it writes nothing and returns err.
func (a *App) Print(result any, err error, text func(w io.Writer)) error {
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(result)
	}
	columns, _ := terminalColumns(a.Out)
	b := page{columns: columns}
	text(&b)
	_, err = a.Out.Write(b.Bytes())
	return err
}

// page collects the text of a result for a terminal with so many columns, or for something else if
// columns is 0. Prosef breaks long lines to fit.
type page struct {
	bytes.Buffer
	columns int
}

// Prosef writes lines as [fmt.Fprintf] does. For a terminal, each is broken at spaces if it is too
// long; what follows is indented as far as the text behind its last double space.
func Prosef(w io.Writer, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p, ok := w.(*page); ok && p.columns > 0 {
		var lines []string
		for _, line := range strings.Split(text, "\n") {
			lines = append(lines, hanging(line, p.columns)...)
		}
		text = strings.Join(lines, "\n")
	}
	fmt.Fprintln(w, text)
}

// Show returns a function that prints a result as Print does, with text for people.
func Show[T any](a *App, text func(w io.Writer, result T)) func(T, error) error {
	return func(result T, err error) error {
		return a.Print(result, err, func(w io.Writer) { text(w, result) })
	}
}

// Warn writes one line about something that did not stop the command. For "" it writes nothing.
func (a *App) Warn(message string) {
	if message != "" {
		fmt.Fprintln(a.Err, "train: WARNING:", message)
	}
}

// Display returns a display by --progress, on standard error with --json, else on standard output.
func (a *App) Display() Display {
	w := a.Out
	if a.JSON {
		w = a.Err
	}
	d := Display{W: w, Bars: Terminal(w) && os.Getenv("TERM") != "dumb", Colours: Colours(w)}
	if _, _, launched := mpi.Launched(); launched {
		d.Bars, d.Colours = false, false // some launchers give ranks a terminal whose output goes to a file
	}
	switch a.Progress {
	case progressBar:
		d.Bars = true
	case progressPlain:
		d.Bars, d.Colours = false, false
	case progressNone:
		d.Bars, d.Colours, d.Quiet = false, false, true
	}
	return d
}

// Words of --progress.
const (
	progressBar   = "bar"
	progressPlain = "plain"
	progressNone  = "none"
)

// ProgressFlag adds --progress to c; its word is stored in a.Progress.
func (a *App) ProgressFlag(c *cobra.Command) {
	words := []string{progressBar, progressPlain, progressNone}
	c.Flags().Var(checked{&a.Progress, func(word string) error {
		if !slices.Contains(words, word) {
			return fmt.Errorf("expected one of %s", strings.Join(words, ", "))
		}
		return nil
	}}, "progress", "how progress is shown: bar, plain lines or none (default: a bar on a terminal, lines elsewhere)")
}

// Waits prints message, which says what a person has to mend before work goes on.
func (a *App) Waits(message string) { fmt.Fprintln(a.Err, "train:", message) }

// PictureFlag adds a flag called name to c, for the file that a picture of its result is drawn
// into. The help calls it picture. A file of another format is refused before there is any work.
func PictureFlag(c *cobra.Command, file *string, name, picture string) {
	c.Flags().StringVar(file, name, "", "also draw "+picture+" into this file, .svg or .png")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if c.Flags().Changed(name) && !slices.Contains(chart.Formats(), strings.ToLower(filepath.Ext(*file))) {
			return Usagef("found --%s %s, expected a file that ends in %s", name, *file, strings.Join(chart.Formats(), " or "))
		}
		return nil
	}
}

// ShowDrawn returns a function that does what that of [Show] does, and draws the result into file
// unless that is "". what is in the picture, for people.
func ShowDrawn[T interface{ Chart() chart.Chart }](a *App, file, what string, text func(w io.Writer, result T)) func(T, error) error {
	if file == "" {
		return Show(a, text)
	}
	return func(result T, err error) error {
		if err == nil {
			if err = result.Chart().Write(file); err != nil {
				err = fmt.Errorf("train: %w", err)
			}
		}
		return a.Print(result, err, func(w io.Writer) {
			text(w, result)
			fmt.Fprintf(w, "\nin %s: %s\n", file, what)
		})
	}
}

// Writer writes to To and remembers the first error. Helps and progress are printed by code that
// has no use for errors; a command whose standard output is lost fails all the same, at its end,
// when a run has saved what it did.
type Writer struct {
	To   io.Writer
	Err  error           // of the first write that failed
	Lost func(err error) // is called once, with the first error as To returned it; may be nil
	any  atomic.Bool
	mu   sync.Mutex // held while something is written: a hint comes from a goroutine of its own
}

// Any reports whether a write was tried.
func (c *Writer) Any() bool { return c.any.Load() }

func (c *Writer) Write(p []byte) (int, error) {
	c.any.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.To.Write(p)
	if err != nil && c.Err == nil {
		c.Err = fmt.Errorf("cannot write to standard output: %w", err)
		if c.Lost != nil {
			c.Lost(err)
		}
	}
	return n, err
}

// Terminal reports whether a writer, or a reader, is a terminal: lines can be drawn again on it,
// and somebody may answer.
func Terminal(stream any) bool {
	f, ok := file(stream)
	return ok && term.IsTerminal(int(f.Fd()))
}

// file returns the file that stream is, or writes to if it is a [Writer]; ok is false for others.
func file(stream any) (*os.File, bool) {
	if c, ok := stream.(*Writer); ok {
		stream = c.To
	}
	f, ok := stream.(*os.File)
	return f, ok
}

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
	failure = cmp.Or(failure, out.Err)
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
