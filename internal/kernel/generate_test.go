package kernel

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dpsgd/internal/slow"
)

// TestGeneratedFilesAreCurrent runs the generators as go generate does, but into
// another folder, and wants the files that are committed.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	slow.Evidence(t)
	inGenerator(t, t.Skipf, "go", "list", "-deps", ".") // fails when a module is missing
	dir := t.TempDir()
	generators := map[string]string{".": filepath.Join(dir, "amd64"), "./neon": filepath.Join(dir, "arm64")}
	for folder, generator := range generators {
		inGenerator(t, t.Fatalf, "go", "build", "-o", generator, folder)
	}
	directives := append(generateDirectives(t, "dispatch_amd64.go"), generateDirectives(t, "dispatch.go")...)
	for _, words := range directives {
		for i, word := range words {
			words[i] = strings.Replace(word, "../", dir+"/", 1)
		}
		inGenerator(t, t.Fatalf, generators[words[0]], words[1:]...)
	}
	written, _ := filepath.Glob(filepath.Join(dir, "*_a*64.*"))
	if len(written) != 2*len(directives) {
		t.Fatalf("%d files from %d directives, want two each", len(written), len(directives))
	}
	for _, path := range written {
		name := filepath.Base(path)
		got, want := withoutCommand(t, path), withoutCommand(t, name)
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes: run go generate", name)
		}
	}
	assemblies, _ := filepath.Glob("*.s")
	if len(assemblies) != len(directives) {
		t.Errorf("%d assembly files, %d of them generated", len(assemblies), len(directives))
	}
}

// TestWordsAreGNUs assembles the text beside every word of the arm64 assembly with GNU's assembler
// and wants the same word.
func TestWordsAreGNUs(t *testing.T) {
	assembler, err := exec.LookPath("aarch64-linux-gnu-as")
	if err != nil {
		t.Skip("found no aarch64-linux-gnu-as (Debian package binutils-aarch64-linux-gnu)")
	}
	seen, texts, words := map[string]bool{}, "", []byte(nil)
	files, _ := filepath.Glob("*_arm64.s")
	for _, path := range files {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(source)) {
			word, text, ok := strings.Cut(strings.TrimPrefix(line, "\tWORD $0x"), " // ")
			if !ok || len(word) != 8 || seen[line] {
				continue
			}
			seen[line] = true
			value, err := strconv.ParseUint(word, 16, 32)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			texts, words = texts+text, binary.LittleEndian.AppendUint32(words, uint32(value))
		}
	}
	if len(words) == 0 {
		t.Fatal("found no words")
	}
	listing := exec.Command(assembler, "-o", filepath.Join(t.TempDir(), "words.o"), "-aln", "--listing-lhs-width=1")
	listing.Stdin = strings.NewReader(texts)
	out, err := listing.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := regexp.MustCompile(`(?m)^ *\d+ [0-9a-f]{4} ([0-9A-F]{8}) +(.*)$`).FindAllStringSubmatch(string(out), -1)
	if len(found) != len(words)/4 {
		t.Fatalf("found %d instructions in the listing, want %d", len(found), len(words)/4)
	}
	for i, instruction := range found {
		if got := fmt.Sprintf("%X", words[4*i:4*i+4]); got != instruction[1] {
			t.Errorf("%s: the bytes are %s, expected %s", instruction[2], got, instruction[1])
		}
	}
}

// inGenerator runs a command in the generator's folder and reports its failure.
func inGenerator(t *testing.T, report func(format string, args ...any), name string, arguments ...string) {
	t.Helper()
	command := exec.Command(name, arguments...)
	command.Dir = "gen"
	command.Env = append(os.Environ(), "GOARCH=", "GOOS=", "GOFLAGS=-buildvcs=false")
	if out, err := command.CombinedOutput(); err != nil {
		report("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, out)
	}
}

// generateDirectives returns the folder and the arguments of the generator in each go:generate line
// of a file.
func generateDirectives(t *testing.T, path string) [][]string {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for line := range strings.Lines(string(source)) {
		if arguments, ok := strings.CutPrefix(line, "//go:generate go -C gen run "); ok {
			all = append(all, strings.Fields(arguments))
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s has no go:generate lines", path)
	}
	return all
}

// withoutCommand reads a generated file but for its first line, which tells how
// the generator was called.
func withoutCommand(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		t.Fatalf("%s is a single line", path)
	}
	return rest
}
