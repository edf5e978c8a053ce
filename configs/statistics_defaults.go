package configs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dpsgd/data"
)

// DefaultStatistics returns the statistics of configured data if no file names any: a histogram of
// the classes, and mean, variance and quartiles of the brightness of pictures, or of every column
// that has bounds. Bounds are never guessed: a column of a table without any is an error, which
// names it. So is a configuration without a budget, or one that protects other things than single
// records.
func DefaultStatistics(c *Config, bounds map[string]Bounds) (*StatisticsFile, error) {
	if err := checkRecords(c); err != nil {
		return nil, err
	}
	if !c.Privacy.HasBudget() {
		return nil, fmt.Errorf("%w: privacy.epsilon: found none, expected a number greater than 0: the budget of all statistics together", ErrInvalid)
	}
	f := &StatisticsFile{Config: c}
	if c.Data.Task() == data.Class {
		f.Statistics = []Statistic{{Kind: StatHistogram, Columns: []string{labelColumn}, Mechanism: DiscreteLaplace, Trust: Curator, Share: 1}}
	}
	if isText(c) {
		return f, unusedBounds(bounds)
	}
	if !c.Data.Shape().IsRow() {
		f.summarise(brightness, Bounds{Interval: Interval{0, 1}})
		return f, unusedBounds(bounds)
	}
	left := maps.Clone(bounds)
	var without []string
	for _, name := range numberColumns(c) {
		b, given := left[name]
		delete(left, name)
		switch {
		case given:
			f.summarise(name, b)
		case c.Data.Table != "":
			without = append(without, name)
		}
	}
	if len(without) > 0 {
		return nil, fmt.Errorf("%w: found no bounds for %s, expected --bounds 'NAME=LOW:HIGH' or --bounds 'NAME=private' for each column of data.columns", ErrInvalid, firstNames(without))
	}
	return f, unusedBounds(left)
}

// checkRecords refuses a configuration that protects clients, persons or labels: a ledger would
// enter the cost of statistics as the cost of those.
func checkRecords(c *Config) error {
	const expected = "statistics protect single records; name the data in a file of statistics"
	switch {
	case c.Federated.Any():
		return fmt.Errorf("%w: federated.clients: found %d, expected 0: %s", ErrInvalid, c.Federated.Clients, expected)
	case c.Privacy.Unit != UnitExample:
		return fmt.Errorf("%w: privacy.unit: found %s, expected %s: %s", ErrInvalid, c.Privacy.Unit, UnitExample, expected)
	}
	return nil
}

// summarise adds mean, variance and quartiles of the column with that name and those bounds.
func (f *StatisticsFile) summarise(name string, b Bounds) {
	mean := Statistic{Kind: StatMean, Columns: []string{name}, Bounds: b, Mechanism: DiscreteLaplace, Trust: Curator, Share: 1}
	variance, quartiles := mean, mean
	variance.Kind = StatVariance
	quartiles.Kind, quartiles.Mechanism, quartiles.Quantiles = StatQuantiles, "", []float64{0.25, 0.5, 0.75}
	f.Statistics = append(f.Statistics, mean, variance, quartiles)
}

// rebound replaces the bounds of the statistics of one column by those that the map has for its
// name. It returns an error if these do not fit the statistic, or a name in the map is of no column
// of a statistic with bounds.
func (f *StatisticsFile) rebound(bounds map[string]Bounds) error {
	left, r := maps.Clone(bounds), &report{}
	for i := range f.Statistics {
		s := &f.Statistics[i]
		if b, ok := bounds[s.Columns[0]]; ok && len(s.Columns) == 1 && s.kind().takes("bounds") && s.Columns[0] != labelColumn {
			s.Bounds, s.Each = b, nil
			s.check(r, f.Config)
			delete(left, s.Columns[0])
		}
	}
	return cmp.Or(r.Err(), unusedBounds(left))
}

// unusedBounds returns an error that names the columns in bounds, or nil if bounds is empty.
func unusedBounds(bounds map[string]Bounds) error {
	if len(bounds) == 0 {
		return nil
	}
	return fmt.Errorf("%w: --bounds: found %s, expected columns that a statistic with bounds is of", ErrInvalid, strings.Join(slices.Sorted(maps.Keys(bounds)), ", "))
}

// ParseBounds reads the bounds of columns, by name, as in --bounds: NAME=LOW:HIGH, NAME=private.
func ParseBounds(texts []string) (map[string]Bounds, error) {
	bounds := map[string]Bounds{}
	for _, text := range texts {
		refused := fmt.Errorf("%w: found --bounds %s, expected NAME=LOW:HIGH with numbers within ±1e12, LOW below HIGH, or NAME=private", ErrInvalid, text)
		at := strings.LastIndex(text, "=")
		if at < 1 {
			return nil, refused
		}
		name, value := text[:at], text[at+1:]
		if _, again := bounds[name]; again {
			return nil, fmt.Errorf("%w: found --bounds %s, expected those of %s once: they were given before", ErrInvalid, text, name)
		}
		if value == "private" {
			bounds[name] = Bounds{Private: true}
			continue
		}
		low, high, found := strings.Cut(value, ":")
		from, errLow := strconv.ParseFloat(low, 64)
		to, errHigh := strconv.ParseFloat(high, 64)
		if !found || errors.Join(errLow, errHigh) != nil || !(from < to) || from < finiteFormat.Min || to > finiteFormat.Max {
			return nil, refused
		}
		bounds[name] = Bounds{Interval: Interval{from, to}}
	}
	return bounds, nil
}
