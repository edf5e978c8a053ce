package configs

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"dpsgd/internal/setting"
)

// StatisticsFile is what a file of statistics says, with everything filled in that it leaves out.
type StatisticsFile struct {
	Config     *Config     // of which data and privacy mean something
	Statistics []Statistic // at least one
}

// maxStatistics is the most statistics in a file; more is a mistake.
const maxStatistics = 256

// Keys of the sections that a file of statistics shares with configurations.
var (
	statisticsSections = map[string][]string{
		"data":     {"name", "folder", "table", "vectors", "text", "classes", "column", "length", "tokenizer", "vocabulary", "size", "channels", "columns", "label", "labels", "bounds", "width", "seed", "limit"},
		"privacy":  {"epsilon", "delta", "accountant"},
		"training": {"loss"}, // which a configuration with data.labels or data.bounds has to name
	}
	statisticsKeys = []string{"data", "privacy", "statistics"}
)

// ParseStatistics reads a file, with overrides of data and privacy as in [Parse]. The file name is
// for messages. The error is a [Problems] and matches [ErrInvalid].
func ParseStatistics(file string, src []byte, overrides []string) (*StatisticsFile, error) {
	return parseStatistics(file, src, overrides, Intervals)
}

// KeptStatistics reads the file of statistics that a run kept in its folder. Where the file leaves
// out the share for intervals, it fills in the default of earlier versions.
func KeptStatistics(file string, src []byte) (*StatisticsFile, error) {
	return parseStatistics(file, src, nil, earlierIntervals)
}

func parseStatistics(file string, src []byte, overrides []string, intervals float64) (*StatisticsFile, error) {
	r := &report{}
	root := readYAML(r, startOf(file), src)
	if root == nil {
		return nil, r.Err()
	}
	if root.Kind != mappingNode {
		r.Expected(root, "", "a mapping with the keys "+strings.Join(statisticsKeys, ", "), "")
		return nil, r.Err()
	}
	shared := &node{Kind: mappingNode, At: root.At}
	var list *node
	for _, e := range root.Entries {
		switch {
		case statisticsSections[e.Key] != nil:
			shared.Entries = append(shared.Entries, knownOfStatistics(r, e))
		case e.Key == "statistics":
			list = e.Value
		default:
			unknown(r, e, "", statisticsKeys, "")
		}
	}
	settings := parseOverrides(r, meantForStatistics(r, overrides))
	f := &StatisticsFile{}
	if c, err := resolveRead(r, file, shared, settings); err == nil {
		f.Config = c // which has a budget: no key of the file says a noise
	}
	if list == nil {
		r.Addf(root.At, "statistics", "found nothing, expected a list of statistics")
	} else {
		f.decode(r, list)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	for i := range f.Statistics {
		if s := &f.Statistics[i]; s.Chosen() && s.Interval == 0 {
			s.Interval = intervals
		}
	}
	return f, nil
}

// knownOfStatistics returns section e without keys that no file of statistics has, which it
// reports.
func knownOfStatistics(r *report, e entry) entry {
	if e.Value.Kind != mappingNode {
		return e
	}
	section := *e.Value
	section.Entries = nil
	for _, key := range e.Value.Entries {
		if slices.Contains(statisticsSections[e.Key], key.Key) {
			section.Entries = append(section.Entries, key)
		} else {
			unknown(r, key, e.Key, statisticsSections[e.Key], "")
		}
	}
	return entry{Key: e.Key, At: e.At, Value: &section}
}

// meantForStatistics returns the overrides of keys that files of statistics have. It reports
// others.
func meantForStatistics(r *report, overrides []string) (kept []string) {
	for _, o := range overrides {
		path, _, _ := strings.Cut(o, "=")
		section, key, _ := strings.Cut(strings.TrimSpace(path), ".")
		key, _, _ = strings.Cut(key, ".")
		if keys, ok := statisticsSections[section]; ok && key != "" && !slices.Contains(keys, key) {
			r.Addf(Position{Override: path}, "", "found a key without a meaning for statistics, expected one of %s", strings.Join(keys, ", "))
		} else if fieldAt(strings.TrimSpace(path)) != nil && !ok {
			r.Addf(Position{Override: path}, "", "found a key without a meaning for statistics, expected one of data and privacy")
		} else {
			kept = append(kept, o)
		}
	}
	return kept
}

// decode reads the list of statistics into f, and reports what does not fit the data of f.Config.
// It keeps none if f.Config is nil.
func (f *StatisticsFile) decode(r *report, list *node) {
	if list.Kind != listNode || len(list.Items) == 0 || len(list.Items) > maxStatistics {
		r.Expected(list, "statistics", fmt.Sprintf("a list of 1 to %d statistics such as {statistic: mean, column: age, bounds: [0, 120]}", maxStatistics), "")
		return
	}
	for i, item := range list.Items {
		if s, ok := decodeStatistic(r, item, fmt.Sprintf("statistics[%d]", i)); ok && f.Config != nil {
			s.check(r, f.Config)
			f.Statistics = append(f.Statistics, s)
		}
	}
}

// YAML returns the text of a file that says the same and leaves nothing out.
func (f *StatisticsFile) YAML() []byte {
	b := bytes.NewBuffer(f.ConfigYAML())
	b.WriteString("\nstatistics:\n")
	for _, s := range f.Statistics {
		fmt.Fprintf(b, "  - %s\n", s)
	}
	return b.Bytes()
}

// ConfigYAML returns the part of the file that is a configuration.
func (f *StatisticsFile) ConfigYAML() []byte {
	return f.Config.write(func(f *field) bool {
		parts := strings.Split(f.path, ".")
		return slices.Contains(statisticsSections[parts[0]], parts[1])
	})
}

func encodeNumber(x float64) string { return setting.Number{}.Encode(&x) }

// Statistics lists the files of statistics that come with the program.
func Statistics() []Preset { return presetsIn("statistics") }

// LoadStatistics reads the file of statistics of that name that comes with the program, or else the
// file at that path; there, bounds replace those of the columns that they name. For a
// configuration, a preset or a file, it returns [DefaultStatistics] of it with these bounds.
func LoadStatistics(nameOrPath string, overrides []string, bounds map[string]Bounds) (*StatisticsFile, error) {
	file, src, err := Open(nameOrPath, slices.Concat(Statistics(), Presets()), "file of statistics")
	if err != nil {
		return nil, err
	}
	if !asksStatistics(src) {
		c, err := Load(nameOrPath, overrides)
		if err != nil {
			return nil, err
		}
		return DefaultStatistics(c, bounds)
	}
	f, err := ParseStatistics(file, src, overrides)
	err = ofPreset(err, file, nameOrPath, given(overrides))
	if err == nil && len(bounds) > 0 {
		err = f.rebound(bounds)
	}
	return f, err
}

// AsksStatistics reports whether a name or path, as in [LoadStatistics], is a file of statistics.
func AsksStatistics(nameOrPath string) bool {
	_, src, err := Open(nameOrPath, slices.Concat(Statistics(), Presets()), "file of statistics")
	return err == nil && asksStatistics(src)
}

// asksStatistics reports whether the text of a file has the key statistics at its top.
func asksStatistics(src []byte) bool {
	root := readYAML(new(report), startOf(""), bytes.Clone(src))
	return root != nil && slices.ContainsFunc(root.Entries, func(e entry) bool { return e.Key == "statistics" })
}
