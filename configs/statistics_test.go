package configs

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Everything that comes with the program can be read.
func TestShippedStatistics(t *testing.T) {
	names := []string{}
	for _, p := range Statistics() {
		f := must(LoadStatistics(p.Name, nil, nil))(t)
		if p.Description == "" || len(f.Statistics) == 0 {
			t.Errorf("%s has %d statistics and says %q of itself, expected some and a line", p.Name, len(f.Statistics), p.Description)
		}
		names = append(names, p.Name)
	}
	if want := []string{"digits-statistics", "mnist-statistics"}; !slices.Equal(names, want) {
		t.Errorf("found %q, expected %q", names, want)
	}
}

// What is written into the folder of a run is read back as it was, and its configuration is one.
func TestWrittenAndReadAgain(t *testing.T) {
	for _, src := range []string{
		string(Statistics()[0].Source), string(Statistics()[1].Source),
		`
data: {table: people, columns: [age, "100", "a: b"], label: sick, classes: ["no", "yes"]}
privacy: {epsilon: 0.5, delta: 1e-9, accountant: rdp}
statistics:
- {statistic: sum, column: age, bounds: [0, 120], mechanism: discrete_gaussian, share: 0.5}
- {statistic: variance, column: 100, bounds: private, mechanism: laplace}
- {statistic: quantiles, column: "a: b", bounds: [-1.5, 1e6], quantiles: [0.5], mechanism: noisy_max, bins: 10}
- {statistic: count, column: sick, equals: "yes"}
- {statistic: median, column: age, bounds: [0, 120], step: 0.5}
- {statistic: count, column: age, range: [18, 65]}
- {statistic: histogram, column: label, trust: nobody, mechanism: rappor}
- {statistic: mean, columns: all, bounds: [0, 10]}
- {statistic: covariance, columns: [age, "100"], bounds: [0, 120]}
- {statistic: covariance, columns: [age, "100"], bounds: [[0, 120], [-1, 1e6]]}
- {statistic: quantiles, column: age, bounds: [0, 120], quantiles: [0.5], interval: 0.3, mechanism: exponential}
- {statistic: quantiles, column: age, bounds: [0, 120], quantiles: [0.5]}
- {statistic: above_threshold, queries: [{column: age, range: [65, 120]}, {column: sick, equals: "yes"}], threshold: 100}
`,
		"data: {vectors: v, width: 3, classes: [a, b]}\nprivacy: {epsilon: 1}\nstatistics: [{statistic: histogram, column: 2, bounds: [0, 1], bins: 4}]",
		"data: {folder: f, classes: [a, b], size: 8, channels: 3}\nprivacy: {epsilon: 1}\nstatistics: [{statistic: mean, column: red}, {statistic: mean, column: pixel 7 7 2}]",
		"data: {text: t, column: words, label: mood, classes: [a, b], length: 9, tokenizer: t.json, vocabulary: 99, limit: {epsilon: 2, delta: 1e-5}}\nprivacy: {epsilon: 1}\nstatistics: [{statistic: histogram, column: label}]",
		"data: {table: t, columns: [age], label: pay, bounds: [0, 9]}\nprivacy: {epsilon: 1}\ntraining: {loss: huber}\nstatistics: [{statistic: mean, column: age, bounds: [0, 9]}]",
		"data: {table: t, columns: [age], labels: [ill, poor]}\nprivacy: {epsilon: 1}\ntraining: {loss: binary}\nstatistics: [{statistic: mean, column: age, bounds: [0, 9]}]",
	} {
		f := must(ParseStatistics("a.yaml", []byte(src), nil))(t)
		again := must(ParseStatistics("b.yaml", f.YAML(), nil))(t)
		for i := range f.Statistics {
			f.Statistics[i].at = again.Statistics[i].at
			for j := range f.Statistics[i].Queries {
				f.Statistics[i].Queries[j].at = again.Statistics[i].Queries[j].at
			}
		}
		if !reflect.DeepEqual(f, again) {
			t.Errorf("found\n%s\nexpected\n%s", again.YAML(), f.YAML())
		}
		if c, err := Parse("c.yaml", f.ConfigYAML(), nil); err != nil || !reflect.DeepEqual(c.Data, f.Config.Data) {
			t.Errorf("%v\n%s", err, f.ConfigYAML())
		}
	}
}

const statisticsBegin = "data: {name: digits}\nprivacy: {epsilon: 1}\n"

