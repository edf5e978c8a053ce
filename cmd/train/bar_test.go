package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"dpsgd/accountant"
	"dpsgd/internal/train"
)

// lines of a bar as a terminal would show them one after the other.
func drawn(b *bytes.Buffer) []string {
	return strings.FieldsFunc(b.String(), func(r rune) bool { return r == '\r' || r == '\n' })
}

// Bars fit terminals of 80 columns, also with the largest numbers and the longest names, and say what is promised.
func TestBarsFit80Columns(t *testing.T) {
	p := train.Progress{
		Step: 12345, Steps: 98765, Spent: accountant.Guarantee{Epsilon: 12.345}, Budget: &accountant.Guarantee{Epsilon: 12.75},
		Evaluation: train.Evaluation{Accuracy: 0.98765}, SecondsPerStep: 4, ExamplesPerSecond: 123456,
	}
	var runBar, sweep, fetch bytes.Buffer
	run := &barWatcher{plainWatcher: plainWatcher{w: &runBar}, bar: newBar(&runBar, 98765)}
	trials := &sweepBar{sweepLines: sweepLines{w: &sweep}}
	trials.SweepStarted(train.SweepOverview{Dir: "runs/s", Trials: 1000, Steps: 987654})
	trials.TrialStarted(train.TrialOverview{Number: 999, Trials: 1000, Name: strings.Repeat("clip_norm=0.1,", 9), Steps: 987654})
	download := &fetchBar{w: &fetch}
	download.progress("cifar-10-binary.tar.gz", 0, 170052171)
	time.Sleep(150 * time.Millisecond) // bars draw ten times a second
	run.Stepped(p)
	trials.TrialStepped(p)
	download.progress("cifar-10-binary.tar.gz", 170052171, 170052171)

	for name, b := range map[string]*bytes.Buffer{"run": &runBar, "sweep": &sweep, "fetch": &fetch} {
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
}

func TestFormats(t *testing.T) {
	for _, test := range []struct{ found, want string }{
		{count(0), "0"}, {count(999), "999"}, {count(1000), "1,000"}, {count(1234567), "1,234,567"},
		{duration(0.4), "0s"}, {duration(59.6), "1m0s"}, {duration(3600), "1h00m"}, {duration(7500), "2h05m"},
		{short(9999), "9999"}, {short(123456), "123k"},
		{cut("short", 5), "short"}, {cut("longer", 5), "long…"}, {cut("εεεεεε", 3), "εε…"},
		{baseName("configs/mnist-cnn.yaml"), "mnist-cnn"}, {baseName("digits"), "digits"},
	} {
		if test.found != test.want {
			t.Errorf("found %q, expected %q", test.found, test.want)
		}
	}
}
