package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
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

// A sweep that is started again goes on; `train run` begins another run, which releases anew. So
// the schedulers of single runs do not start them again by themselves.
func TestExamplesBeginARunOnce(t *testing.T) {
	texts := scripts(t)
	for name, says := range map[string]string{"slurm-run.sh": "#SBATCH --no-requeue", "kubernetes-mpijob.yaml": "backoffLimit: 0"} {
		if !strings.Contains(texts[name], says) {
			t.Errorf("%s: expected %q", name, says)
		}
	}
}

// newcomersPlace makes what the commands of testdata/newcomers.md are about, in the current folder.
func newcomersPlace(t *testing.T) {
	t.Helper()
	for _, name := range []string{"pictures", "with-heic", "with-link"} {
		drawPictures(t, name)
	}
	for i := range 40 {
		tiny.Write(t, fmt.Sprintf("with-heic/train/up/%d.heic", i), "x")
	}
	for link, to := range map[string]string{"with-link/test/up/a.png": "nowhere", "dead-link": "nowhere"} {
		if err := os.Symlink(to, link); err != nil {
			t.Skip("this system allows no links")
		}
	}
	tiny.Write(t, "my.yaml", "data: {folder: pictures, classes: [up, down], size: 8, channels: 1}\nmodel: {name: logistic}\nprivacy: {epsilon: 5, delta: 1.0e-3, clip_norm: 0.5, accountant: rdp}\ntraining: {batch_size: 30, steps: 4}\n")
	tiny.Write(t, "wrong-layer.yaml", "data: {folder: pictures, classes: [up, down], size: 8, channels: 1}\nmodel:\n  layers:\n    - flatten\n    - conv2d: {out_channels: 3, kernel_size: 3}\nprivacy: {epsilon: 3, delta: 1.0e-3}\ntraining: {steps: 1, batch_size: 10}\n")
	tiny.Write(t, "no-base.yaml", "name: x\nbase: ./none.yaml\ngrid: {privacy.clip_norm: [1]}\n")
	tiny.Write(t, "lines.jsonl", "nonsense\n"+`{"id":7,"phases":[{"sampling_probability":0.01,"noise_multiplier":1,"steps":10}],"delta":1e-5}`+"\n")
	for _, name := range []string{"flipped", "edited"} {
		succeed(t, "run", "my.yaml", "--runs-dir", ".", "--set", "run.name="+name)
	}
	model := []byte(tiny.Read(t, "flipped/model.safetensors"))
	model[len(model)-5] ^= 0x40
	tiny.Write(t, "flipped/model.safetensors", string(model))
	replace(t, "edited/config.yaml", "clip_norm: 0.5", "clip_norm: 0.2")
}

// testsOfTheModule are the names of all tests.
func testsOfTheModule(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		for _, found := range function.FindAllSubmatch(content, -1) {
			names[string(found[1])] = true
		}
		return err
	})
	tiny.Check(t, err)
	return names
}

// word matches a word of a command line, quoted or not.
var word = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)

// Every row of testdata/newcomers.md is so: the command ends with that code and says that, or the
// test is there.
func TestNewcomersList(t *testing.T) {
	page := tiny.Read(t, "testdata/newcomers.md")
	known := testsOfTheModule(t)
	t.Chdir(t.TempDir())
	newcomersPlace(t)
	t.Setenv("DPSGD_DATA", filepath.Join(t.TempDir(), "no-datasets"))
	rows := 0
	for _, line := range strings.Split(page, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if !strings.HasPrefix(line, "| ") || cells[0] == "What was met" {
			continue
		}
		rows++
		command, isCommand := strings.CutPrefix(cells[1], "`train ")
		if !isCommand {
			for _, name := range strings.Split(cells[1], ", ") {
				if name = strings.Trim(name, "| "); !known[name] {
					t.Errorf("%s: found no test %q", cells[0], name)
				}
			}
			continue
		}
		typed, in, _ := strings.Cut(strings.TrimSuffix(command, "`"), " < ")
		var input string
		if in != "" {
			input = tiny.Read(t, in)
		}
		var args []string
		for _, word := range word.FindAllString(typed, -1) {
			args = append(args, strings.Trim(word, `'"`))
		}
		if r := commandOn(t, input, args...); strconv.Itoa(r.code) != cells[2] || !strings.Contains(r.out+r.err, cells[3]) {
			t.Errorf("%s: %s ends with %d and says\n%s%sexpected %s and %q", cells[0], cells[1], r.code, r.out, r.err, cells[2], cells[3])
		}
	}
	if rows < 45 {
		t.Errorf("found %d rows", rows)
	}
}
