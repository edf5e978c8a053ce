package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/internal/tiny"
)

// A configuration is written for what the flags say, can be described and trained, and overwrites
// nothing. Without a terminal nobody is asked.
func TestInit(t *testing.T) {
	t.Chdir(t.TempDir())
	drawPictures(t, "my pictures")
	out := succeed(t, "init", "--data", "my pictures", "--epsilon", "2")
	if out != "my.yaml is written, from the preset own-pictures\nsee what it would do: train describe my.yaml\ntrain:                train run my.yaml\n" {
		t.Errorf("init says\n%s", out)
	}
	if described := succeed(t, "describe", "my.yaml", "--set", "data.size=16", "--set", "training.physical_batch_size=8"); !strings.Contains(described, "120 training examples") {
		t.Errorf("describe says\n%s", described)
	}
	before, err := os.ReadFile("my.yaml")
	if err != nil || !strings.Contains(string(before), `classes: ["down", "up"]`) {
		t.Errorf("the file is (%v)\n%s", err, before)
	}
	tiny.Check(t, os.Symlink("nowhere", "link.yaml"))
	for _, wrong := range [][]string{
		{"init", "--data", "digits", "--epsilon", "2"}, {"init", "link.yaml", "--data", "digits", "--epsilon", "2"},
		{"init", "new.yaml"}, {"init", "new.yaml", "--data", "digits"}, {"init", "new.yaml", "--data", "no-such", "--epsilon", "1"}, {"init", "new.yaml", "--data", "digits", "--epsilon", "0"},
	} {
		refused(t, 2, "", wrong...)
	}
	if after, _ := os.ReadFile("my.yaml"); string(after) != string(before) {
		t.Error("the file was overwritten")
	}
	if found, _ := filepath.Glob("*.yaml"); len(found) != 2 {
		t.Errorf("found %q, expected my.yaml and the link", found)
	}
	if object := lastLine(t, succeed(t, "init", "other.yaml", "--data", "digits", "--epsilon", "1", "--json")); object["file"] != "other.yaml" || object["preset"] != "digits" {
		t.Errorf("found %v", object)
	}
}

// Examples are those of all commands; man pages go into a folder that is made.
func TestExamplesAndManual(t *testing.T) {
	t.Chdir(t.TempDir())
	out := succeed(t, "examples")
	says(t, out, "Train a model", "  train run mnist-cnn", "  train epsilon runs/digits-1\n", "  train ledger verify")
	succeed(t, "man", "pages/man1")
	page, err := os.ReadFile("pages/man1/train-ledger-show.1")
	if err != nil || !strings.HasPrefix(string(page), `.TH "TRAIN-LEDGER-SHOW" 1 `) {
		t.Errorf("found %s (%v)", page, err)
	}
}
