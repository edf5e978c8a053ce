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

// newBar draws at the bottom of a terminal.
func newBar(w io.Writer, total int64) *progressbar.ProgressBar { return barOf(w, total, barWidth) }

func barOf(w io.Writer, total int64, width int) *progressbar.ProgressBar {
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

// show moves a bar.
func show(bar *progressbar.ProgressBar, done int64, format string, args ...any) {
	showText(bar, done, cut(fmt.Sprintf(format, args...), textWidth))
}

// showText moves a bar. What a terminal does with it is no reason to stop a run.
func showText(bar *progressbar.ProgressBar, done int64, text string) {
	bar.Describe(text)
	_ = bar.Set64(done)
}

// clearBar makes room for a line above a bar, which may not be there yet.
func clearBar(bar *progressbar.ProgressBar) {
	if bar != nil {
		_ = bar.Clear()
	}
}

// endBar ends the line of a bar that an error cut short.
func (a *app) endBar() {
	if w := a.progressTo(); isTerminal(w) {
		fmt.Fprintln(w)
	}
}

// barWatcher draws a progress bar between the lines at the start and at the end.
type barWatcher struct {
	plainWatcher
	bar *progressbar.ProgressBar
}

func (b *barWatcher) Started(o train.Overview) {
	b.plainWatcher.Started(o)
	width := barWidth
	if twoAccountants(o.Plan) {
		width = narrowBarWidth
	}
	b.bar = barOf(b.w, int64(o.Plan.Steps), width)
	show(b.bar, int64(o.ResumedAt), "%d/%d", o.ResumedAt, o.Plan.Steps)
}

func (b *barWatcher) Stepped(s train.Progress) {
	width := textWidth
	if s.Spent.EpsilonRDP != nil {
		width = narrowTextWidth
	}
	showText(b.bar, int64(s.Step), liveText(s, width))
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

func (b *barWatcher) Warned(message string) {
	clearBar(b.bar)
	b.plainWatcher.Warned(message)
}

func (b *barWatcher) Finished(r train.Result) {
	fmt.Fprintln(b.w)
	b.plainWatcher.Finished(r)
}
