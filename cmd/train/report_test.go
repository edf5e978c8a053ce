package main

import (
	"bufio"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/tiny"
)

// A report is one file, and its plots are files beside it.
func TestReport(t *testing.T) {
	config := own(t, 2)
	for range 2 {
		succeed(t, "run", config, "--set", "run.private_diagnostics=true")
	}
	result := lastLine(t, succeed(t, "report", "runs/own-1", "--plots", "figures", "--json"))
	if plots, _ := result["plots"].([]any); result["report"] != "report.html" || len(plots) != 10 {
		t.Errorf("found %v, expected a report and 5 figures as SVG and PNG", result)
	}
	page, err := os.ReadFile("report.html")
	if err != nil || !strings.Contains(string(page), "Confusion matrix") || !strings.Contains(string(page), "data:image/png;base64,") {
		t.Errorf("found %d bytes, error %v, expected predictions of test pictures", len(page), err)
	}
	if out := succeed(t, "report", "runs/own-1", "runs/own-2", "-o", "both.html"); out != "in both.html: 2 runs side by side\n" {
		t.Errorf("found %q", out)
	}
	if out := succeed(t, "report", "runs/own-1", "--private-diagnostics"); out != "in report.private.html: Run own-1\n" {
		t.Errorf("found %q", out)
	}
}

func TestReportRefuses(t *testing.T) {
	succeed(t, "run", own(t, 2))
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"report"}, shell.ExitUsage, "expected at least one: the folder of a run or of a sweep"},
		{[]string{"report", "runs/own-1", "-o", "x.pdf"}, shell.ExitUsage, "expected a file that ends in .html"},
		{[]string{"report", "runs/own-1", "--private-diagnostics", "-o", "x.html"}, shell.ExitUsage, `expected a name with "private" in it`},
		{[]string{"report", "runs"}, shell.ExitDamaged, "holds no config.yaml"},
		{[]string{"report", "runs/own-1", "-o", filepath.Join("none", "x.html")}, shell.ExitFailed, "cannot write the report"},
	} {
		refused(t, test.code, test.want, test.args...)
	}
}

// Measuring a model says which classes it confuses, to people and to programs.
func TestEvalByClass(t *testing.T) {
	succeed(t, "run", own(t, 2))
	out := succeed(t, "eval", "runs/own-1")
	says(t, out, "95 % interval", "class, taken for →")
	result := lastLine(t, succeed(t, "eval", "runs/own-1", "--json"))
	classes, _ := result["classes"].([]any)
	matrix, _ := result["confusion"].([]any)
	if len(classes) != 2 || len(matrix) != 2 {
		t.Errorf("found %d classes and %d rows, expected 2", len(classes), len(matrix))
	}
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`)

// The page of a job is there while it goes on and gone when it has ended; an address that is taken
// ends the command before anything is trained.
func TestServeWhileTraining(t *testing.T) {
	t.Chdir(t.TempDir())
	c, _ := program(t, "run", "--serve=127.0.0.1:0")
	c.Stdout, c.Stderr = nil, nil
	pipe, err := c.StderrPipe()
	tiny.Check(t, err)
	tiny.Check(t, c.Start())
	defer c.Process.Kill()
	line, err := bufio.NewReader(pipe).ReadString('\n')
	url := address.FindString(line)
	if err != nil || url == "" {
		t.Fatalf("found %q, error %v, expected the address of the page", line, err)
	}
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
