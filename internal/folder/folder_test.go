package folder_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/folder"
	"dpsgd/internal/tiny"
)

// What is copied from a message into a shell is one argument there.
func TestArgument(t *testing.T) {
	for path, want := range map[string]string{
		"runs/digits-1":    "runs/digits-1",
		"my runs/a":        "'my runs/a'",
		"Bücher/1":         "Bücher/1",
		"it's":             `'it'\''s'`,
		"a;b":              "'a;b'",
		"$HOME":            "'$HOME'",
		"-x":               "'./-x'",
		"":                 "''",
		`C:\runs\digits-1`: `C:\runs\digits-1`,
	} {
		if found := folder.Argument(path); found != want {
			t.Errorf("%q: found %s, expected %s", path, found, want)
		}
	}
}

// Of processes that make a folder at the same time none takes it for a link to nothing.
func TestCheckWhileAFolderIsMade(t *testing.T) {
	for range 2000 {
		dir := filepath.Join(t.TempDir(), "runs")
		made := make(chan error)
		go func() { made <- os.Mkdir(dir, folder.Perm) }()
		for checked := false; !checked; {
			tiny.Check(t, folder.Check(dir, "a folder of runs"))
			_, err := os.Stat(dir)
			checked = err == nil
		}
		tiny.Check(t, <-made)
	}
}

// A run has the name that it is given, if that is free, or the first number that is.
func TestNew(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "runs")
	for _, test := range []struct{ name, want string }{{"", "digits-1"}, {"", "digits-2"}, {"mine", "mine"}, {"digits-3", "digits-3"}, {"", "digits-4"}} {
		if dir, err := folder.New(parent, test.name, "digits"); err != nil || dir != filepath.Join(parent, test.want) {
			t.Errorf("found %q (%v), expected %s", dir, err, test.want)
		}
	}
	if _, err := folder.New(parent, "mine", "digits"); !errors.Is(err, folder.ErrRunExists) {
		t.Errorf("found %v for a name that is taken, expected ErrRunExists", err)
	}
	file := filepath.Join(parent, "file")
	tiny.Check(t, os.WriteFile(file, nil, folder.FilePerm))
	if _, err := folder.New(file, "", "digits"); !errors.Is(err, folder.ErrNoRun) {
		t.Errorf("found %v below a file, expected ErrNoRun", err)
	}
}

// Folders that hold runs or ledgers are made by package checkpoints, whose names survive a power
// loss. The files here make others: data, copies, pages, and folders for tests.
func TestNamesOfFoldersAreDurable(t *testing.T) {
	others := []string{"cmd/dist/main.go", "cmd/train/manual.go", "cmd/train/report.go", "data/fetch.go", "features/compute.go",
		"internal/disk/disk.go", "internal/exchange/peft.go", "internal/tiny/tiny.go", "internal/tiny/tinyrun/tinyrun.go"}
	root, makes, found := os.DirFS(filepath.Join("..", "..")), regexp.MustCompile(`os\.Mkdir(All)?\(`), []string(nil)
	tiny.Check(t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := fs.ReadFile(root, path)
		if makes.Match(content) && path[0] != '.' {
			found = append(found, path)
		}
		return err
	}))
	if !slices.Equal(found, others) {
		t.Errorf("found os.Mkdir in %q, expected it in %q: checkpoints.MakeDir and NewDir sync the name", found, others)
	}
}

const written = `data:
  name: digits
privacy:
  clip_norm: 0.1
model:
  layers:
    - flatten
    - linear:
        out_features:
          classes
optimizer:
  schedule:
    name: constant
steps 100
noise_multiplier 0.75
`

func TestNumberIsHiddenWhereItsSweepIsDamaged(t *testing.T) {
	for file, hidden := range map[string]bool{
		`{"draw": {"from": "trials poisson with mean 5; x"}}`: true, `{"draw": {"from": "trials 5; x"}}`: false, `{"trials": []}`: false, `{"dra`: true,
	} {
		dir := t.TempDir()
		tiny.Write(t, filepath.Join(dir, folder.Sweep), file)
		if folder.OfHiddenNumber(filepath.Join(dir, "trial")) != hidden || folder.OfHiddenNumber(dir) {
			t.Errorf("the number of trials of %s is hidden: found %t, expected it of its trial alone", file, !hidden)
		}
	}
}

// A trial of a sweep lies among the runs that its sweep lies among.
func TestAround(t *testing.T) {
	t.Chdir(t.TempDir())
	tiny.Check(t, os.MkdirAll("runs/grid", 0o700))
	tiny.Write(t, "runs/grid/"+folder.Sweep, "")
	for dir, want := range map[string]string{"runs/a": "runs", "runs/a/": "runs", "a": ".", ".": "..", "runs/grid/a": "runs"} {
		if found := folder.Around(dir); found != want {
			t.Errorf("around %s is %s, expected %s", dir, found, want)
		}
	}
}

// Keys are those of the configuration, with their sections; then the words, with what follows them.
func TestOf(t *testing.T) {
	var found []string
	for _, p := range folder.Keys(written) {
		if p.Value != "" {
			found = append(found, p.Key+" = "+p.Value)
		}
	}
	want := []string{"data.name = digits", "privacy.clip_norm = 0.1", "model.layers = flatten linear: out_features: classes", "optimizer.schedule.name = constant", "steps = 100", "noise_multiplier = 0.75"}
	if !slices.Equal(found, want) {
		t.Errorf("found\n%s\nexpected\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"))
	}
}

// A difference is told once, by its key where it has one: what follows from a key is not told
// beside it.
func TestDifferences(t *testing.T) {
	for _, tt := range []struct {
		old, new string
		want     []string
	}{
		{"", "", nil},
		{"clip_norm: 0.1", "clip_norm: 0.2", []string{"privacy.clip_norm 0.1, found 0.2"}},
		{"steps 100", "steps 90", []string{"steps 100, found 90"}},
		{"  name: digits", "  name: mnist", []string{"data.name digits, found mnist"}},
		{"clip_norm: 0.1", "accountant: rdp", []string{"privacy.clip_norm 0.1, found none", "privacy.accountant none, found rdp"}},
	} {
		now := strings.Replace(written, tt.old, tt.new, 1)
		if strings.HasPrefix(tt.old, "clip") {
			now = strings.Replace(now, "steps 100", "steps 99", 1) // follows from the key
		}
		if found := folder.Differences(written, now); !slices.Equal(found, tt.want) {
			t.Errorf("%s → %s: found %q, expected %q", tt.old, tt.new, found, tt.want)
		}
	}
}
