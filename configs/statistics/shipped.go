package statistics

import (
	"bytes"
	"embed"
	"errors"
	"slices"

	"dpsgd/configs"
	"dpsgd/configs/internal/source"
)

//go:embed *.yaml
var files embed.FS

// Shipped lists the files of statistics that come with the program.
func Shipped() []configs.Preset { return configs.PresetsIn(files) }

// Load reads statistics that come with the program, or else the file at a path. A configuration of
// a run, a preset or a file, stands for the statistics that are made of its data if nobody says
// which: see [Defaults], which gets the bounds.
func Load(nameOrPath string, overrides []string, bounds map[string]Bounds) (*File, error) {
	file, src, err := configs.Open(nameOrPath, slices.Concat(Shipped(), configs.Presets()), "file of statistics")
	if err != nil {
		return nil, err
	}
	if !asks(src) {
		c, err := configs.Load(nameOrPath, overrides)
		if err != nil {
			return nil, err
		}
		return Defaults(c, bounds)
	}
	f, err := Parse(file, src, overrides)
	var problems configs.Problems
	if errors.As(err, &problems) && file != nameOrPath {
		problems.OfPreset(nameOrPath, overrides)
	}
	if err == nil && len(bounds) > 0 {
		err = f.rebound(bounds)
	}
	return f, err
}

// Asks says whether what a person names, as in [Load], asks for statistics itself.
func Asks(nameOrPath string) bool {
	_, src, err := configs.Open(nameOrPath, slices.Concat(Shipped(), configs.Presets()), "file of statistics")
	return err == nil && asks(src)
}

// asks reports whether a file asks for statistics.
func asks(src []byte) bool {
	root := source.Read(new(source.Report), source.Start(""), bytes.Clone(src))
	return root != nil && slices.ContainsFunc(root.Entries, func(e source.Entry) bool { return e.Key == "statistics" })
}
