package main

import (
	"debug/buildinfo"
	"encoding/json"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// A component is an entry of a CycloneDX list (https://cyclonedx.org/docs/1.5/json).
type component struct {
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ComponentsName returns the file name of the list of what is in the programs of a platform.
func (c Contents) ComponentsName() string { return c.folder() + ".cdx.json" }

// Components returns a software bill of materials, CycloneDX 1.5: the modules that are built into
// the programs, with the checksums of go.sum, and Go's own library.
func (c Contents) Components() ([]byte, error) {
	list := []component{{Type: "library", Name: "std", Version: c.Go, PURL: "pkg:golang/std@" + strings.TrimPrefix(c.Go, "go")}}
	for _, m := range c.Modules {
		if m.Replace != nil {
			m = m.Replace
		}
		list = append(list, component{"library", m.Path, m.Version, "pkg:golang/" + m.Path + "@" + m.Version, []property{{"go:sum", m.Sum}}})
	}
	slices.SortFunc(list, func(a, b component) int { return strings.Compare(a.Name, b.Name) })
	return json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": list,
		"metadata": map[string]any{
			"timestamp": c.Version.Time.UTC().Format(time.RFC3339),
			"component": component{Type: "application", Name: "dpsgd", Version: c.Version.String()},
		},
	}, "", "  ")
}

// addModules adds the modules in the program at a path to those that are there.
func (c *Contents) addModules(program string) error {
	of, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	c.Go = of.GoVersion
	for _, m := range of.Deps {
		if !slices.ContainsFunc(c.Modules, func(known *debug.Module) bool { return known.Path == m.Path }) {
			c.Modules = append(c.Modules, m)
		}
	}
	return nil
}
