package statistics

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"dpsgd/configs"
	"dpsgd/configs/internal/source"
	"dpsgd/internal/setting"
)

// File is a file of statistics, resolved.
type File struct {
	Config     *configs.Config // of which data and privacy mean something
	Statistics []Statistic     // at least one
}

// maxStatistics bounds a file; more is a mistake.
const maxStatistics = 256

// Keys of the sections that a file of statistics shares with configurations.
var (
	dataKeys    = []string{"name", "folder", "table", "vectors", "classes", "size", "channels", "columns", "label", "width", "seed"}
	privacyKeys = []string{"epsilon", "delta", "accountant"}
	sections    = map[string][]string{"data": dataKeys, "privacy": privacyKeys}
	topKeys     = []string{"data", "privacy", "statistics"}
)

// Parse reads a file, with overrides of data and privacy as in [configs.Parse]. The file name is
// for messages. The error is a configs.Problems and matches configs.ErrInvalid.
func Parse(file string, src []byte, overrides []string) (*File, error) {
	return parse(file, src, overrides, Intervals)
}

// Kept reads the file that a run keeps, with what version 1ae6581 did not write down as it was then.
func Kept(file string, src []byte) (*File, error) { return parse(file, src, nil, earlierIntervals) }

func parse(file string, src []byte, overrides []string, intervals float64) (*File, error) {
	r := &source.Report{}
	root := source.Read(r, source.Start(file), src)
	if root == nil {
		return nil, r.Err()
	}
	if root.Kind != source.Mapping {
		r.Expected(root, "", "a mapping with the keys "+strings.Join(topKeys, ", "), "")
		return nil, r.Err()
	}
	shared := &source.Node{Kind: source.Mapping, At: root.At}
	var list *source.Node
	for _, e := range root.Entries {
		switch e.Key {
		case "data", "privacy":
			shared.Entries = append(shared.Entries, known(r, e))
		case "statistics":
			list = e.Value
		default:
			configs.Unknown(r, e, "", topKeys)
		}
	}
	f := &File{Config: configs.Within(r, file, shared, meant(r, overrides))}
	checkBudget(r, f.Config, root.At)
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

// known is a section without the keys that mean nothing for statistics, which are reported.
func known(r *source.Report, e source.Entry) source.Entry {
	if e.Value.Kind != source.Mapping {
		return e
	}
	section := *e.Value
	section.Entries = nil
	for _, key := range e.Value.Entries {
		if slices.Contains(sections[e.Key], key.Key) {
			section.Entries = append(section.Entries, key)
		} else {
			configs.Unknown(r, key, e.Key, sections[e.Key])
		}
	}
	return source.Entry{Key: e.Key, At: e.At, Value: &section}
}

// meant are the overrides without those that mean nothing for statistics, which are reported.
func meant(r *source.Report, overrides []string) (kept []string) {
	for _, o := range overrides {
		path, _, _ := strings.Cut(o, "=")
		section, key, _ := strings.Cut(strings.TrimSpace(path), ".")
		if keys, ok := sections[section]; ok && key != "" && !slices.Contains(keys, key) {
			r.Addf(source.Position{Override: path}, "", "found a key without a meaning for statistics, expected one of %s", strings.Join(keys, ", "))
		} else if _, err := configs.SettableAt(strings.TrimSpace(path)); err == nil && !ok {
			r.Addf(source.Position{Override: path}, "", "found a key without a meaning for statistics, expected one of data and privacy")
		} else {
			kept = append(kept, o)
		}
	}
	return kept
}

// checkBudget wants a budget: nothing else says how much noise there is to be.
func checkBudget(r *source.Report, c *configs.Config, at source.Position) {
	if c != nil && !c.Privacy.HasBudget() {
		r.Addf(at, "privacy.epsilon", "found none, expected a number greater than 0: the budget of all statistics together")
	}
}

// decode reads the list of statistics. Columns are held against the data only where that is right.
func (f *File) decode(r *source.Report, list *source.Node) {
	if list.Kind != source.List || len(list.Items) == 0 || len(list.Items) > maxStatistics {
		r.Expected(list, "statistics", fmt.Sprintf("a list of 1 to %d statistics such as {statistic: mean, column: age, bounds: [0, 120]}", maxStatistics), "")
		return
	}
	for i, item := range list.Items {
		if s, ok := decode(r, item, fmt.Sprintf("statistics[%d]", i)); ok && f.Config != nil {
			s.check(r, f.Config)
			f.Statistics = append(f.Statistics, s)
		}
	}
}

// YAML is the file with everything that was left out.
func (f *File) YAML() []byte {
	b := bytes.NewBuffer(f.ConfigYAML())
	b.WriteString("\nstatistics:\n")
	for _, s := range f.Statistics {
		fmt.Fprintf(b, "  - %s\n", s)
	}
	return b.Bytes()
}

// ConfigYAML is the part of it that is a configuration: data and privacy.
func (f *File) ConfigYAML() []byte {
	var b bytes.Buffer
	section, in := "", false
	for line := range strings.Lines(string(f.Config.YAML())) {
		text := strings.TrimRight(line, "\n")
		switch key, _, _ := strings.Cut(strings.TrimSpace(text), ":"); {
		case text != "" && text[0] != ' ':
			section, in = key, sections[key] != nil
			if in && b.Len() > 0 {
				b.WriteByte('\n')
			}
		case strings.HasPrefix(text, "  ") && text[2] != ' ' && text[2] != '-':
			in = slices.Contains(sections[section], key)
		}
		if in && text != "" {
			b.WriteString(line)
		}
	}
	return b.Bytes()
}

// number is a number as configurations write it.
func number(x float64) string { return setting.Number{}.Encode(&x) }
