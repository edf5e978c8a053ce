package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"dpsgd/internal/train"

	"github.com/schollz/progressbar/v3"
)

// barWidth leaves room for what is said beside the bar on terminals of 80 columns. A narrow bar
// leaves more.
const (
	barWidth        = 10
	textWidth       = 58
	narrowBarWidth  = 6
	narrowTextWidth = textWidth + barWidth - narrowBarWidth
)

// display is where work is told about: in lines now and then, or, on a terminal, with a bar below
// them.
type display struct {
	w    io.Writer
	bars bool
	bar  *progressbar.ProgressBar
	last time.Time // a line was written
}

// display goes to standard error with --json, so that standard output is the result alone.
func (a *app) display() display {
	w := a.out
	if a.json {
		w = a.err
	}
	return display{w: w, bars: isTerminal(w)}
}

// plainEvery is how often progress is told in lines.
const plainEvery = 10 * time.Second

// due says whether it is time for a line.
func (d *display) due() bool {
	if time.Since(d.last) < plainEvery {
		return false
	}
	d.last = time.Now()
	return true
}

// Warned writes a line above the bar.
func (d *display) Warned(message string) {
	if d.bar != nil {
		_ = d.bar.Clear()
	}
	fmt.Fprintf(d.w, "WARNING   %s\n", message)
}

// show moves the bar.
func (d *display) show(done int64, format string, args ...any) {
	d.showText(done, cut(fmt.Sprintf(format, args...), textWidth))
}

// showText moves the bar. What a terminal does with it is no reason to stop a run.
func (d *display) showText(done int64, text string) {
	d.bar.Describe(text)
	_ = d.bar.Set64(done)
}

// endBar ends the line of a bar.
func (d *display) endBar() {
	if d.bars {
		fmt.Fprintln(d.w)
	}
}

// newBar draws at the bottom of a terminal.
func newBar(w io.Writer, total int64, width int) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w),
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

// liveText is what stands beside the bar of a run. Where it would be too wide it says less: first
// of RDP, then of the test.
func liveText(s train.Progress, width int) string {
	text := func(decimals int, accuracy string) string {
		return fmt.Sprintf("%d/%d  %s  %s  %s/s  %s", s.Step, s.Steps, spend(s, decimals), accuracy, short(s.ExamplesPerSecond), left(s))
	}
	long := accuracy(s)
	for _, shorter := range []string{text(2, long), text(0, long), text(0, strings.TrimPrefix(long, "test "))} {
		if utf8.RuneCountInString(shorter) <= width {
			return shorter
		}
	}
	return cut(text(0, strings.TrimPrefix(long, "test ")), width)
}
