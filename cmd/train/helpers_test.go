package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"dpsgd/checkpoints"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/tiny"

	"github.com/spf13/cobra"
)

// mainVariable turns the test binary into the program, so that tests can kill it.
const mainVariable = "DPSGD_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		main()
	}
	debug.SetGCPercent(-1) // the tests share cores with others, and take less memory than this
	debug.SetMemoryLimit(1 << 30)
	os.Exit(besidePictures(m))
}

// besidePictures runs the tests beside a folder of pictures that they only read.
func besidePictures(m *testing.M) int {
	dir, err := os.MkdirTemp("", "train")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	sharedPictures = dir
	return m.Run()
}

var (
	sharedPictures          string // a folder for those of [pictures] and [pictureFiles]
	shardsDrawn, filesDrawn sync.Once
)

// execute runs one command line and returns its exit code.
func execute(args []string, out, err io.Writer) int {
	return (&shell.App{Out: out, Err: err}).Execute(root, args)
}

// executeOn runs one command line on a standard input, until a context ends.
func executeOn(ctx context.Context, in io.Reader, out, errs io.Writer, args ...string) int {
	return (&shell.App{Out: out, Err: errs}).ExecuteContext(ctx, func(a *shell.App) *cobra.Command {
		c := root(a)
		c.SetIn(in)
		return c
	}, args)
}

// program is the command as a process of its own, with standard output and error together in the
// returned buffer.
func program(t testing.TB, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	tiny.Check(t, err)
	c := exec.Command(self, args...)
	c.Env = append(os.Environ(), mainVariable+"=1", "GOGC=400")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	return c, &out
}

// commandOutcome is the exit code of a command line and what it printed.
type commandOutcome struct {
	code     int
	out, err string
}

// command runs a command line inside the test.
func command(args ...string) commandOutcome {
	var out, err bytes.Buffer
	code := execute(args, &out, &err)
	return commandOutcome{code, out.String(), err.String()}
}

// commandOn runs a command line with a standard input.
func commandOn(t testing.TB, in string, args ...string) commandOutcome {
	t.Helper()
	var out, errs bytes.Buffer
	code := executeOn(t.Context(), strings.NewReader(in), &out, &errs, args...)
	return commandOutcome{code, out.String(), errs.String()}
}

// succeed runs a command line that must end well and returns its standard output.
func succeed(t testing.TB, args ...string) string {
	t.Helper()
	r := command(args...)
	if r.code != 0 {
		t.Fatalf("train %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
	}
	return r.out
}

// refused runs a command line that must end with a code and one line of error that says something.
func refused(t testing.TB, code int, want string, args ...string) {
	t.Helper()
	if r := command(args...); r.code != code || !strings.Contains(r.err, want) || !strings.HasPrefix(r.err, "train: ") || strings.Count(r.err, "\n") != 1 || r.out != "" && !slices.Contains(args, "--json") {
		t.Errorf("train %s: found exit code %d and %q, expected %d and one line with %q", strings.Join(args, " "), r.code, r.err+r.out, code, want)
	}
}

// says checks that an output says something.
func says(t testing.TB, out string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(out, want) {
			t.Errorf("found no %q in\n%s", want, out)
		}
	}
}

// matches checks that an output says what patterns describe.
func matches(t testing.TB, out string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(p).MatchString(filepath.ToSlash(out)) {
			t.Errorf("found no match of %s in\n%s", p, out)
		}
	}
}

// same fails the test if found is not want; of names the thing in the message.
func same[T comparable](t testing.TB, of string, found, want T) {
	t.Helper()
	if found != want {
		t.Errorf("%s: found\n%v\nexpected\n%v", of, found, want)
	}
}

// has checks a JSON object, of which keys and values are given in turn.
func has(t testing.TB, object map[string]any, expected ...any) {
	t.Helper()
	for i := 0; i < len(expected); i += 2 {
		key := expected[i].(string)
		same(t, fmt.Sprintf("%s of %v", key, object), object[key], expected[i+1])
	}
}

