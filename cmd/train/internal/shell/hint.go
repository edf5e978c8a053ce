package shell

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// silence is how long a command may say nothing before it says what it is doing.
const silence = time.Second

// hint is the line for a person who waits. Nothing is printed once the command has written something.
type hint struct {
	*Writer // standard error
	out     *Writer
	timer   *time.Timer
}

// startHint returns standard error, watched for what is written there.
func (a *App) startHint(out *Writer) io.Writer {
	watched := &Writer{To: a.Err}
	a.hint = &hint{Writer: watched, out: out}
	return watched
}

// Hint prints what a command is doing, if that is known, unless it prints something else within a second. A
// command that reads questions waits for them, and says nothing.
func (a *App) Hint(c *cobra.Command, what string) {
	if batch := c.Flags().Lookup("batch"); !a.Hints || what == "" || batch != nil && batch.Value.String() == "true" {
		return
	}
	h := a.hint
	h.timer = time.AfterFunc(silence, func() {
		if !h.Any() && !h.out.Any() {
			fmt.Fprintf(h, "train: `%s` %s, which takes longer than a second\n", c.CommandPath(), what)
		}
	})
}

// end stops the wait after which the hint is printed.
func (h *hint) end() {
	if h.timer != nil {
		h.timer.Stop()
	}
}
