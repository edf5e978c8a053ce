package shell

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
	Quiet   bool // tell of nothing on its way: neither a bar nor lines
	Columns int  // width of the terminal; 0 asks the terminal
	bar     *bar
	last    time.Time // when the last line was written
}

// plainEvery is how often progress is told in lines.
const plainEvery = 10 * time.Second

// Due reports whether to write a line now, by time or anyway, and counts it as written.
func (d *Display) Due(anyway bool) bool {
	if d.Quiet || !anyway && time.Since(d.last) < plainEvery {
		return false
	}
	d.last = time.Now()
	return true
}

// Told notes that a line was written just now, for [Display.Due].
func (d *Display) Told() { d.last = time.Now() }

// Warned writes a warning, in place of the bar, which is drawn again below it.
func (d *Display) Warned(message string) {
	if d.bar != nil && d.bar.open {
		fmt.Fprint(d.W, clear)
		d.bar.open = false
	}
	fmt.Fprintf(d.W, "%s   %s\n", paint(d.Colours, yellow, "WARNING"), message)
}