// Each mistake is one line that says what was found, what was expected, and where.
func TestWrongFiles(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{"", "1:1: found nothing, expected a mapping with the keys data, privacy, statistics"},
		{statisticsBegin, "1:1: statistics: found nothing, expected a list of statistics"},
		{statisticsBegin + "statistics: []", "3:13: statistics: found an empty list, expected a list of 1 to 256 statistics such as {statistic: mean, column: age, bounds: [0, 120]}"},
		{statisticsBegin + "statistics: [mean]", "3:14: statistics[0]: found mean, expected a mapping such as {statistic: mean, column: age, bounds: [0, 120]}"},
		{statisticsBegin + "statistics: [{column: label}]", "3:15: statistics[0].statistic: found nothing, expected one of {kinds}"},
		{statisticsBegin + "statistics: [{statistic: means, column: brightness}]", "3:26: statistics[0].statistic: found means, expected one of {kinds} (did you mean mean?)"},
		{statisticsBegin + "statistics: [{statistic: median, column: brightness}]", "3:15: statistics[0].step: found nothing, expected a number greater than 0 and at most 1000000000000: by how much one record may move the median"},
		{statisticsBegin + "statistics: [{statistic: median, column: brightness, step: 1}]", "3:15: statistics[0].step: found 1, expected less than the width of the bounds, 1"},
		{statisticsBegin + "statistics: [{statistic: mean}]", "3:15: statistics[0].column: found nothing, expected the name of a column"},
		{statisticsBegin + "statistics: [{statistic: mean, column: darkness}]", "3:15: statistics[0].column: found darkness, expected one of label, brightness, pixel ROW COLUMN (of 28x28x1)"},
		{statisticsBegin + "statistics: [{statistic: mean, column: pixel 28 0}]", "3:15: statistics[0].column: found pixel 28 0, expected one of label, brightness, pixel ROW COLUMN (of 28x28x1)"},
		{statisticsBegin + "statistics: [{statistic: mean, column: label}]", "3:15: statistics[0].column: found the class of a record, expected a column with numbers for a mean"},
		{statisticsBegin + "statistics: [{statistic: mean, column: brightness, bins: 3}]", "3:52: statistics[0].bins: found a key that a mean does not have, expected one of statistic, column, columns, bounds, mechanism, share"},
		{statisticsBegin + "statistics: [{statistic: mean, column: brightness, bounds: [1, 0]}]", "3:60: statistics[0].bounds: found 1 and 0, expected a low end below the high one"},
		{statisticsBegin + "statistics: [{statistic: mean, column: brightness, bounds: [1, 1]}]", "3:60: statistics[0].bounds: found 1 and 1, expected a low end below the high one"},
		{statisticsBegin + "statistics: [{statistic: median, column: brightness, step: 0.1, bounds: private}]", "3:15: statistics[0].bounds: found private, expected [low, high] for a median, for several columns, or where no curator is trusted"},
		{statisticsBegin + "statistics: [{statistic: count, column: label, equals: 1, range: [0, 1]}]", "3:15: statistics[0]: found equals and range, expected equals (a class) or range ([low, high]): the number of all records is public"},
		{statisticsBegin + "statistics: [" + strings.Repeat("a, ", 257) + "]", "3:13: statistics: found a list of 257, expected a list of 1 to 256 statistics such as {statistic: mean, column: age, bounds: [0, 120]}"},
		{"data: {table: t, columns: [age], labels: [ill, poor]}\nprivacy: {epsilon: 1}\ntraining: {loss: binary}\nstatistics: [{statistic: histogram, column: label}]", "4:15: statistics[0].column: found label, expected one of data.columns: the table has labels or numbers to learn, and no class"},
		{"data: {text: t, classes: [a, b], length: 9}\nprivacy: {epsilon: 1}\nstatistics: [{statistic: mean, column: words, bounds: [0, 1]}]", "3:15: statistics[0].column: found words, expected label: texts have no numbers"},
		{"data: {vectors: v, width: 3, classes: [a, b]}\nprivacy: {epsilon: 1}\nstatistics: [{statistic: mean, column: \"-1\", bounds: [0, 1]}]", "3:15: statistics[0].column: found -1, expected the number of a value, 0 to 2, or label"},
		{statisticsBegin + "statistics: [{statistic: mean, column: brightness, bounds: data}]", "3:60: statistics[0].bounds: found data, expected [low, high], or private"},
		{statisticsBegin + "statistics: [{statistic: mean, column: brightness, share: 0}]", "3:59: statistics[0].share: found 0, expected a number greater than 0 and at most 1000000"},
		{statisticsBegin + "statistics: [{statistic: mean, column: brightness, mechanism: exponential}]", "3:63: statistics[0].mechanism: found exponential, expected one of discrete_laplace, laplace, discrete_gaussian, gaussian"},
		{statisticsBegin + "statistics: [{statistic: mean, columns: all, mechanism: laplace}]", "3:15: statistics[0].mechanism: found laplace, expected gaussian for several columns, which are released as one vector"},
		{statisticsBegin + "statistics: [{statistic: count, column: label}]", "3:15: statistics[0]: found neither equals nor range, expected equals (a class) or range ([low, high]): the number of all records is public"},
		{statisticsBegin + "statistics: [{statistic: count, column: label, equals: 10}]", "3:15: statistics[0].equals: found 10, expected one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 (did you mean 0?)"},
		{statisticsBegin + "statistics: [{statistic: count, column: label, range: [0, 1]}]", "3:15: statistics[0].range: found a range of classes, expected equals with one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9"},
		{statisticsBegin + "statistics: [{statistic: count, column: brightness, equals: 1}]", "3:15: statistics[0].equals: found a class for a column with numbers, expected range: [low, high]"},
		{statisticsBegin + "statistics: [{statistic: histogram, column: brightness}]", "3:15: statistics[0].bins: found nothing, expected a whole number from 2 to 4096"},
		{statisticsBegin + "statistics: [{statistic: histogram, column: label, bins: 3}]", "3:15: statistics[0].bins: found bins for classes, expected none: each class is one"},
		{statisticsBegin + "statistics: [{statistic: histogram, column: label, bounds: [0, 9]}]", "3:15: statistics[0].bounds: found bounds for classes, expected none"},
		{statisticsBegin + "statistics: [{statistic: histogram, column: label, mechanism: rappor}]", "3:15: statistics[0].mechanism: found rappor, expected it only with trust shuffler or nobody"},
		{statisticsBegin + "statistics: [{statistic: histogram, column: label, mechanism: laplace, trust: nobody}]", "3:15: statistics[0].mechanism: found laplace, expected one of randomized_response, unary, symmetric_unary, local_hashing, rappor with trust nobody"},
		{statisticsBegin + "statistics: [{statistic: histogram, column: label, trust: me}]", "3:59: statistics[0].trust: found me, expected one of curator, shuffler, nobody"},
		{statisticsBegin + "statistics: [{statistic: quantiles, column: brightness}]", "3:15: statistics[0].quantiles: found nothing, expected a list of numbers such as [0.25, 0.5, 0.75]"},
		{statisticsBegin + "statistics: [{statistic: quantiles, column: brightness, quantiles: [1]}]", "3:69: statistics[0].quantiles[0]: found 1, expected a number between 0 and 1, both excluded"},
		{statisticsBegin + "statistics: [{statistic: covariance, columns: all}]", "3:15: statistics[0].columns: found 784 columns, expected 2 to 128 for a covariance"},
		{statisticsBegin + "statistics: [{statistic: covariance, columns: [brightness, pixel 0 0], bounds: [[0, 1]]}]", "3:15: statistics[0].bounds: found 1 pairs for 2 columns, expected one pair for each, or one [low, high] for all"},
		{statisticsBegin + "statistics: [{statistic: mean, column: brightness, bounds: [[0, 1]]}]", "3:15: statistics[0].bounds: found a list of pairs for one column, expected [low, high], or private"},
		{statisticsBegin + "statistics: [{statistic: above_threshold, threshold: 3}]", "3:15: statistics[0].queries: found nothing, expected a list of counts such as [{column: age, range: [65, 120]}]"},
		{statisticsBegin + "statistics: [{statistic: above_threshold, queries: [{column: label, equals: 3}]}]", "3:15: statistics[0].threshold: found nothing, expected a whole number from 0 to 2147483648: the number that a count has to reach"},
		{statisticsBegin + "statistics: [{statistic: above_threshold, threshold: 3, queries: [{column: label, equals: 11}]}]", "3:68: statistics[0].queries[0].equals: found 11, expected one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 (did you mean 1?)"},
		{statisticsBegin + "statistics: [{statistic: above_threshold, threshold: 3, queries: [{column: label, equals: 1, share: 2}]}]", "3:94: statistics[0].queries[0].share: found a key that a count of a search does not have, expected one of column, equals, range"},
		{statisticsBegin + "statistics: [{statistic: quantiles, column: brightness, quantiles: [0.5], mechanism: gaussian, interval: 0.1}]", "3:15: statistics[0].interval: found a share of the cost for intervals, expected it only with one of exponential, permute_and_flip, noisy_max"},
		{statisticsBegin + "statistics: [{statistic: covariance, columns: [brightness]}]", "3:47: statistics[0].columns: found a list of 1, expected a list of at least two columns, or all"},
		{"data: {name: digits, mean: [0]}\nprivacy: {epsilon: 1}\nstatistics: [{statistic: mean, column: brightness}]", "1:22: data.mean: found an unknown key, expected one of name, folder, table, vectors, text, classes, column, length, tokenizer, vocabulary, size, channels, columns, label, labels, bounds, width, seed, limit"},
		{"data: {name: digits}\nprivacy: {epsilon: 1, clip_norm: 1}\nstatistics: [{statistic: mean, column: brightness}]", "2:23: privacy.clip_norm: found an unknown key, expected one of epsilon, delta, accountant"},
		{"data: {name: digits}\nprivacy: {epsilon: none, delta: 1e-6}\nstatistics: [{statistic: mean, column: brightness}]", "2:1: privacy: found nothing, expected epsilon (a budget) or noise_multiplier (a fixed noise), or both"},
		{statisticsBegin + "model: {name: logistic}\nstatistics: [{statistic: mean, column: brightness}]", "3:1: model: found an unknown key, expected one of data, privacy, statistics"},
		{"data: {table: t, columns: [age], label: sick, classes: [a, b]}\nprivacy: {epsilon: 1}\nstatistics: [{statistic: mean, column: age}]", "3:15: statistics[0].bounds: found nothing, expected [low, high], which is public, or private: bounds are never taken from the data"},
		{"data: {table: t, columns: [age], label: sick, classes: [a, b]}\nprivacy: {epsilon: 1}\nstatistics: [{statistic: mean, column: agee, bounds: [0, 1]}]", "3:15: statistics[0].column: found agee, expected one of data.columns, or label (did you mean age?)"},
		{"data: {vectors: v, width: 3, classes: [a, b]}\nprivacy: {epsilon: 1}\nstatistics: [{statistic: mean, column: 3, bounds: [0, 1]}]", "3:15: statistics[0].column: found 3, expected the number of a value, 0 to 2, or label"},
		{statisticsBegin + "statistics: [{statistic: histogram, column: brightness, bins: 3, bounds: private, trust: nobody}]", "3:15: statistics[0].bounds: found private, expected [low, high] for a median, for several columns, or where no curator is trusted"},
	} {
		_, err := ParseStatistics("f", []byte(tt.src), nil)
		wrong(t, tt.src, err, "f:"+strings.ReplaceAll(tt.want, "{kinds}", strings.Join(StatisticKinds(), ", ")))
	}
}

