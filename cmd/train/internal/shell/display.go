package shell

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Display prints how far work is: by lines now and then or, on a terminal, by a bar below them.
type Display struct {
	W       io.Writer
	Bars    bool // draw a bar
	Colours bool // in colours
	Quiet   bool // tell of nothing on its way: neither a bar nor lines
	Columns int  // width of the terminal; 0 asks the terminal
	bar     *bar
	last    time.Time // when the last line was written
}

// plainEvery is the time between two lines that tell how far work is.
const plainEvery = 10 * time.Second

// Due reports whether to write a line now: ten seconds after the last one, or at once if anyway is
// set, but never for a quiet display. It counts that line as written.
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

// Cells of a bar. Where there is no room for the least, the text stands alone.
const (
	mostCells  = 40
	leastCells = 5
)

// redrawn is the least time between two drawings of a bar, but for the last one.
const redrawn = 100 * time.Millisecond

// bar is a line at the foot of a terminal, as wide as that: cells that fill, and a text.
type bar struct {
	total, done int64
	cells       int                    // of the last drawing
	columns     int                    // of the terminal at the last drawing
	text        func(width int) string // returns the text beside the cells, for so many columns
	drawn       time.Time
	open        bool // the line is drawn and not ended
}

// line returns the bar for a terminal with so many columns. The last column stays free, because
// some terminals begin a new line behind it.
func (b *bar) line(columns int, colour bool) string {
	if columns != b.columns {
		b.columns, b.cells = columns, mostCells
	}
	const between = 2 // spaces ahead of the text
	text := b.text(columns - 1 - leastCells - between)
	room := columns - 1 - between - utf8.RuneCountInString(text)
	if room < leastCells {
		return Cut(b.text(columns-1), columns-1)
	}
	b.cells = min(b.cells, room) // it does not grow again: a bar that breathes is hard to read
	shown := progressbar.NewOptions64(b.total,
		progressbar.OptionSetWriter(io.Discard), // the line is asked for
		progressbar.OptionSetWidth(b.cells),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionShowDescriptionAtLineEnd(),
		// ThemeUnicode of the library needs a font with private-use glyphs.
		progressbar.OptionSetTheme(progressbar.Theme{Saucer: paint(colour, green, "█"), SaucerPadding: paint(colour, faint, "░")}),
	)
	shown.Describe(text)
	_ = shown.Set64(min(b.done, b.total))
	_, line, _ := strings.Cut(shown.String(), "% ") // the text says how far it is
	return strings.TrimRight(line, " ")
}

// Colours, as ECMA-48 numbers them.
const (
	green  = "32"
	yellow = "33"
	faint  = "2"
)

func paint(colour bool, code, text string) string {
	if !colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// clear empties the line that the cursor is in.
const clear = "\r\x1b[K"

// draw draws the bar if the last drawing is 100 ms ago, or if all is done.
func (d *Display) draw() {
	if b := d.bar; time.Since(b.drawn) >= redrawn || b.done >= b.total {
		b.drawn, b.open = time.Now(), true
		_, _ = io.WriteString(d.W, clear+b.line(d.columns(), d.Colours)) // what a terminal does with it is no reason to stop a run
	}
}

// columns returns the width of the terminal that is written to, or Width where it is not known.
func (d *Display) columns() int {
	if d.Columns > 0 {
		return d.Columns
	}
	if n, ok := terminalColumns(d.W); ok {
		return n
	}
	return Width
}

// terminalColumns returns the columns of the terminal that w writes to; ok is false if w is none.
func terminalColumns(w io.Writer) (n int, ok bool) {
	f, ok := file(w)
	if ok {
		n, _, _ = term.GetSize(int(f.Fd())) // 0 where there is no terminal
	}
	return n, n > 0
}

// Colours reports whether w is a terminal that gets colours, by https://no-color.org and TERM.
func Colours(w io.Writer) bool {
	return Terminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// StartBar begins a bar for total pieces of work. It appears with the first Show.
func (d *Display) StartBar(total int64) {
	d.bar = &bar{total: max(1, total), text: func(int) string { return "" }}
}

// Show moves the bar to done of its total, with a formatted text beside it.
func (d *Display) Show(done int64, format string, args ...any) {
	d.ShowText(done, fmt.Sprintf(format, args...))
}

// ShowText does what Show does. The text is cut where there is no room for it.
func (d *Display) ShowText(done int64, text string) {
	d.ShowFitting(done, func(width int) string { return Cut(text, max(1, width)) })
}

// ShowFitting does what Show does. text returns the text for a width, in columns.
func (d *Display) ShowFitting(done int64, text func(width int) string) {
	d.bar.done, d.bar.text = done, text
	d.draw()
}

// Step tells how far work is: by a bar, which it begins and ends, or by a line where one is due.
// anyway makes a line due.
func (d *Display) Step(done, total int, anyway bool, text string) {
	if !d.Bars {
		if d.Due(anyway || done == total) {
			fmt.Fprintln(d.W, text)
		}
		return
	}
	if d.bar == nil || !d.bar.open {
		d.StartBar(int64(total))
	}
	d.ShowText(int64(done), text)
	if done == total {
		d.EndBar()
	}
}

// EndBar draws the bar once more and ends its line, if it has been drawn.
func (d *Display) EndBar() {
	if d.bar == nil || !d.bar.open {
		return
	}
	d.bar.drawn = time.Time{}
	d.draw()
	d.bar.open = false
	fmt.Fprintln(d.W)
}
