package main

import (
	"os"
	"strings"
	"testing"

	"dpsgd/internal/tiny"
)

// A run is extended, goes on, and counts everything; the list of runs shows what is spent, left and
// broken within 80 columns, and several runs are added up.
func TestRunsAreListedExtendedAndAddedUp(t *testing.T) {
	t.Chdir(t.TempDir())
	if out := succeed(t, "runs", "--runs-dir", "."); out != "no runs in .; `train run` makes one\n" {
		t.Errorf("an empty folder is %q", out)
	}
	config := ownConfig(t, pictures(t), 10)
	succeed(t, "run", config)
	succeed(t, "run", config, "--set", "run.name=a-name-that-is-longer-than-anybody-wants")
	tiny.Write(t, "grid.yaml", "name: grid\nbase: "+config+"\ngrid:\n  privacy.clip_norm: [0.1, 1]\n")
	succeed(t, "sweep", "grid.yaml")
	out := succeed(t, "extend", "runs/own-1", "--epsilon", "8")
	matches(t, out, `^steps     \d+ in all, 10 of them made; before, 10 were planned\n`, `spent     ε = 5\.000 so far\n`, `will be   ε = [67]\.\d{3} of 8 at δ = 0\.001 \(rdp\)`, "go on with `train resume runs/own-1`\n$")
	list := succeed(t, "runs")
	for _, want := range []string{`(?m)^run  +data +ε +left  test %  status$`, `(?m)^own-1 +folder +7\.\d{3}  0\.\d{3} +\d+\.\d\d  stopped$`, `(?m)^grid \(2 trials\) +folder +\d+\.\d{3} +– +\d+\.\d\d  done$`, `(?m)^a-name-that-is-longer-than-…  `} {
		matches(t, list, strings.ReplaceAll(want, "folder", `\S+`))
	}
	resumed := succeed(t, "resume", "runs/own-1")
	matches(t, resumed, `budget          ε ≤ 8, left [012]\.\d{3}\n`)
	total := succeed(t, "epsilon", "runs/own-1", "runs/grid/clip_norm=1")
	matches(t, total, `120 examples of 8x8x1, 2 classes\ntogether  ε = \d+\.\d{3} at δ = 0\.001 \(any choice\) over \d+ releases\n +ε = \d+\.\d{3} at δ = 0\.001 \(rdp\), if chosen before any result\n`)
	tiny.Check(t, os.WriteFile("runs/own-1/config.yaml", []byte("no: yes"), 0o600))
	list = succeed(t, "runs")
	if !strings.Contains(list, "damaged") || !strings.Contains(list, "\nown-1: ") {
		t.Errorf("a damaged run is listed as\n%s", list)
	}
	for _, text := range []string{out, list, resumed, total} {
		fits(t, text)
	}
	for _, wrong := range [][]string{
		{"extend", "runs/grid/clip_norm=1", "--epsilon", "9"}, {"extend", "runs/own-1"}, {"extend", "runs/own-1", "--epsilon", "-1"}, {"extend", "runs/own-1", "--steps", "0"},
		{"epsilon", "runs/grid/clip_norm=1", "runs/grid/clip_norm=1"}, {"epsilon", "runs/own-1", "runs/own-2", "--delta", "1e-5"},
	} {
		refused(t, 2, "", wrong...)
	}
}

// A run of pictures that lie elsewhere now goes on with --data-folder, and advice repeats it.
func TestResumeWithMovedData(t *testing.T) {
	t.Chdir(t.TempDir())
	folder := t.TempDir()
	drawPictures(t, folder)
	succeed(t, "run", ownConfig(t, folder, 10))
	tiny.Check(t, os.Rename(folder, "now here"))
	refused(t, 3, "", "resume", "runs/own-1")
	out := succeed(t, "extend", "runs/own-1", "--epsilon", "9", "--data-folder", "now here")
	if !strings.Contains(out, "train resume runs/own-1 --data-folder 'now here'`") {
		t.Errorf("extend says:\n%s", out)
	}
	succeed(t, "resume", "runs/own-1", "--data-folder", "now here")
}
