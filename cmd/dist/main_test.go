package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/internal/tiny"
)

func TestParsePlatforms(t *testing.T) {
	if all, err := parsePlatforms(""); err != nil || len(all) != 5 {
		t.Errorf("found %v, %v", all, err)
	}
	if some, err := parsePlatforms("linux/amd64,darwin/arm64"); err != nil || len(some) != 2 || some[1].OS != "darwin" {
		t.Errorf("found %v, %v", some, err)
	}
	for _, wrong := range []string{"linux/amd64,linux", "plan9/amd64"} {
		if _, err := parsePlatforms(wrong); err == nil || !strings.Contains(err.Error(), "darwin/arm64") {
			t.Errorf("%s: found %v, expected an error that lists the platforms", wrong, err)
		}
	}
}

// What is built into the program of every platform has a licence that is passed on.
func TestLicences(t *testing.T) {
	for _, p := range platforms {
		text := tiny.Must(checkout{dir: filepath.Join("..", "..")}.licences(p))(t)
		for _, name := range []string{"Go", "gorgonia.org/tensor v", "gonum.org/v1/gonum v", "github.com/spf13/cobra v"} {
			if !bytes.Contains(text, []byte("==== "+name)) {
				t.Errorf("%s: found no licence of %s", p, name)
			}
		}
		if found := bytes.Contains(text, []byte("==== github.com/ebitengine/purego v")); found != p.MPI() {
			t.Errorf("%s: found the licence of what opens libraries: %v, expected %v", p, found, p.MPI())
		}
		if bytes.Contains(text, []byte("==== dpsgd")) {
			t.Errorf("%s: found the program's own licence", p)
		}
	}
}

func TestModuleWithoutLicence(t *testing.T) {
	err := addLicences(new(bytes.Buffer), "example.org/m v1.0.0", t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "found no licence of example.org/m v1.0.0") {
		t.Errorf("found %v", err)
	}
}

func TestTextIsUTF8(t *testing.T) {
	for text, want := range map[string]string{"é": "é", "\xe9": "é", "": ""} {
		if got := string(utf8Text([]byte(text))); got != want {
			t.Errorf("%q: found %q, expected %q", text, got, want)
		}
	}
}

// What is published is written where it is looked for, with hashes of the packages alone.
func TestFolder(t *testing.T) {
	v := tiny.Must(parseVersion("v0.2.0", version{}.Time))(t)
	f := folder{filepath.Join(t.TempDir(), "dist"), map[string]string{}}
	c := Contents{Platform: platforms[0], Version: v, Program: []byte("a program")}
	tiny.Check(t, f.packages(c))
	tiny.Check(t, f.write("Formula/dpsgd.rb", nil))
	for name, hash := range f.hashes {
		content, err := os.ReadFile(filepath.Join(f.path, name))
		if err != nil || shA256(content) != hash {
			t.Errorf("%s: found another hash, %v", name, err)
		}
	}
	if len(f.hashes) != 3 {
		t.Errorf("found hashes of %d packages, expected an archive, a wheel and a Debian package", len(f.hashes))
	}
}
