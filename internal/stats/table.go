package stats

import (
	"fmt"
	"strconv"
	"strings"

	"dpsgd/accountant"
	"dpsgd/configs"
)

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

// interval writes the interval of the noise on a number.
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
