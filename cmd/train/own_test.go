package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/tiny"
)

// A configuration is written for what the flags say, can be described and trained, and overwrites
// nothing. Without a terminal nobody is asked.
func TestInit(t *testing.T) {
	t.Chdir(t.TempDir())
	drawPictures(t, "my pictures")
	out := succeed(t, "init", "--data", "my pictures", "--epsilon", "2")
	same(t, "init", out, "my.yaml is written, from the preset own-pictures\nsee what it would do: train describe my.yaml\ntrain:                train run my.yaml\n")
	says(t, succeed(t, "describe", "my.yaml", "--set", "data.size=16", "--set", "training.physical_batch_size=8"), "120 training examples")
	before := tiny.Read(t, "my.yaml")
	says(t, before, `classes: ["down", "up"]`)
	tiny.Check(t, os.Symlink("nowhere", "link.yaml"))
	for _, wrong := range [][]string{
		{"init", "--data", "digits", "--epsilon", "2"}, {"init", "link.yaml", "--data", "digits", "--epsilon", "2"},
		{"init", "new.yaml"}, {"init", "new.yaml", "--data", "digits"}, {"init", "new.yaml", "--data", "no-such", "--epsilon", "1"}, {"init", "new.yaml", "--data", "digits", "--epsilon", "0"},
	} {
		refused(t, 2, "", wrong...)
	}
	same(t, "a file that was there", tiny.Read(t, "my.yaml"), before)
	if found, _ := filepath.Glob("*.yaml"); len(found) != 2 {
		t.Errorf("found %q, expected my.yaml and the link", found)
	}
	has(t, lastLine(t, succeed(t, "init", "other.yaml", "--data", "digits", "--epsilon", "1", "--json")), "file", "other.yaml", "preset", "digits")
}

// Examples are those of all commands; man pages go into a folder that is made.
func TestExamplesAndManual(t *testing.T) {
	t.Chdir(t.TempDir())
	says(t, succeed(t, "examples"), "Train a model", "  train run mnist-cnn", "  train epsilon runs/digits-1\n", "  train ledger verify")
	succeed(t, "man", "pages/man1")
	matches(t, tiny.Read(t, "pages/man1/train-ledger-show.1"), `^\.TH "TRAIN-LEDGER-SHOW" 1 `)
}

// The data of a configuration and of a run is read whole, also where a run would decode it when it
// is needed, and the first example that cannot be read is named.
func TestDataCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	tiny.Files(t, "stripes", tiny.Source(t, 30), false)
	tiny.Write(t, "own.yaml", strings.Replace(tiny.Config, "{name: digits}", "{folder: stripes, classes: [top, middle, bottom], size: 6, channels: 1}", 1))
	small := []string{"--set", "performance.data_memory=1KB"}
	if r := command(append([]string{"run", "own.yaml", "--set", "training.batch_size=10", "--set", "privacy.delta=1e-3"}, small...)...); r.code != 0 {
		t.Fatal(r.err)
	}
	check := func(code int, says string, args ...string) {
		t.Helper()
		if r := command(append([]string{"data", "check"}, args...)...); r.code != code || !strings.Contains(r.out+r.err, says) {
			t.Errorf("train data check %q: exit code %d with %q and %q, expected %d and %q", args, r.code, r.out, r.err, code, says)
		}
	}
	check(0, "all 30 training and 90 test examples of stripes can be read", append([]string{"own.yaml"}, small...)...)
	check(0, "all 30 training", "runs/own-1")
	check(2, "found the folder stripes, expected a preset or a file; `train init --data FOLDER`", "stripes")
	broken := filepath.Join("stripes", "test", "top", "broken.png")
	tiny.Write(t, broken, "no picture")
	check(3, broken, append([]string{"own.yaml"}, small...)...)
	check(3, broken, "own.yaml")
	check(3, broken, "runs/own-1")
	check(2, "expected it with a configuration", append([]string{"runs/own-1"}, small...)...)
	tiny.Check(t, os.Remove(broken))
	check(0, `"status":"readable"`, "own.yaml", "--json")
}

