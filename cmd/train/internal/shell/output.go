package shell

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/term"
)

// Writer remembers the first error of its writes. Helps and progress are printed by code that has
// no use for errors; a command whose standard output is lost fails all the same, at its end, when a
// run has saved what it did.
type Writer struct {
	To   io.Writer
	Err  error           // of the first write that failed
	Lost func(err error) // is called with Err, once; may be nil
	any  atomic.Bool
}

// Any reports whether something was written.
func (c *Writer) Any() bool { return c.any.Load() }

func (c *Writer) Write(p []byte) (int, error) {
	c.any.Store(true)
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

// file returns the file that a writer or a reader uses.
func file(stream any) (*os.File, bool) {
	if c, ok := stream.(*Writer); ok {
		stream = c.To
	}
	f, ok := stream.(*os.File)
	return f, ok
}
