package train

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/internal/folder"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

// Files that are deleted, moved or cut under a run end it before it releases anything more: with an
// error that says what was released, and without a folder that looks like that of a run which has
// ended.
func TestFilesMovedUnderARun(t *testing.T) {
	ledger := func(dir string) string { return filepath.Join(dir, folder.Ledger) }
	registry := func(dir string) string { return filepath.Join(dir, "..", folder.Datasets) }
	tests := map[string]struct {
		move func(dir string) error
		left string // who knows what was released
	}{
		"run deleted":       {os.RemoveAll, "the ledger of the data knows that"},
		"run renamed":       {func(dir string) error { return os.Rename(dir, dir+"-2") }, "the ledger of the data knows that"},
		"ledger deleted":    {func(dir string) error { return os.Remove(ledger(dir)) }, "the ledger of the data knows that"},
		"ledger cut":        {func(dir string) error { return os.Truncate(ledger(dir), 400) }, "the ledger of the data knows that"},
		"registry deleted":  {func(dir string) error { return os.Remove(registry(dir)) }, "the run's own ledger knows that"},
		"registry cut":      {func(dir string) error { return os.Truncate(registry(dir), 400) }, "the run's own ledger knows that"},
		"all runs deleted":  {func(dir string) error { return os.RemoveAll(filepath.Dir(dir)) }, "no file knows that any more, so write it down"},
		"all runs replaced": {replaceRuns, "no file knows that any more, so write it down"},
	}
	for i, name := range slices.Sorted(maps.Keys(tests)) {
		test, steps := tests[name], []int{3, 5, 12} // 5 has a checkpoint, 12 is the last one
		if !slow.Asked() {
			steps = steps[i%3:][:1]
		}
		for _, at := range steps {
			o := options(t)
			var r *Run
			var moved error
			o.Stepped = func(p Progress) {
				if p.Step == at {
					for range 1000 { // a checkpoint may be on its way into the folder
						if moved = test.move(r.Dir); moved == nil {
							break
						}
					}
				}
			}
			r = create(t, tiny.Parse(t), o)
			_, err := r.Fit(t.Context())
			if moved != nil {
				t.Skip("not with open files here:", moved)
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			if !errors.Is(err, checkpoints.ErrMoved) || strings.Contains(text, "\n") || !strings.Contains(text, "with ε = ") || !strings.Contains(text, test.left) {
				t.Errorf("%s after step %d: found the error %q, expected one line with what was released, and that %s", name, at, text, test.left)
			}
			if n := r.Books.Len(); n < at || n > at {
				t.Errorf("%s after step %d: %d releases", name, at, n)
			}
			if found := folder.HoldsAny(r.Dir, folder.Statement, folder.Model, folder.StatementData); found {
				t.Errorf("%s after step %d: the folder looks like that of a run that has ended", name, at)
			}
			if _, err := os.Lstat(r.Dir); strings.HasPrefix(name, "run ") && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s after step %d: the folder is there again (%v)", name, at, err)
			}
		}
	}
}

// replaceRuns puts a copy of all files in the place of a folder of runs.
func replaceRuns(dir string) error {
	runs := filepath.Dir(dir)
	return errors.Join(os.Rename(runs, runs+"-old"), os.CopyFS(runs, os.DirFS(runs+"-old")))
}
