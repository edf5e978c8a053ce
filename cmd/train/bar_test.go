package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/gradients"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
	"dpsgd/internal/statement"
	"dpsgd/internal/sweep"
	"dpsgd/internal/train"
)

var escape = regexp.MustCompile("\x1b\\[[0-9]*[mK]")

// drawn returns the lines of a bar as a terminal would show them one after the other.
func drawn(b *bytes.Buffer) []string {
	return strings.FieldsFunc(escape.ReplaceAllString(b.String(), ""), func(r rune) bool { return r == '\r' || r == '\n' })
}

// progressed is a run with the largest numbers, whose budget two accountants watch.
func progressed() train.Progress {
	byRDP := 13.501
	return train.Progress{
		Step: 12345, Steps: 98765, Spent: account.Spent{Guarantee: accountant.Guarantee{Epsilon: 12.345}, EpsilonRDP: &byRDP}, Budget: &accountant.Guarantee{Epsilon: 12.75},
		Evaluation: gradients.Evaluation{Test: score.Test{TestAccuracy: 0.98765}}, SecondsPerStep: 4, ExamplesPerSecond: 123456,
	}
}

// Bars are as wide as the terminal, whatever its width, also with the largest numbers and the
// longest names, and say as much as there is room for.
func TestBarsFitTheTerminal(t *testing.T) {
	for columns, want := range map[int][]string{
		20:  {"12345/98765"},
		40:  {"12345/98765", "ε 12.35 of 12.75"},
		54:  {"12345/98765", "ε 12.35 of 12.75", "98.8 %"},
		80:  {"░", "12345/98765", "ε 12.35 ", "of 12.75", "test 98.8 %", "96h01m left"},
		120: {"█", "12345/98765", "ε 12.35 (rdp 13.51) of 12.75", "test 98.8 %", "123k examples/s", "96h01m left"},
		300: {"█", "12345/98765", "ε 12.35 (rdp 13.51) of 12.75", "test 98.8 %", "123k examples/s", "96h01m left"},
	} {
		var runBar, sweepBar, fetch bytes.Buffer
		show := func(b *bytes.Buffer) shell.Display {
			return shell.Display{W: b, Bars: true, Colours: columns > 100, Columns: columns}
		}
		p := progressed()
		run := &runWatcher{show(&runBar)}
		run.StartBar(98765)
		run.Stepped(p)
		run.EndBar()
		trials := &sweepWatcher{Display: show(&sweepBar), saves: func() {}}
		trials.SweepStarted(sweep.Overview{Dir: "runs/s", Trials: 1000, Steps: 987654})
		trial := sweep.TrialOverview{Number: 999, Trials: 1000, Name: strings.Repeat("clip_norm=0.1,", 9), Steps: 987654}
		trials.TrialStarted(trial)
		trials.TrialStepped(trial, p)
		trials.EndBar()
		download := &fetchProgress{show(&fetch)}
		download.progress("cifar-10-binary.tar.gz", 0, 170052171)
		download.progress("cifar-10-binary.tar.gz", 170052171, 170052171)

		for name, b := range map[string]*bytes.Buffer{"run": &runBar, "sweep": &sweepBar, "fetch": &fetch} {
			lines := drawn(b)
			for _, line := range lines {
				if len([]rune(line)) >= max(columns, 45) { // what is told ahead of a sweep is no bar
					t.Errorf("%s on %d columns: %d columns: %s", name, columns, len([]rune(line)), line)
				}
			}
			if last := lines[len(lines)-1]; len([]rune(last)) >= columns {
				t.Errorf("%s on %d columns: %s", name, columns, last)
			}
			if coloured := strings.Contains(b.String(), "m█") || strings.Contains(b.String(), "m░"); coloured != (columns > 100) {
				t.Errorf("%s on %d columns: in colours: %v", name, columns, coloured)
			}
		}
		lines := drawn(&runBar)
		for _, w := range want {
			if last := lines[len(lines)-1]; !strings.Contains(last, w) {
				t.Errorf("%d columns: the bar does not say %s: %s", columns, w, last)
			}
		}
		if cells := strings.Count(lines[0], "█") + strings.Count(lines[0], "░"); cells > 40 || columns >= 120 && cells < 30 {
			t.Errorf("%d columns: %d cells: %s", columns, cells, lines[0])
		}
	}
}