// A person's own table, from the preset to the measured model, in the words of tables.
func TestOwnTable(t *testing.T) {
	t.Chdir(t.TempDir())
	tiny.Check(t, os.Mkdir("my-table", 0o700))
	for part, n := range map[string]int{"train": 200, "test": 40} {
		var b strings.Builder
		b.WriteString("age,pay,sick\n")
		for i := range n {
			if i%2 == 0 {
				fmt.Fprintf(&b, "%d,%d,no\n", 20+i%10, 40000+i)
			} else {
				fmt.Fprintf(&b, "%d,%d,yes\n", 50+i%10, 20000+i)
			}
		}
		tiny.Write(t, filepath.Join("my-table", part+".csv"), b.String())
	}
	set := []string{"own-table", "--set", "privacy.delta=1e-3", "--set", "training.batch_size=40", "--set", "training.steps=30", "--set", "privacy.epsilon=8", "--set", "privacy.accountant=rdp"}
	described := succeed(t, append([]string{"describe"}, set...)...)
	says(t, described, "data      my-table: 200 training examples of 2 columns, 2 classes\n", "0      flatten  2   ", "rows 1 MiB, ")
	if input := lastLine(t, succeed(t, append([]string{"describe", "--json"}, set...)...))["input"]; fmt.Sprint(input) != "[2]" {
		t.Errorf("the input is %v, expected [2]", input)
	}
	succeed(t, append([]string{"run"}, set...)...)
	says(t, succeed(t, "eval", "runs/own-table-1"), "% of 40 rows\n")
	predicted := succeed(t, "predict", "runs/own-table-1", "my-table/test.csv", "my-table/test.csv", "--csv", "--top", "1")
	matches(t, predicted, `^file,row,class,probability\nmy-table/test\.csv,1,no,(?s:.*)\nmy-table/test\.csv,40,yes,`)
	same(t, "lines for the rows of both files", strings.Count(predicted, "\n"), 81)
	says(t, succeed(t, "ledger", "show"), "my-table  200 examples of 2 columns, 2 classes\n")
	tiny.Write(t, filepath.Join("my-table", "test.csv"), "age,pay,sick\n40,x,no\n")
	want := "data: invalid: " + filepath.Join("my-table", "test.csv") + `:2:4: column "pay": found text that is not a number, expected a finite decimal number such as 1234.5` + "\n"
	refused(t, shell.ExitData, want, append([]string{"run"}, set...)...)
}

// numpy is a file of NumPy's, of little-endian numbers.
func numpy(t *testing.T, descr, shape string, numbers any) string {
	t.Helper()
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape)
	b, err := binary.Append(nil, binary.LittleEndian, numbers)
	tiny.Check(t, err)
	return "\x93NUMPY\x01\x00" + string(rune(len(header))) + "\x00" + header + string(b)
}

// A person's own vectors, from the preset to the measured model and its statement.
func TestOwnVectors(t *testing.T) {
	t.Chdir(t.TempDir())
	tiny.Check(t, os.Mkdir("my-vectors", 0o700))
	for part, n := range map[string]int{"train": 400, "test": 40} {
		vectors, labels := make([]float32, 8*n), make([]uint8, n)
		for i := range n {
			labels[i] = uint8(i % 2)
			vectors[8*i], vectors[8*i+1+i%2] = 1, float32(2+i%5)
		}
		tiny.Write(t, filepath.Join("my-vectors", part+".npy"), numpy(t, "<f4", fmt.Sprintf("(%d, 8)", n), vectors))
		tiny.Write(t, filepath.Join("my-vectors", part+"-labels.npy"), numpy(t, "|u1", fmt.Sprintf("(%d,)", n), labels))
	}
	set := []string{"own-vectors", "--set", "data.width=8", "--set", "privacy.delta=1e-3", "--set", "training.steps=30", "--set", "privacy.epsilon=8", "--set", "privacy.accountant=rdp"}
	described := succeed(t, append([]string{"describe"}, set...)...)
	says(t, described, "data      my-vectors: 400 training examples of 8 columns, 2 classes\n", "rows 1 MiB, ")
	succeed(t, append([]string{"run"}, set...)...)
	says(t, succeed(t, "eval", "runs/own-vectors-1"), "100.00 % of 40 rows\n")
	statement := tiny.Read(t, "runs/own-vectors-1/privacy.md")
	says(t, statement, "my-vectors, 400 examples of 8 columns in 2 classes", "the names of the classes, the width of the vectors,", "- what computed the vectors")
	want := "data: invalid: " + filepath.Join("my-vectors", "train.npy") + " has vectors of width 8, expected the declared 9\n"
	refused(t, shell.ExitData, want, append([]string{"run"}, slices.Replace(slices.Clone(set), 2, 3, "data.width=9")...)...)
	says(t, succeed(t, "bench", "--config", "own-vectors", "--seconds", "0.05"), "network layers\n")
}
