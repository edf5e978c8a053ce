package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"dpsgd/accountant"
	"dpsgd/cmd/train/internal/terminal"
	"dpsgd/internal/account"
	"dpsgd/internal/compute"
	"dpsgd/internal/sweep"
	"dpsgd/internal/train"
)

// lines of a bar as a terminal would show them one after the other.
func drawn(b *bytes.Buffer) []string {
	return strings.FieldsFunc(b.String(), func(r rune) bool { return r == '\r' || r == '\n' })
}

// Bars fit terminals of 80 columns, also with the largest numbers and the longest names, and say
// what is promised.
func TestBarsFit80Columns(t *testing.T) {
	p := train.Progress{
		Step: 12345, Steps: 98765, Spent: account.Spent{Guarantee: accountant.Guarantee{Epsilon: 12.345}}, Budget: &accountant.Guarantee{Epsilon: 12.75},
		Evaluation: compute.Evaluation{Accuracy: 0.98765}, SecondsPerStep: 4, ExamplesPerSecond: 123456,
	}
	byRDP := 13.501
	beside := p
	beside.Spent.EpsilonRDP = &byRDP
	var runBar, besideBar, sweepBuffer, fetch bytes.Buffer
	narrow := &runWatcher{terminal.Display{W: &besideBar, Bars: true}}
	narrow.StartBar(98765, terminal.NarrowBarWidth)
	run := &runWatcher{terminal.Display{W: &runBar, Bars: true}}
	run.StartBar(98765, terminal.BarWidth)
	trials := &sweepWatcher{Display: terminal.Display{W: &sweepBuffer, Bars: true}, saves: func() {}}
	trials.SweepStarted(sweep.Overview{Dir: "runs/s", Trials: 1000, Steps: 987654})
	trials.TrialStarted(sweep.TrialOverview{Number: 999, Trials: 1000, Name: strings.Repeat("clip_norm=0.1,", 9), Steps: 987654})
	download := &fetchProgress{Display: terminal.Display{W: &fetch, Bars: true}}
	download.progress("cifar-10-binary.tar.gz", 0, 170052171)
	time.Sleep(150 * time.Millisecond) // bars draw ten times a second
	run.Stepped(p)
	narrow.Stepped(beside)
	trials.TrialStepped(p)
	download.progress("cifar-10-binary.tar.gz", 170052171, 170052171)

	for name, b := range map[string]*bytes.Buffer{"run": &runBar, "two accountants": &besideBar, "sweep": &sweepBuffer, "fetch": &fetch} {
		for _, line := range drawn(b) {
			if len([]rune(line)) > 79 {
				t.Errorf("%s: %d columns: %s", name, len([]rune(line)), line)
			}
		}
	}
	lines := drawn(&runBar)
	for _, want := range []string{"12345/98765", "ε 12.35 of 12.75", "test 98.8 %", "123k/s", "96h01m"} {
		if last := lines[len(lines)-1]; !strings.Contains(last, want) {
			t.Errorf("the bar does not say %s: %s", want, last)
		}
	}
	lines = drawn(&besideBar)
	for _, want := range []string{"12345/98765", "ε 12.35 (rdp 14) of 12.75", " 98.8 %", "123k/s", "96h01m"} {
		if last := lines[len(lines)-1]; !strings.Contains(last, want) {
			t.Errorf("the bar does not say %s: %s", want, last)
		}
	}
}

// Beside the bar stands as much as there is room for.
func TestLiveText(t *testing.T) {
	byRDP := 3.1951
	p := train.Progress{
		Step: 586, Steps: 586, Spent: account.Spent{Guarantee: accountant.Guarantee{Epsilon: 2.981}, EpsilonRDP: &byRDP}, Budget: &accountant.Guarantee{Epsilon: 3},
		Evaluation: compute.Evaluation{Accuracy: 0.981}, SecondsPerStep: 0.02, ExamplesPerSecond: 11000,
	}
	for _, test := range []struct {
		width int
		want  string
	}{
		{62, "586/586  ε 2.99 (rdp 3.20) of 3  test 98.1 %  11k/s  0s"},
		{54, "586/586  ε 2.99 (rdp 4) of 3  test 98.1 %  11k/s  0s"},
		{48, "586/586  ε 2.99 (rdp 4) of 3  98.1 %  11k/s  0s"},
		{40, "586/586  ε 2.99 (rdp 4) of 3  98.1 %  1…"},
	} {
		if found := liveText(p, test.width); found != test.want {
			t.Errorf("found %q, expected %q", found, test.want)
		}
	}
}

// A warning does not stand in the line of a bar.
func TestWarningsClearTheBar(t *testing.T) {
	var b bytes.Buffer
	w := &runWatcher{terminal.Display{W: &b, Bars: true}}
	w.Warned("first")
	w.StartBar(10, terminal.BarWidth)
	w.Show(3, "3/10")
	w.Warned("second")
	if !strings.HasPrefix(b.String(), "WARNING   first\n") || !strings.HasSuffix(b.String(), "\rWARNING   second\n") {
		t.Errorf("found %q", b.String())
	}
}

func TestFormats(t *testing.T) {
	for _, test := range []struct{ found, want string }{
		{terminal.Count(0), "0"}, {terminal.Count(999), "999"}, {terminal.Count(1000), "1,000"}, {terminal.Count(1234567), "1,234,567"},
		{terminal.Duration(0.4), "0s"}, {terminal.Duration(59.6), "1m0s"}, {terminal.Duration(3600), "1h00m"}, {terminal.Duration(7500), "2h05m"},
		{terminal.Short(9999), "9999"}, {terminal.Short(123456), "123k"},
		{terminal.Cut("short", 5), "short"}, {terminal.Cut("longer", 5), "long…"}, {terminal.Cut("εεεεεε", 3), "εε…"},
		{baseName("configs/mnist-cnn.yaml"), "mnist-cnn"}, {baseName("digits"), "digits"},
	} {
		if test.found != test.want {
			t.Errorf("found %q, expected %q", test.found, test.want)
		}
	}
}
