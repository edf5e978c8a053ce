package terminal

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// BarWidth leaves room for what is said beside the bar on terminals of 80 columns. A narrow bar
// leaves more.
const (
	BarWidth        = 10
	TextWidth       = 58
	NarrowBarWidth  = 6
	NarrowTextWidth = TextWidth + BarWidth - NarrowBarWidth
)

// Display is where work is told about: in lines now and then, or, on a terminal, with a bar below
// them.
type Display struct {
	W    io.Writer
	Bars bool // draw a bar
	bar  *progressbar.ProgressBar
	last time.Time // a line was written
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
	if d.bar != nil {
		_ = d.bar.Clear()
	}
	fmt.Fprintf(d.W, "WARNING   %s\n", message)
}

// Show moves the bar.
func (d *Display) Show(done int64, format string, args ...any) {
	d.ShowText(done, Cut(fmt.Sprintf(format, args...), TextWidth))
}

// ShowText moves the bar. What a terminal does with it is no reason to stop a run.
func (d *Display) ShowText(done int64, text string) {
	d.bar.Describe(text)
	_ = d.bar.Set64(done)
}

// EndBar ends the line of a bar.
func (d *Display) EndBar() {
	if d.Bars {
		fmt.Fprintln(d.W)
	}
}

// StartBar draws a bar of that many cells at the bottom of a terminal.
func (d *Display) StartBar(total int64, width int) {
	d.bar = progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(d.W),
		progressbar.OptionSetWidth(width),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionShowDescriptionAtLineEnd(),
		// ThemeUnicode of the library needs a font with private-use glyphs.
		progressbar.OptionSetTheme(progressbar.Theme{Saucer: "█", SaucerPadding: "░", BarStart: " ", BarEnd: " "}),
	)
}
