package terminal

import (
	"fmt"
	"io"
	"time"
)

// Display is where work is told about: in lines now and then, or, on a terminal, with a bar below
// them.
type Display struct {
	W       io.Writer
	Bars    bool // draw a bar
	Colours bool // in colours
	Columns int  // of the terminal; 0 asks it
	bar     *bar
	last    time.Time // a line was written
}

// plainEvery is how often progress is told in lines.
const plainEvery = 10 * time.Second

// Due says whether it is time for a line.
func (d *Display) Due() bool {
	if time.Since(d.last) < plainEvery {
		return false
	}
	d.last = time.Now()
	return true
}

// Told says that a line was written just now.
func (d *Display) Told() { d.last = time.Now() }

// Warned writes a line above the bar.
func (d *Display) Warned(message string) {
	if d.bar != nil && d.bar.open {
		fmt.Fprint(d.W, clear)
		d.bar.open = false
	}
	fmt.Fprintf(d.W, "%s   %s\n", paint(d.Colours, yellow, "WARNING"), message)
}
