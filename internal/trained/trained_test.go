package trained_test

import (
	"errors"
	"path/filepath"
	"regexp"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/internal/folder"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/trained"
)

// What a model says of its guarantee wherever it goes is what its ledger says: a statement with a
// smaller ε, or about another δ or fewer releases, is refused.
func TestStatementIsHeldAgainstTheLedger(t *testing.T) {
	dir, _ := tinyrun.OnPictures(t, tinyrun.PictureFolder(t))
	path := filepath.Join(dir, folder.StatementData)
	whole := tiny.Read(t, path)
	for name, edit := range map[string][2]string{
		"ε":        {`"epsilon": [0-9.]+`, `"epsilon": 0.1`},
		"δ":        {`"delta": [0-9.e-]+`, `"delta": 1e-9`},
		"releases": {`"ledger_entries": 20`, `"ledger_entries": 10`},
		"more":     {`"ledger_entries": 20`, `"ledger_entries": 40`},
	} {
		edited := regexp.MustCompile(edit[0]).ReplaceAllString(whole, edit[1])
		if edited == whole {
			t.Fatalf("%s: found nothing to edit in %s", name, whole)
		}
		tiny.Write(t, path, edited)
		if _, err := trained.Open(dir); !errors.Is(err, checkpoints.ErrCorrupt) && !errors.Is(err, checkpoints.ErrRollback) {
			t.Errorf("%s: found %v, expected an error that matches %v", name, err, checkpoints.ErrCorrupt)
		}
	}
	tiny.Write(t, path, whole)
	if _, err := trained.Open(dir); err != nil {
		t.Fatal(err)
	}
}
