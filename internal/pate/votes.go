package pate

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	"dpsgd/accountant/votes"
	"dpsgd/configs"
	"dpsgd/data/vectors"
	"dpsgd/internal/setup"
)

// Analysis says what an aggregation of votes would cost. Nothing is drawn, and no answer is given.
type Analysis struct {
	Epsilon    float64 `json:"epsilon"` // of all questions and Answers, for any votes
	Delta      float64 `json:"delta"`
	Accountant string  `json:"accountant"`
	Relation   string  `json:"relation"`
	Method     string  `json:"method"`
	Teachers   int     `json:"teachers"`
	Classes    int     `json:"classes"`
	Questions  int     `json:"questions"`
	Answers    int     `json:"answers"` // that are paid for: all, or as many as the budget allows

	// NOT PRIVATE, all of it: functions of the votes.
	Likely               int      `json:"answered_not_private"`               // questions that rather pass the check than not, of those that are paid for
	EpsilonDataDependent float64  `json:"epsilon_data_dependent_not_private"` // for these votes, with these answered
	EpsilonReleased      *float64 `json:"epsilon_released_not_private"`       // about what a release by smooth sensitivity would show; its cost is in Epsilon
}

// Analyse says what the aggregation of a configuration costs for votes with a row for each question
// and a column for each class. With a budget it counts as many answers as that allows, without one
// all.
func Analyse(c *configs.Config, table [][]int) (Analysis, error) {
	teachers := sum(table[0])
	if given := c.Pate.Teachers; given > 0 && given != teachers {
		return Analysis{}, fmt.Errorf("%w: found %d votes in a row, expected the %d of pate.teachers", setup.ErrPlan, teachers, given)
	}
	p, err := planOf(c, teachers, len(table))
	if err != nil {
		return Analysis{}, err
	}
	p.Answers = p.Queries
	if c.Privacy.HasBudget() {
		if err := p.afford(); err != nil {
			return Analysis{}, err
		}
	}
	l, err := p.planned(p.Queries, p.Answers)
	if err != nil {
		return Analysis{}, err
	}
	spent, _, err := p.accounts.Spent(l, p.Budget.Delta)
	if err != nil {
		return Analysis{}, err
	}
	a := Analysis{
		Epsilon: spent.Epsilon, Delta: p.Budget.Delta, Accountant: spent.Accountant, Relation: spent.Relation.String(), Method: spent.Method,
		Teachers: p.Teachers, Classes: len(table[0]), Questions: len(table), Answers: p.Answers,
	}
	return a, a.forThese(p, table)
}

// forThese adds the fields that depend on the votes.
func (a *Analysis) forThese(p *Plan, table [][]int) error {
	dependent, asked := p.Aggregation.NewAccount(), []votes.Question(nil)
	for _, row := range table {
		if p.check == nil && a.Likely == p.Answers {
			break // without a check nothing more is asked
		}
		q := votes.Question{Votes: row, Answered: a.Likely < p.Answers && (p.check == nil || p.Aggregation.Check.LogPassed(row) >= -math.Ln2)}
		if q.Answered {
			a.Likely++
		}
		dependent.Add(q)
		asked = append(asked, q)
	}
	a.EpsilonDataDependent, _ = dependent.Epsilon(p.Budget.Delta)
	if p.Release == nil {
		return nil
	}
	local, err := p.Aggregation.LocalSensitivity(asked, p.Teachers, p.Release.Order)
	if err != nil {
		return fmt.Errorf("%w: pate.release_data_dependent: %w", setup.ErrPlan, err)
	}
	about := p.Release.Epsilon(p.Release.Of(p.Aggregation.Divergence(asked, p.Release.Order), local).Centre, p.Budget.Delta)
	a.EpsilonReleased = &about
	return nil
}

// ErrVotes is matched by the error for a file that holds no counts of votes.
var ErrVotes = errors.New("train: no votes")

// ReadVotes reads counts of votes: comma-separated values, a row for each question, a column for
// each class, the names of the classes in the first line or not. All rows have the same sum, the
// number of teachers. Errors match [ErrVotes] and name the place, but never a value.
func ReadVotes(path string) ([][]int, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrVotes, err)
	}
	defer file.Close()
	r, err := vectors.NewRecordReader(path, file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrVotes, err)
	}
	if len(r.Header) < 2 {
		return nil, fmt.Errorf("%w: %s has %d column, expected one for each class, separated by commas", ErrVotes, path, len(r.Header))
	}
	var table [][]int
	if first, bad := counts(r.Header); bad == 0 { // no names
		table = append(table, first)
	}
	for {
		record, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrVotes, err)
		}
		row, bad := counts(record)
		if bad > 0 {
			return nil, fmt.Errorf("%w: %s: question %d, column %d: found no whole number from 0 to %d, expected how many teachers vote for that class", ErrVotes, path, len(table)+1, bad, mostVotes)
		}
		table = append(table, row)
		if sum(row) != sum(table[0]) {
			return nil, fmt.Errorf("%w: %s: question %d has another number of votes than question 1, expected all teachers in each: a column for each class with the count of its votes (a column for each teacher with its class has to be counted first; teachers who do not vote need a column of their own)", ErrVotes, path, len(table))
		}
	}
	if len(table) == 0 || sum(table[0]) == 0 {
		return nil, fmt.Errorf("%w: %s holds no votes, expected a row for each question", ErrVotes, path)
	}
	return table, nil
}

// mostVotes bounds a count, so that sums fit.
const mostVotes = 1_000_000

// counts returns the numbers in a record; bad is the first column, from 1, without one, or else 0.
func counts(record []string) (row []int, bad int) {
	for i, text := range record {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > mostVotes {
			return nil, i + 1
		}
		row = append(row, n)
	}
	return row, 0
}

func sum(row []int) (total int) {
	for _, n := range row {
		total += n
	}
	return total
}
