package shell

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"dpsgd/internal/mpi"

	"github.com/spf13/cobra"
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

// Printed notes that the command has written objects of its own: an error is not printed as one.
func (a *App) Printed() { a.printed = true }

// Print writes a result: as one object with --json, else the text for people.
func (a *App) Print(result any, text func(w io.Writer)) error {
	if a.JSON {
		return a.PrintJSON(result)
	}
	columns, _ := terminalColumns(a.Out)
	b := page{columns: columns}
	text(&b)
	_, err := a.Out.Write(b.Bytes())
	return err
}

// page is what people read of a result, on a terminal of so many columns; 0 where there is no terminal.
type page struct {
	bytes.Buffer
	columns int
}

// Prosef writes a line as [fmt.Fprintf] does. On a terminal it is broken at spaces if it is too
// long, and the rest is put below its last column.
func Prosef(w io.Writer, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p, ok := w.(*page); ok && p.columns > 0 {
		text = strings.Join(hanging(text, p.columns), "\n")
	}
	fmt.Fprintln(w, text)
}

// Show returns a function that prints a result, with text for people, or returns its error.
func Show[T any](a *App, text func(w io.Writer, result T)) func(T, error) error {
	return func(result T, err error) error {
		if err != nil {
			return err
		}
		return a.Print(result, func(w io.Writer) { text(w, result) })
	}
}

// Warn writes one line about something that did not stop the command. For "" it writes nothing.
func (a *App) Warn(message string) {
	if message != "" {
		fmt.Fprintln(a.Err, "train: WARNING:", message)
	}
}

// Display returns where work is told about: standard error with --json, else standard output.
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

// How progress is shown.
const (
	progressBar   = "bar"
	progressPlain = "plain"
	progressNone  = "none"
)

// ProgressFlag adds --progress.
func (a *App) ProgressFlag(c *cobra.Command) {
	words := []string{progressBar, progressPlain, progressNone}
	c.Flags().Var(checked{&a.Progress, func(word string) error {
		if !slices.Contains(words, word) {
			return fmt.Errorf("expected one of %s", strings.Join(words, ", "))
		}
		return nil
	}}, "progress", "how progress is shown: bar, plain lines or none (default: a bar on a terminal, lines elsewhere)")
}

// Waits tells what a person has to mend before work goes on.
func (a *App) Waits(message string) { fmt.Fprintln(a.Err, "train:", message) }
