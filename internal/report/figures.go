package report

import (
	"fmt"
	"strconv"

	"dpsgd/accountant"
	"dpsgd/internal/chart"
)

// Figure is one drawing with what it shows.
type Figure struct {
	ID      string // a word in lower case, one of a kind among the figures of one run or sweep
	Title   string
	Note    string // what a reader should know of it; "" for nothing
	Private bool   // made of private diagnostics: it is NOT private
	Drawing chart.Figure
	Table   Table
}

// Table is what a figure shows, in words and numbers.
type Table struct {
	Heading []string
	Rows    [][]string // as long as the heading; the first cell names the row
}

// Label is what a screen reader says in place of the drawing.
func (f Figure) Label() string {
	return fmt.Sprintf("%s: a figure of %d values, which stand in the table below it", f.Title, len(f.Table.Rows)*(len(f.Table.Heading)-1))
}

// hundredthsOf is a share in percent with two decimals.
func hundredthsOf(share float64) string { return hundredths(100 * share) }

// epsilon is an ε rounded up.
func epsilon(value float64) string { return accountant.RoundUp(value, 3) }

// short is a number with at most four digits that count.
func short(value float64) string { return strconv.FormatFloat(value, 'g', 4, 64) }

// mostPoints is how many points of one line a figure and its table have.
const mostPoints = 100

// thinned are at most mostPoints of all, evenly, the last one among them.
func thinned[Point any](all []Point) []Point {
	if len(all) <= mostPoints {
		return all
	}
	some := make([]Point, mostPoints)
	for i := range some {
		some[i] = all[(i+1)*len(all)/mostPoints-1]
	}
	return some
}
