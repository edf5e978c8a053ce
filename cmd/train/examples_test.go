package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"

	"github.com/goccy/go-yaml"
)

// scripts are the files of the folder examples, by their name.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../examples/*")
	if err != nil || len(files) < 5 {
		t.Fatalf("found %v (%v), expected five examples", files, err)
	}
	texts := map[string]string{}
	for _, path := range files {
		texts[filepath.Base(path)] = tiny.Read(t, path)
	}
	return texts
}

var (
	comment    = regexp.MustCompile(`(?m)^#.*$|\s#.*$`)
	ofProgram  = regexp.MustCompile(`\btrain(?:-mpi)?[ ,]+((?:run|sweep)\b[^\]\n]*)`)
	ofImage    = regexp.MustCompile(`args: \[([^\]]*)\]`) // whose entry point is the program
	fieldsOfIt = regexp.MustCompile(`[\s,]+`)
)

// Shells and Kubernetes can read every example, and the program every command line in it.
func TestExamplesAreReadable(t *testing.T) {
	for name, text := range scripts(t) {
		if strings.HasSuffix(name, ".sh") {
			if bash, err := exec.LookPath("bash"); err != nil {
				t.Log("this system has no bash")
			} else if out, err := exec.Command(bash, "-n", filepath.Join("../../examples", name)).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		} else {
			var object struct{ APIVersion, Kind string }
			if err := yaml.Unmarshal([]byte(text), &object); err != nil || object.Kind == "" {
				t.Errorf("%s: found %+v (%v), expected an object of Kubernetes", name, object, err)
			}
		}
		lines := ofProgram.FindAllStringSubmatch(comment.ReplaceAllString(text, ""), -1)
		lines = append(lines, ofImage.FindAllStringSubmatch(text, -1)...)
		if len(lines) == 0 {
			t.Errorf("%s has no command line of the program", name)
		}
		for _, line := range lines {
			words := fieldsOfIt.Split(strings.Trim(line[1], " "), -1)
			if _, err := parsed(words); err != nil {
				t.Errorf("%s: train %q: %v", name, words, err)
			}
		}
	}
}

// The scripts for sweeps train a sweep and collect it: the array of Slurm as its tasks would be
// started, and the one of GNU parallel where that is installed.
// TestExamplesAreReadable holds their command lines.
func TestExamplesTrainASweep(t *testing.T) {
	skipWithoutSignals(t)
	slow.Evidence(t)
	examples, err := filepath.Abs("../../examples")
	tiny.Check(t, err)
	standIn(t, programLine(t))
	base := own(t, 3)
	here, err := os.Getwd()
	tiny.Check(t, err)
	tiny.Write(t, "a.yaml", "name: a\nbase: "+base+"\nseeds: 2\n")
	tiny.Write(t, "b b.yaml", "name: b\nbase: "+base+"\nseeds: 2\n")
	bash := func(environment, script, sweep string) {
		c := exec.Command("bash", filepath.Join(examples, script), sweep)
		c.Env = append(os.Environ(), environment)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
	for id := 1; id <= 2; id++ {
		bash(fmt.Sprintf("SLURM_ARRAY_TASK_ID=%d", id), "slurm-sweep.sh", "a.yaml")
	}
	succeed(t, "sweep", "a.yaml", "--collect")
	swept := []string{"a"}
	if _, err := exec.LookPath("parallel"); err == nil {
		bash("HOME="+here, "parallel-sweep.sh", "b b.yaml")
		swept = append(swept, "b")
	}
	for _, name := range swept {
		if rows := strings.Count(tiny.Read(t, filepath.Join("runs", name, "results.jsonl")), "\n"); rows != 2 {
			t.Errorf("sweep %s has %d rows, expected 2", name, rows)
		}
	}
}

// A sweep that is started again goes on; `train run` begins another run, which releases anew. So the
// schedulers of single runs do not start them again by themselves.
func TestExamplesBeginARunOnce(t *testing.T) {
	texts := scripts(t)
	for name, says := range map[string]string{"slurm-run.sh": "#SBATCH --no-requeue", "kubernetes-mpijob.yaml": "backoffLimit: 0"} {
		if !strings.Contains(texts[name], says) {
			t.Errorf("%s: expected %q", name, says)
		}
	}
}