// Columns are the values of a record that their names say, also of pictures that are no square.
func TestColumns(t *testing.T) {
	c := mustParse(t, "data: {folder: f, classes: [a, b], size: [2, 3], channels: 3}\nprivacy: {epsilon: 3}")
	for name, want := range map[string][]int{"pixel 1 2 1": {16}, "green": {1, 4, 7, 10, 13, 16}} {
		if found, err := ColumnOf(c, name); err != nil || !slices.Equal(found.Indices, want) {
			t.Errorf("%s: found %v (%v), expected %v", name, found, err, want)
		}
	}
	all := Statistic{Columns: []string{allColumns}, many: true}
	if found := all.Names(c); len(found) != 18 || found[16] != "pixel 1 2 1" {
		t.Errorf("found %q, expected each value of a picture", found)
	}
	if found := all.Names(mustParse(t, vectorsBase)); strings.Join(found, " ") != "0 1 2 3 4 5 6 7" {
		t.Errorf("found %q, expected each number of a vector", found)
	}
}

// Overrides reach data and privacy, and nothing else.
func TestStatisticsOverrides(t *testing.T) {
	f, err := LoadStatistics("digits-statistics", []string{"privacy.epsilon=7", "data.seed=2"}, nil)
	if err != nil || f.Config.Privacy.Epsilon != 7 || f.Config.Data.Seed != 2 {
		t.Errorf("found %+v, %v, expected ε 7 and seed 2", f, err)
	}
	for override, want := range map[string]string{
		"privacy.clip_norm=1": "--set privacy.clip_norm: found a key without a meaning for statistics, expected one of epsilon, delta, accountant",
		"training.steps=1":    "--set training.steps: found a key without a meaning for statistics, expected one of loss",
		"model.name=mlp":      "--set model.name: found a key without a meaning for statistics, expected one of data and privacy",
	} {
		_, err := LoadStatistics("digits-statistics", []string{override}, nil)
		wrong(t, override, err, want)
	}
}

