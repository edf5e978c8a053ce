package pate

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/accountant/votes"
	"dpsgd/configs"
	"dpsgd/internal/tiny"
)

// votesFrom writes counts of 200 questions in which 245 of 250 teachers agree, and reads them.
func votesFrom(t *testing.T, head string) [][]int {
	t.Helper()
	path := filepath.Join(t.TempDir(), "votes.csv")
	tiny.Check(t, os.WriteFile(path, []byte(head+strings.Repeat("245,5,0,0,0,0,0,0,0,0\n", 200)), 0o600))
	table, err := ReadVotes(path)
	if err != nil || len(table) != 200 {
		t.Fatalf("found %d rows, %v", len(table), err)
	}
	return table
}

// The two ε are those of package accountant/pate: 0.28 for these votes, as its example says, and
// for any votes no more than the 2.17 of Rényi divergences there. A budget allows fewer answers.
func TestAnalyse(t *testing.T) {
	c := &configs.Config{Pate: configs.Pate{Aggregation: "gnmax", Noise: 40, ReleaseOrder: 12}}
	c.Privacy.Accountant, c.Privacy.Delta = "exact", 1e-5
	for _, head := range []string{"", "a,b,c,d,e,f,g,h,i,j\n", "0,b,c,d,e,f,g,h,i,j\n"} {
		a, err := Analyse(c, votesFrom(t, head))
		if err != nil || a.Teachers != 250 || a.Classes != 10 || a.Answers != 200 || a.Likely != 200 || a.Relation != "zero-out" || a.EpsilonReleased != nil {
			t.Fatalf("found %+v, %v", a, err)
		}
		if math.Abs(a.EpsilonDataDependent-0.28) > 0.005 || a.Epsilon > 2.18 || a.Epsilon < 1.8 {
			t.Errorf("found ε %v for these votes and %v for any", a.EpsilonDataDependent, a.Epsilon)
		}
	}
	c.Privacy.Epsilon = 1
	a, err := Analyse(c, votesFrom(t, ""))
	if err != nil || a.Epsilon > 1 || a.Answers >= 200 || a.Likely != a.Answers {
		t.Errorf("found %+v, %v", a, err)
	}
	c.Privacy.Epsilon, c.Pate.ReleaseDataDependent = 0, true
	released, err := Analyse(c, votesFrom(t, ""))
	if err != nil || released.Epsilon <= a.Epsilon || !(*released.EpsilonReleased > released.EpsilonDataDependent) {
		t.Errorf("found %+v, %v", released, err)
	}
	c.Pate.Teachers = 100
	if _, err := Analyse(c, votesFrom(t, "")); err == nil || !strings.Contains(err.Error(), "found 250 votes in a row, expected the 100 of pate.teachers") {
		t.Errorf("found %v", err)
	}
}

// With a check, questions on which teachers disagree are checked and rather not answered.
func TestAnalyseConfident(t *testing.T) {
	c := &configs.Config{Pate: configs.Pate{Aggregation: "confident", Noise: 40, Threshold: 200, ThresholdNoise: 150}}
	c.Privacy.Accountant, c.Privacy.Delta = "exact", 1e-5
	table := [][]int{{245, 5, 0}, {165, 85, 0}, {240, 0, 10}}
	a, err := Analyse(c, table)
	if err != nil || a.Answers != 3 || a.Likely != 2 {
		t.Fatalf("found %+v, %v", a, err)
	}
	account := votes.Aggregation{Max: votes.GaussianMax{Sigma: 40}, Check: &votes.Threshold{At: 200, Sigma: 150}}.NewAccount()
	for i, row := range table {
		account.Add(votes.Question{Votes: row, Answered: i != 1})
	}
	if want, _ := account.Epsilon(1e-5); a.EpsilonDataDependent != want || !(a.Epsilon > want) {
		t.Errorf("found %+v, expected %v for these votes", a, want)
	}
}

// What holds no counts is refused by its place, and nothing of it is repeated.
func TestWrongVotes(t *testing.T) {
	for content, want := range map[string]string{
		"":                       "is empty",
		"a,b\n":                  "holds no votes",
		"0,0\n":                  "holds no votes",
		"7,3\n8,3\n":             "question 2 has another number of votes than question 1",
		"t1,t2,t3\n0,1,1\n1,1,1": "a column for each teacher with its class has to be counted first",
		"7,3\n77.5,2\n":          "question 2, column 1: found no whole number",
		"7,3\n-77,87\n":          "question 2, column 1: found no whole number",
		"7,3\n3,2000000\n":       "question 2, column 2: found no whole number",
		"7,3\n77,2,1\n":          "found 3 fields",
	} {
		path := filepath.Join(t.TempDir(), "votes.csv")
		tiny.Check(t, os.WriteFile(path, []byte(content), 0o600))
		_, err := ReadVotes(path)
		if !errors.Is(err, ErrVotes) || !strings.Contains(err.Error(), want) || strings.Contains(strings.ReplaceAll(err.Error(), path, ""), "77") {
			t.Errorf("%q: found %v, expected %q", content, err, want)
		}
	}
}
