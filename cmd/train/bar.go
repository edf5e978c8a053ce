package main

import (
	"fmt"
	"io"
	"time"

	"dpsgd/internal/train"

	"github.com/schollz/progressbar/v3"
)

// barWidth leaves room for what is said beside the bar on terminals of 80 columns.
const (
	barWidth  = 10
	textWidth = 58
)

// newBar draws at the bottom of a terminal.
func newBar(w io.Writer, total int64) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetWidth(barWidth),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionShowDescriptionAtLineEnd(),
		// ThemeUnicode of the library needs a font with private-use glyphs.
		progressbar.OptionSetTheme(progressbar.Theme{Saucer: "█", SaucerPadding: "░", BarStart: " ", BarEnd: " "}),
	)
}

// show moves a bar. What a terminal does with it is no reason to stop a run.
func show(bar *progressbar.ProgressBar, done int64, format string, args ...any) {
	bar.Describe(cut(fmt.Sprintf(format, args...), textWidth))
	_ = bar.Set64(done)
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
	b.bar = newBar(b.w, int64(o.Plan.Steps))
	show(b.bar, int64(o.ResumedAt), "%d/%d", o.ResumedAt, o.Plan.Steps)
}

func (b *barWatcher) Stepped(s train.Progress) {
	show(b.bar, int64(s.Step), "%d/%d  %s  %s  %s/s  %s", s.Step, s.Steps, spend(s), accuracy(s), short(s.ExamplesPerSecond), left(s))
}

func (b *barWatcher) Finished(r train.Result) {
	fmt.Fprintln(b.w)
	b.plainWatcher.Finished(r)
}
