package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dpsgd/internal/tiny"
)

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

// Every row of testdata/newcomers.md is so: the command ends with that code and says that, or the test is
// there.
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
