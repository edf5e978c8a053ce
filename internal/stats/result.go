package stats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/folder"
)

// Result is one released statistic. With a chance of 95 %, the value in the data lies between Low
// and High, for every number by itself: the interval covers the noise.
type Result struct {
	Statistic string  `json:"statistic"`
	Column    string  `json:"column"`
	Value     Numbers `json:"value"`
	Low       Numbers `json:"low"`
	High      Numbers `json:"high"`
	Mechanism string  `json:"mechanism"`
	Epsilon   float64 `json:"epsilon"` // of this statistic alone
	Delta     float64 `json:"delta"`   // 0 where no mechanism needs one

	Refused bool `json:"-"` // the test of a median failed, so there is no answer

	Trust string   `json:"-"` // who has to be trusted: curator, shuffler or nobody
	Names []string `json:"-"` // of the numbers of a list
}

// Lost reports whether the statistic was paid for but has no answer: the run was killed in between,
// and the budget did not allow paying again.
func (r Result) Lost() bool { return r.Value.List == nil && !r.Refused }

// Numbers is one number, a list of them, or, for a statistic that is lost, none.
type Numbers struct {
	List []float64
	One  bool
}

// MarshalJSON writes a number, a list, or null.
func (n Numbers) MarshalJSON() ([]byte, error) {
	switch {
	case n.List == nil:
		return []byte("null"), nil
	case n.One:
		return json.Marshal(n.List[0])
	}
	return json.Marshal(n.List)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Numbers) UnmarshalJSON(text []byte) error {
	var x float64
	*n = Numbers{}
	if string(text) == "null" {
		return nil
	}
	if err := json.Unmarshal(text, &x); err == nil {
		*n = Numbers{[]float64{x}, true}
		return nil
	}
	return json.Unmarshal(text, &n.List)
}

// estimate is the value of a statistic with its interval, without its cost.
type estimate struct {
	value, low, high []float64
	one              bool
	refused          bool   // the test of a median failed
	mechanism        string // the local protocol that was chosen now; "" for the configured mechanism
}

func scalar(value float64, i configs.Interval) estimate {
	return estimate{value: []float64{value}, low: []float64{i.Low}, high: []float64{i.High}, one: true}
}

func vector(n int) estimate {
	return estimate{value: make([]float64, n), low: make([]float64, n), high: make([]float64, n)}
}

func (e *estimate) set(i int, value float64, at configs.Interval) {
	e.value[i], e.low[i], e.high[i] = value, at.Low, at.High
}

func columnName(s configs.Statistic) string { return strings.Join(s.Columns, ", ") }

// row is one line in the run's file of results.
type row struct {
	Number  int `json:"number"`         // of the statistic in the plan, from 0
	Entries int `json:"ledger_entries"` // how many entries the ledger had after the release
	Result
	NoAnswer bool `json:"refused,omitempty"` // Result.Refused
}

// ReadResults reads what a run of statistics has released so far, and holds what each result says
// that it costs against the run's ledger, at the δ of the run: lines have no checksum, and may have
// been edited. A nil ledger, of a run without a guarantee, refuses nothing.
func ReadResults(dir string, l *accountant.Ledger, delta float64) (results []Result, err error) {
	before := 0
	rows, err := readRows(dir, func(_ int, next row) error {
		if l == nil {
			return nil
		}
		released, err := account.Part(l, before, max(0, next.Entries-before))
		if err != nil {
			return err
		}
		before = max(before, next.Entries)
		// At a δ a little above that of the run, what takes all of its δ has an ε, too.
		least, err := account.SpentBy(account.Exact, released, 1.001*delta)
		if err != nil || !(next.Epsilon >= 0.999*least.Epsilon) || next.Delta > delta {
			return fmt.Errorf("found ε = %g and δ = %g, expected at least the ε of %.4g of the ledger and at most δ = %g: %w", next.Epsilon, next.Delta, least.Epsilon, delta, checkpoints.ErrCorrupt)
		}
		return nil
	})
	for _, r := range rows {
		results = append(results, r.Result)
	}
	return results, err
}

// readRows reads the results that earlier processes wrote, in the order of the plan. check returns
// an error if the row with a number is wrong.
func readRows(dir string, check func(number int, next row) error) ([]row, error) {
	path := filepath.Join(dir, folder.Answers)
	content, err := folder.Content(path)
	if err != nil || content == nil {
		return nil, err
	}
	var rows []row
	for line := range bytes.Lines(bytes.TrimSuffix(content, []byte("\n"))) {
		next := row{}
		if err = json.Unmarshal(line, &next); err != nil || next.Number != len(rows) {
			err = noResult(len(rows))
		} else {
			err = check(len(rows), next)
		}
		if err != nil {
			return nil, fmt.Errorf("train: %s:%d: %w", path, len(rows)+1, err)
		}
		next.Refused = next.NoAnswer
		rows = append(rows, next)
	}
	return rows, nil
}

func noResult(number int) error {
	return fmt.Errorf("found no result of statistic %d of the plan, expected a line that the run wrote: %w", number, checkpoints.ErrCorrupt)
}

// mostNumbers bounds how many numbers of a list are shown.
const mostNumbers = 16

// Table returns the results as lines of cells for people, the heading first. A list has a line for
// each number, with its name in the second column.
func Table(results []Result) [][]string {
	table := [][]string{{"statistic", "of", "value", "95 %", "ε"}}
	for _, r := range results {
		how := strings.ReplaceAll(r.Mechanism, "_", " ")
		if r.Trust == configs.Shuffler {
			how += ", mixed"
		}
		head := []string{r.Statistic, r.Column, "", how, accountant.RoundUp(r.Epsilon, 4)}
		switch {
		case r.Lost():
			head[2] = "lost"
		case r.Refused:
			head[2] = "no answer"
		case r.Value.One:
			head[2], head[3] = figures(r.Value.List[0]), r.interval(0)
		}
		table = append(table, head)
		if r.Value.One {
			continue
		}
		for i := range min(len(r.Value.List), mostNumbers) {
			table = append(table, []string{"", "  " + r.Names[i], figures(r.Value.List[i]), r.interval(i), ""})
		}
		if more := len(r.Value.List) - mostNumbers; more > 0 {
			table = append(table, []string{"", fmt.Sprintf("  and %d more", more), "", "", ""})
		}
	}
	return table
}

func (r Result) interval(i int) string {
	if r.Low.List[i] == r.High.List[i] {
		return ""
	}
	return figures(r.Low.List[i]) + " to " + figures(r.High.List[i])
}

// figures writes whole numbers below 10⁹ whole, and others with four significant digits.
func figures(x float64) string {
	if x == float64(int64(x)) && x < 1e9 && x > -1e9 {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
