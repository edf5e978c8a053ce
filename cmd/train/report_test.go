package main

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/tiny"
)

// A run is extended, goes on, and counts everything; the list of runs shows what is spent, left and
// broken within 80 columns, and several runs are added up.
func TestRunsAreListedExtendedAndAddedUp(t *testing.T) {
	t.Chdir(t.TempDir())
	same(t, "an empty folder", succeed(t, "runs", "--runs-dir", "."), "no runs in .; `train run` makes one\n")
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
	says(t, list, "damaged", "\nown-1: ")
	for _, text := range []string{out, list, resumed, total} {
		fits(t, text)
	}
	for _, wrong := range [][]string{
		{"extend", "runs/grid/clip_norm=1", "--epsilon", "9"}, {"extend", "runs/own-1"}, {"extend", "runs/own-1", "--epsilon", "-1"}, {"extend", "runs/own-1", "--steps", "0"}, {"extend", "runs/own-1", "--epsilon", "inf"},
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
	says(t, out, "train resume runs/own-1 --data-folder 'now here'`")
	succeed(t, "resume", "runs/own-1", "--data-folder", "now here")
}

// A report is one file, and its plots are files beside it.
func TestReport(t *testing.T) {
	config := own(t, 2)
	for range 2 {
		says(t, succeed(t, "run", config, "--set", "run.private_diagnostics=true"), "WARNING   run.private_diagnostics is on: diagnostics.private.jsonl is NOT private")
	}
	result := lastLine(t, succeed(t, "report", "runs/own-1", "--plots", "figures", "--json"))
	if plots, _ := result["plots"].([]any); result["report"] != "report.html" || len(plots) != 10 {
		t.Errorf("found %v, expected a report and 5 figures as SVG and PNG", result)
	}
	says(t, tiny.Read(t, "report.html"), "Confusion matrix", "data:image/png;base64,")
	same(t, "two runs", succeed(t, "report", "runs/own-1", "runs/own-2", "-o", "both.html"), "in both.html: 2 runs side by side\n")
	same(t, "what is private", succeed(t, "report", "runs/own-1", "--private-diagnostics"), "in report.private.html: Run own-1\n")
}

func TestReportRefuses(t *testing.T) {
	succeed(t, "run", own(t, 2))
	refused(t, shell.ExitUsage, "expected at least one: the folder of a run or of a sweep", "report")
	refused(t, shell.ExitUsage, "expected a file that ends in .html", "report", "runs/own-1", "-o", "x.pdf")
	refused(t, shell.ExitUsage, `expected a name with "private" in it`, "report", "runs/own-1", "--private-diagnostics", "-o", "x.html")
	refused(t, shell.ExitDamaged, "holds no config.yaml", "report", "runs")
	refused(t, shell.ExitDamaged, `r\x1b[31m holds no config.yaml`, "report", "r\x1b[31m") // which colours nothing
	refused(t, shell.ExitFailed, "cannot write the report", "report", "runs/own-1", "-o", filepath.Join("none", "x.html"))
}

// Measuring a model says which classes it confuses, to people and to programs.
func TestEvalByClass(t *testing.T) {
	succeed(t, "run", own(t, 2))
	says(t, succeed(t, "eval", "runs/own-1"), "95 % interval", "class, taken for →")
	result := lastLine(t, succeed(t, "eval", "runs/own-1", "--json"))
	classes, _ := result["classes"].([]any)
	matrix, _ := result["confusion"].([]any)
	if len(classes) != 2 || len(matrix) != 2 {
		t.Errorf("found %d classes and %d rows, expected 2", len(classes), len(matrix))
	}
}

// serving starts a command line that serves a page on a free port, and returns the process and the
// URL in the first line that it prints.
func serving(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	c, _ := program(t, args...)
	read, write, err := os.Pipe()
	tiny.Check(t, err)
	c.Stdout, c.Stderr = write, write
	tiny.Check(t, c.Start())
	tiny.Check(t, write.Close())
	t.Cleanup(func() { c.Process.Kill(); read.Close() })
	line, err := bufio.NewReader(read).ReadString('\n')
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(line)
	if err != nil || url == "" {
		t.Fatalf("found %q, error %v, expected the address of the page", line, err)
	}
	return c, url
}

// The page of a job is there while it goes on and gone when it has ended; an address that is taken
// ends the command before anything is trained.
func TestServeWhileTraining(t *testing.T) {
	t.Chdir(t.TempDir())
	c, url := serving(t, "run", "--serve=127.0.0.1:0")
	answer, err := http.Get(url)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("found %v, error %v", answer, err)
	}
	answer.Body.Close()
	taken := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	refused(t, shell.ExitUsage, "another program listens on "+taken, "run", "--runs-dir", "other", "--serve="+taken)
	if _, err := os.Stat("other"); err == nil {
		t.Error("found a folder of runs although the address was taken")
	}
	tiny.Check(t, c.Process.Kill())
	_ = c.Wait()
	if _, err := http.Get(url); err == nil {
		t.Error("found a page of a trainer that was killed")
	}
}