// Bounds from outside take the place of those in the file, and are refused as those would be.
func TestBoundsAreReplaced(t *testing.T) {
	path := filepath.Join(folderOf(t, map[string]string{"f.yaml": `
data: {table: people, columns: [age, pay], label: sick, classes: ["no", "yes"]}
privacy: {epsilon: 1}
statistics:
- {statistic: mean, column: age, bounds: [0, 9]}
- {statistic: histogram, column: pay, bounds: [0, 9], bins: 3, trust: nobody}
- {statistic: histogram, column: sick}
- {statistic: mean, columns: all, bounds: [[0, 9], [0, 99]]}
`}), "f.yaml")
	for name, want := range map[string]string{
		"age": "", "label": "configs: invalid configuration: --bounds: found label, expected columns that a statistic with bounds is of",
		"pay":  path + ":6:4: statistics[1].bounds: found private, expected [low, high] for a median, for several columns, or where no curator is trusted",
		"sick": path + ":7:4: statistics[2].bounds: found bounds for classes, expected none",
		"all":  path + ":8:4: statistics[3].bounds: found private, expected [low, high] for a median, for several columns, or where no curator is trusted",
	} {
		f, err := LoadStatistics(path, nil, map[string]Bounds{name: {Private: true}})
		if want != "" {
			wrong(t, name, err, want)
		} else if err != nil || !f.Statistics[0].Bounds.Private || f.Statistics[1].Bounds.Private {
			t.Errorf("found %v (%v), expected that the bounds of ages are searched for", f, err)
		}
	}
	f := must(LoadStatistics(path, nil, map[string]Bounds{"all": {Interval: Interval{0, 5}}}))(t)
	if found := f.Statistics[3].BoundsOf(1); found.High != 5 {
		t.Errorf("found %v, expected the bounds that were given for all columns", found)
	}
}

