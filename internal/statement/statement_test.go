package statement_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/internal/account"
	"dpsgd/internal/folder"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
)

// The table of beliefs follows from ε and δ, is rounded away from what would flatter, and never
// says that a bound below 1 is certainty.
func TestBeliefs(t *testing.T) {
	for _, tt := range []struct {
		epsilon, delta float64
		want           []string
	}{
		// The odds of 1/2, 0.01 and 1e-5 times and through e·10/9 = 3.0203…
		{1, 1e-5, []string{"to δ less than 1e-8, for", "probability of at most 0.0001 (10·δ)", "| 50 % | 24.87 % | 75.13 % |", "| 1 % | 0.3333 % | 2.961 % |", "| 0.001 % | 0.0003310 % | 0.003021 % |"}},
		// certain to six digits: 1/(1 + e^-12·9/10) = 0.99999447…
		{12, 1e-6, []string{"| 50 % | 0.0005529 % | 99.99945 % |"}},
		{800, 1e-6, []string{"| 50 % | 0 % | 100 % |"}},
		{0, 1e-6, []string{"| 10 % | 9.090 % | 10.99 % |", `| Training data | a\|b, 0`}}, // a row has two cells, whatever the name
	} {
		text := tiny.Must(statement.Statement{Data: "a|b", AddedDelta: 3e-9, Answer: account.Answer{Epsilon: tt.epsilon, Delta: tt.delta}}.Markdown())(t)
		for _, want := range tt.want {
			if !strings.Contains(string(text), want) {
				_, table, _ := strings.Cut(string(text), "## What somebody")
				t.Errorf("ε = %g: found no %q in%s", tt.epsilon, want, fmt.Sprint(table))
			}
		}
	}
}

// The relation has one name, also in statements that earlier versions wrote, and the statement says
// what holds where a record is replaced: 2ε, and δ·(1+e^ε) rounded up (1e-5·21.0855 at ε = 3).
func TestOneNameOfTheRelation(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		epsilon, delta float64
		want           string
	}{{3, 1e-5, "(6.000, 0.00022)"}, {1, 0, "(2.000, 0)"}, {0.5, 1e-5, "(1.000, 2.7e-05)"}, {12, 1e-5, "nothing"}} {
		old := statement.Statement{Relation: "add-or-remove-one", Answer: account.Answer{Epsilon: test.epsilon, Delta: test.delta}}
		tiny.Check(t, old.Write(dir))
		s, err := statement.Read(dir)
		if err != nil || s.Relation != "zero-out" || s.Replaced() != test.want {
			t.Errorf("found the relation %q and %q (%v), expected zero-out and %q", s.Relation, s.Replaced(), err, test.want)
		}
		text, err := s.Markdown()
		if err != nil || strings.Contains(string(text), "add-or-remove") || strings.Count(string(text), "zero-out") != 1 || !strings.Contains(string(text), test.want+" holds") {
			t.Errorf("found %v\n%s", err, text)
		}
	}
	if s := (statement.Statement{Relation: "replace the label of one"}); s.Replaced() != "" {
		t.Errorf("found %q for another relation, expected nothing", s.Replaced())
	}
}

// Both files of a statement are written, or none: where words cannot be, the data stays as it was.
func TestNoHalfOfAStatement(t *testing.T) {
	dir := t.TempDir()
	tiny.Check(t, (statement.Statement{}).Write(dir))
	words := filepath.Join(dir, folder.Statement)
	tiny.Check(t, errors.Join(os.Remove(words), os.Mkdir(words, 0o700)))
	before, _ := os.ReadFile(filepath.Join(dir, folder.StatementData))
	err := statement.Statement{Answer: account.Answer{Epsilon: 7}}.Write(dir)
	after, _ := os.ReadFile(filepath.Join(dir, folder.StatementData))
	if !errors.Is(err, checkpoints.ErrNotRegular) || !bytes.Equal(before, after) || len(before) == 0 {
		t.Errorf("found %v and %s, expected %s", err, after, before)
	}
}

// A total that holds whatever was chosen may not be known where releases have a δ of their own.
// That is not a run without privacy, and no line or text calls its ε infinite.
func TestTotalThatIsNotKnown(t *testing.T) {
	s := statement.Statement{Unit: "one training example", Answer: account.Answer{Epsilon: 1, Delta: 1e-5}, Together: statement.Together{
		DatasetEpsilon: statement.NoGuarantee, DatasetDelta: 1e-5, DatasetRuns: 3, DatasetReleases: 40, DatasetFixed: 2.5}}
	text := tiny.Must(s.Markdown())(t)
	for _, found := range []string{string(text), s.DatasetTotal()} {
		if strings.Contains(found, "Inf") || strings.Contains(found, "NOT PRIVATE") || !strings.Contains(found, "whatever ") || !strings.Contains(found, "2.500") {
			t.Errorf("found %s, expected that no ε is known, and the one of releases that were decided before", found)
		}
	}
	if text := tiny.Must(statement.Statement{Run: "r", System: statement.None}.Markdown())(t); !strings.HasPrefix(string(text), "# r is NOT PRIVATE\n") {
		t.Errorf("a baseline says %s", text)
	}
}

// Every digit of a statement counts: with another one in its place the statement is refused. That
// of an earlier version has no sum and is read.
func TestEditedStatementIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := statement.Statement{Run: "one", Answer: account.Answer{Epsilon: 1.25, Delta: 1e-5}, AddedDelta: 0.125, NoiseMultiplier: 1.5, Steps: 12,
		Together: statement.Together{DatasetEpsilon: 3.5, DatasetDelta: 1e-5, DatasetRuns: 2, DatasetReleases: 24}}
	tiny.Check(t, s.Write(dir))
	path := filepath.Join(dir, folder.StatementData)
	whole := tiny.Read(t, path)
	if found, err := statement.Read(dir); err != nil || found.Epsilon != 1.25 || found.DatasetEpsilon != 3.5 {
		t.Errorf("found %+v (%v), expected what was written", found, err)
	}
	for at, digit := range []byte(whole) {
		if digit < '1' || digit > '9' {
			continue
		}
		edited := []byte(whole)
		edited[at]--
		tiny.Write(t, path, string(edited))
		if _, err := statement.Read(dir); !errors.Is(err, checkpoints.ErrCorrupt) {
			t.Errorf("found error %v for %.40q, expected ErrCorrupt", err, edited[max(0, at-20):])
		}
	}
	tiny.Write(t, path, tiny.Unsummed(whole))
	if found, err := statement.Read(dir); err != nil || found.Epsilon != 1.25 {
		t.Errorf("found %+v (%v), expected the statement of an earlier version", found, err)
	}
}