// fits checks that a terminal of 80 columns shows an output whole.
func fits(t testing.TB, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > shell.Width {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
}

// lastLine parses the last line of an output as a JSON object.
func lastLine(t testing.TB, out string) map[string]any {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	var object map[string]any
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &object); err != nil {
		t.Fatalf("the last line is no JSON object: %v\n%s", err, out)
	}
	return object
}

// pictures is a folder of 2 classes, up and down, with 60 training and 10 test pictures each, in
// shards. Tests only read it; one that changes a picture draws its own.
func pictures(t testing.TB) string {
	t.Helper()
	folder := filepath.Join(sharedPictures, "pictures")
	shardsDrawn.Do(func() {
		files := pictureFiles(t)
		for _, part := range []string{"train", "test"} {
			var shard bytes.Buffer
			w := tar.NewWriter(&shard)
			for _, class := range []string{"up", "down"} {
				found, err := filepath.Glob(filepath.Join(files, part, class, "*"))
				tiny.Check(t, err)
				for i, path := range found {
					tiny.Member(t, w, fmt.Sprintf("%s-%03d.png", class, i), []byte(tiny.Read(t, path)))
					tiny.Member(t, w, fmt.Sprintf("%s-%03d.cls", class, i), []byte(class))
				}
			}
			tiny.Check(t, cmp.Or(w.Close(), os.MkdirAll(folder, 0o700)))
			tiny.Write(t, filepath.Join(folder, part+".tar"), shard.String())
		}
	})
	return folder
}

// pictureFiles is the same in a file for each picture.
func pictureFiles(t testing.TB) string {
	t.Helper()
	folder := filepath.Join(sharedPictures, "files")
	filesDrawn.Do(func() { drawPictures(t, folder) })
	return folder
}

// drawPictures makes a folder of such files.
func drawPictures(t testing.TB, folder string) {
	t.Helper()
	for part, n := range map[string]int{"train": 60, "test": 10} {
		for label, class := range []string{"up", "down"} {
			dir := filepath.Join(folder, part, class)
			tiny.Check(t, os.MkdirAll(dir, 0o700))
			for i := range n {
				writePNG(t, filepath.Join(dir, fmt.Sprintf("%03d.png", i)), label, i)
			}
		}
	}
}

// writePNG draws 8x8 pixels whose upper or lower half is bright.
func writePNG(t testing.TB, path string, label, i int) {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, 8, 8))
	for y := range 8 {
		for x := range 8 {
			v := uint8((x*37 + y*11 + i*53) % 100)
			if (y < 4) == (label == 0) {
				v += 130
			}
			m.SetGray(x, y, color.Gray{Y: v})
		}
	}
	tiny.Write(t, path, string(tiny.Encode(t, m)))
}

// own goes to a new folder and returns a configuration for [pictures] of so many steps.
func own(t testing.TB, steps int) string {
	t.Helper()
	t.Chdir(t.TempDir())
	return ownConfig(t, pictures(t), steps)
}

// ownConfig writes a configuration for a folder of pictures.
func ownConfig(t testing.TB, folder string, steps int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "own.yaml")
	tiny.Write(t, path, fmt.Sprintf(`
data: {folder: %q, classes: [up, down], size: 8, channels: 1}
model: {name: logistic}
privacy: {epsilon: 5, delta: 1e-3, clip_norm: 0.5, accountant: rdp}
optimizer: {name: sgd, learning_rate: 0.5}
training: {batch_size: 30, physical_batch_size: 16, steps: %d}
run: {checkpoint_every: 20}
`, folder, steps))
	return path
}

// entries counts the releases of a run that may be going on; 0 while there is no ledger.
func entries(run string) int {
	l, _, err := checkpoints.ReadJournal(filepath.Join(run, "ledger.jsonl"))
	if err != nil {
		return 0
	}
	return l.Count()
}

// waitFor polls until something holds: to the limit of go test, where it never does.
func waitFor(t testing.TB, holds func() bool) {
	t.Helper()
	for !holds() {
		time.Sleep(5 * time.Millisecond)
	}
}
