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
	cells       int // of the last drawing
	columns     int // of the terminal at the last drawing
	shown       *progressbar.ProgressBar
	text        func(width int) string
	drawn       time.Time
	open        bool // the line is drawn and not ended
}

// line returns the bar for a terminal of so many columns. The last column stays free, because some
// terminals begin a new line behind it.
func (b *bar) line(columns int, colour bool) string {
	if columns != b.columns {
		b.columns, b.cells, b.shown = columns, mostCells, nil
	}
	const around = 2 // spaces ahead of the text
	text := b.text(columns - 1 - leastCells - around)
	room := columns - 1 - around - utf8.RuneCountInString(text)
	if room < leastCells {
		return Cut(b.text(columns-1), columns-1)
	}
	if room < b.cells { // it does not grow again: a bar that breathes is hard to read
		b.cells, b.shown = room, nil
	}
	if b.shown == nil || b.shown.IsFinished() {
		b.shown = newBar(b.total, b.cells, colour)
	}
	b.shown.Describe(text)
	_ = b.shown.Set64(min(b.done, b.total))           // what it writes is discarded
	_, line, _ := strings.Cut(b.shown.String(), "% ") // the text says how far it is
	return strings.TrimRight(line, " ")
}

// newBar returns a bar of so many cells that draws when it is asked for its line. ThemeUnicode of
// the library needs a font with private-use glyphs.
func newBar(total int64, cells int, colour bool) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(io.Discard),
		progressbar.OptionSetWidth(cells),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionShowDescriptionAtLineEnd(),
		progressbar.OptionSetTheme(progressbar.Theme{Saucer: paint(colour, green, "█"), SaucerPadding: paint(colour, faint, "░")}),
	)
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

// draw draws the bar if the last drawing is long enough ago, or all is done.
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

// terminalColumns returns the width of the terminal that w writes to; ok is false if w is none.
func terminalColumns(w io.Writer) (n int, ok bool) {
	f, ok := file(w)
	if ok {
		n, _, _ = term.GetSize(int(f.Fd())) // 0 where there is no terminal
	}
	return n, n > 0
}

// Colours reports whether w is a terminal that gets colours, by https://no-color.org.
func Colours(w io.Writer) bool {
	return Terminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// StartBar begins a bar, which appears with the first Show.
func (d *Display) StartBar(total int64) {
	d.bar = &bar{total: total, text: func(int) string { return "" }}
}

// Show moves the bar to done of its total, with a text beside it.
func (d *Display) Show(done int64, format string, args ...any) {
	d.ShowText(done, fmt.Sprintf(format, args...))
}

// ShowText does what Show does. The text is cut where there is no room for it.
func (d *Display) ShowText(done int64, text string) {
	d.ShowFitting(done, func(width int) string { return Cut(text, max(1, width)) })
}

// ShowFitting does what Show does. The text is made for the room there is.
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