// Beside the bar stands as much as there is room for.
func TestLiveText(t *testing.T) {
	byRDP := 3.1951
	p := train.Progress{
		Step: 586, Steps: 586, Spent: account.Spent{Guarantee: accountant.Guarantee{Epsilon: 2.981}, EpsilonRDP: &byRDP}, Budget: &accountant.Guarantee{Epsilon: 3},
		Evaluation: gradients.Evaluation{Test: score.Test{TestAccuracy: 0.981}}, SecondsPerStep: 0.02, ExamplesPerSecond: 11000,
	}
	for _, test := range []struct {
		width int
		want  string
	}{
		{72, "586/586  ε 2.99 (rdp 3.20) of 3  test 98.1 %  11k examples/s  0s left"},
		{62, "586/586  ε 2.99 (rdp 3.20) of 3  test 98.1 %  11k/s  0s left"},
		{58, "586/586  ε 2.99 (rdp 4) of 3  test 98.1 %  11k/s  0s left"},
		{50, "586/586  ε 2.99 of 3  test 98.1 %  11k/s  0s left"},
		{42, "586/586  ε 2.99 of 3  test 98.1 %  0s left"},
		{40, "586/586  ε 2.99 of 3  98.1 %  0s"},
		{30, "586/586  ε 2.99 of 3  98.1 %"},
		{20, "586/586  ε 2.99 of 3"},
		{10, "586/586"},
		{3, "58…"},
		{-4, "…"},
	} {
		same(t, fmt.Sprint(test.width, " columns"), liveText(p, test.width), test.want)
	}
}

// A warning does not stand in the line of a bar.
func TestWarningsClearTheBar(t *testing.T) {
	var b bytes.Buffer
	w := &runWatcher{shell.Display{W: &b, Bars: true}}
	w.Warned("first")
	w.StartBar(10)
	w.Show(3, "3/10")
	w.Warned("second")
	if !strings.HasPrefix(b.String(), "WARNING   first\n") || !strings.HasSuffix(b.String(), "3/10\r\x1b[KWARNING   second\n") {
		t.Errorf("found %q", b.String())
	}
}

// There are colours on terminals alone, and none where NO_COLOR or a dumb terminal says so.
func TestColours(t *testing.T) {
	if shell.Colours(new(bytes.Buffer)) {
		t.Error("a buffer gets colours")
	}
	for _, off := range []string{"NO_COLOR", "TERM"} {
		t.Setenv(off, "dumb")
		if shell.Colours(os.Stdout) {
			t.Errorf("with %s=dumb there are colours", off)
		}
	}
}

func TestFormats(t *testing.T) {
	for _, test := range [][2]string{
		{shell.Count(0), "0"}, {shell.Count(999), "999"}, {shell.Count(1000), "1,000"}, {shell.Count(1234567), "1,234,567"},
		{shell.Duration(0.4), "0s"}, {shell.Duration(59.6), "1m0s"}, {shell.Duration(3600), "1h00m"}, {shell.Duration(7500), "2h05m"},
		{shell.Short(9999), "9999"}, {shell.Short(123456), "123k"}, {run.Size(3 << 19), "1.5 MiB"},
		{shell.Guarantee(math.MaxFloat64, 0.1, "rdp", nil), "NOT PRIVATE: ε is infinite"}, {shell.Guarantee(math.MaxFloat64, 0.1, account.ByChoice, nil), statement.NotKnown + " at δ = 0.1"},
		{shell.Cut("short", 5), "short"}, {shell.Cut("longer", 5), "long…"}, {shell.Cut("εεεεεε", 3), "εε…"},
		{outcome(books.Row{Test: score.Untested(), Answer: account.Answer{Epsilon: 1.2341}, Status: "diverged"}), "no test accuracy  ε 1.235  0s  diverged"},
		{baseName("configs/mnist-cnn.yaml"), "mnist-cnn"}, {baseName("digits"), "digits"},
	} {
		same(t, "text", test[0], test[1])
	}
}