// The configuration of a run stands for statistics of its data, with bounds that are public.
func TestDefaultStatistics(t *testing.T) {
	if f, err := LoadStatistics("digits", nil, nil); err != nil || len(f.Statistics) != 4 || f.Statistics[1].Bounds.High != 1 {
		t.Errorf("found %v, %v, expected a histogram and three statistics of brightness", f, err)
	}
	c := must(Parse("people.yaml", []byte("data: {table: people, columns: [age, income], label: sick, classes: ['no', 'yes']}\nprivacy: {epsilon: 1}"), nil))(t)
	age := Bounds{Interval: Interval{0, 120}}
	for want, bounds := range map[string]map[string]Bounds{
		"configs: invalid configuration: found no bounds for income, expected --bounds 'NAME=LOW:HIGH' or --bounds 'NAME=private' for each column of data.columns": {"age": age},
		"configs: invalid configuration: --bounds: found years, expected columns that a statistic with bounds is of":                                               {"age": age, "income": {Private: true}, "years": age},
	} {
		_, err := DefaultStatistics(c, bounds)
		wrong(t, "bounds of columns", err, want)
	}
	_, err := DefaultStatistics(mustParse(t, smallest, "privacy.noise_multiplier=1", "privacy.epsilon=none"), nil)
	wrong(t, "no budget", err, "configs: invalid configuration: privacy.epsilon: found none, expected a number greater than 0: the budget of all statistics together")
	if f := must(DefaultStatistics(mustParse(t, textBase), nil))(t); len(f.Statistics) != 1 {
		t.Errorf("found %v of texts, expected the classes alone", f.Statistics)
	}
	f, err := DefaultStatistics(c, map[string]Bounds{"age": age, "income": {Private: true}})
	if err != nil || len(f.Statistics) != 7 || !f.Statistics[6].Bounds.Private {
		t.Errorf("found %+v, %v, expected a histogram and three statistics of each column", f, err)
	}
	if _, err := ParseStatistics("again.yaml", f.YAML(), nil); err != nil {
		t.Errorf("%v\n%s", err, f.YAML())
	}
}

// Statistics protect single records. The configuration of a run that protects clients, persons or
// labels stands for none: their cost would be entered as that of another unit, and people who have
// several records would be protected less than it says.
func TestDefaultsProtectRecords(t *testing.T) {
	for _, test := range []struct{ preset, set, found string }{
		{"digits", "federated.clients=100", "federated.clients: found 100"},
		{"label-digits", "privacy.epsilon=1", "privacy.unit: found label"},
		{"own-table", "privacy.unit=person", "privacy.unit: found person"},
	} {
		overrides := []string{test.set}
		if strings.Contains(test.set, "person") {
			overrides = append(overrides, "data.group=who")
		}
		_, err := LoadStatistics(test.preset, overrides, nil)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), test.found+", expected") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s with %s: %v, expected one line with %q", test.preset, test.set, err, test.found)
		}
	}
}
