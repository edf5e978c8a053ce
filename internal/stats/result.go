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
	"dpsgd/internal/folder"
)

// Result is one released statistic. Low and High hold the true value with a chance of 95 %, for
// every number by itself: the interval covers the noise.
type Result struct {
	Statistic string  `json:"statistic"`
	Column    string  `json:"column"`
	Value     Numbers `json:"value"`
	Low       Numbers `json:"low"`
	High      Numbers `json:"high"`
	Mechanism string  `json:"mechanism"`
	Epsilon   float64 `json:"epsilon"` // of this statistic alone
	Delta     float64 `json:"delta"`   // 0 where no mechanism needs one

	Refused bool `json:"-"` // a test said that there is no answer

	Trust string   `json:"-"` // who has to be trusted: curator, shuffler or nobody
	Names []string `json:"-"` // what the numbers of a list are
}

// Lost reports whether the statistic was paid for and never answered: the run was killed in
// between, and the budget did not allow to pay again.
func (r Result) Lost() bool { return r.Value.List == nil && !r.Refused }

// Numbers is one number, a list of them, or, of a statistic that is lost, none.
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

// estimate is a statistic before what it cost is known.
type estimate struct {
	value, low, high []float64
	one              bool
	refused          bool   // a test said that there is none
	mechanism        string // of a local one that was chosen now; "" is the configured one
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

// row is a statistic in the run's file of results.
type row struct {
	Number  int `json:"number"`         // in the plan
	Entries int `json:"ledger_entries"` // by then
	Result
	NoAnswer bool `json:"refused,omitempty"` // Result.Refused
}

// ReadResults reads what a run of statistics has released so far.
func ReadResults(dir string) (results []Result, err error) {
	rows, err := readRows(dir, func(int, row) error { return nil })
	for _, r := range rows {
		results = append(results, r.Result)
	}
	return results, err
}

// readRows reads the results of earlier processes, the first ones of the plan in its order. Check says what is
// wrong with one.
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

// mostNumbers bounds the numbers of a list that are shown.
const mostNumbers = 16

// Table shows results to people, the heading first. A list has a line for each number, and its name
// in the second column, which is as long as somebody has called it.
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

// figures writes a number with the digits that a person reads.
func figures(x float64) string {
	if x == float64(int64(x)) && x < 1e9 && x > -1e9 {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
