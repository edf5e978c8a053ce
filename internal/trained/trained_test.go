package trained_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/internal/folder"
	"dpsgd/internal/statement"
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
	s := tiny.Must(statement.Read(dir))(t)
	part := func(share float64) [2]string {
		return [2]string{`"epsilon": [0-9.]+`, fmt.Sprintf(`"epsilon": %v`, share*s.Epsilon)}
	}
	for name, edit := range map[string][2]string{
		"ε":                      {`"epsilon": [0-9.]+`, `"epsilon": 0.1`},
		"half":                   part(0.5),
		"two of a thousand less": part(0.998),
		"δ":                      {`"delta": [0-9.e-]+`, `"delta": 1e-9`},
		"releases":               {`"ledger_entries": 20`, `"ledger_entries": 10`},
		"more":                   {`"ledger_entries": 20`, `"ledger_entries": 40`},
	} {
		edited := regexp.MustCompile(edit[0]).ReplaceAllString(whole, edit[1])
		if edited == whole {
			t.Fatalf("%s: found nothing to edit in %s", name, whole)
		}
		tiny.Write(t, path, tiny.Unsummed(edited))
		if _, err := trained.Open(dir); !errors.Is(err, checkpoints.ErrCorrupt) && !errors.Is(err, checkpoints.ErrRollback) {
			t.Errorf("%s: found %v, expected an error that matches %v", name, err, checkpoints.ErrCorrupt)
		}
	}
	// Versions of an accountant differ by less than a thousandth.
	for _, same := range []string{whole, tiny.Unsummed(whole), tiny.Unsummed(regexp.MustCompile(part(1)[0]).ReplaceAllString(whole, part(0.9995)[1]))} {
		tiny.Write(t, path, same)
		if _, err := trained.Open(dir); err != nil {
			t.Fatal(err)
		}
	}
}
