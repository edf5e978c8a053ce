package configs

import (
	"bytes"
	"errors"
	"slices"
)

// Statistics lists the files of statistics that come with the program.
func Statistics() []Preset { return presetsIn("statistics") }

// LoadStatistics reads statistics that come with the program, or else the file at a path. A configuration of
// a run, a preset or a file, stands for the statistics that are made of its data if nobody says
// which: see [DefaultStatistics], which gets the bounds.
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
	var problems Problems
	if errors.As(err, &problems) && file != nameOrPath {
		problems.OfPreset(nameOrPath, overrides)
	}
	if err == nil && len(bounds) > 0 {
		err = f.rebound(bounds)
	}
	return f, err
}

// AsksStatistics says whether what a person names, as in [LoadStatistics], asks for statistics itself.
func AsksStatistics(nameOrPath string) bool {
	_, src, err := Open(nameOrPath, slices.Concat(Statistics(), Presets()), "file of statistics")
	return err == nil && asksStatistics(src)
}

// asksStatistics reports whether a file asks for statistics.
func asksStatistics(src []byte) bool {
	root := readYAML(new(report), startOf(""), bytes.Clone(src))
	return root != nil && slices.ContainsFunc(root.Entries, func(e entry) bool { return e.Key == "statistics" })
}
