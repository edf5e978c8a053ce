package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// licenceFile matches the names of files with a module's conditions. Most demand that such a file
// comes with the programs that the module is built into.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|third_party_licenses)`)

// licences returns the licences of Go and of all modules built into the programs of platform p.
func (c checkout) licences(p platform) ([]byte, error) {
	const format = `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}|{{.Dir}}{{end}}{{end}}`
	tags := ""
	if p.MPI() {
		tags = "mpi" // adds to what the static program has
	}
	list, err := output(c.dir, environment(p), "go", "list", "-tags="+tags, "-deps", "-f", format, "./cmd/train")
	if err != nil {
		return nil, err
	}
	goroot, err := output(c.dir, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := addLicences(&b, "Go", goroot); err != nil {
		return nil, err
	}
	added := map[string]bool{"": true}
	for module := range strings.SplitSeq(list, "\n") {
		if added[module] {
			continue
		}
		added[module] = true
		name, dir, _ := strings.Cut(module, "|")
		if err := addLicences(&b, name, dir); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// addLicences appends the licence files in dir, the folder of the module called name, to b, each
// under a heading. It returns an error if there is none.
func addLicences(b *bytes.Buffer, name, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, entry := range entries {
		if !licenceFile.MatchString(entry.Name()) {
			continue
		}
		paths := []string{filepath.Join(dir, entry.Name())}
		if entry.IsDir() {
			if paths, err = filepath.Glob(filepath.Join(dir, entry.Name(), "*")); err != nil {
				return err
			}
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found = true
			fmt.Fprintf(b, "==== %s: %s\n\n%s\n\n", name, filepath.Base(path), bytes.TrimSpace(utf8Text(text)))
		}
	}
	if !found {
		return fmt.Errorf("dist: found no licence of %s in %s, expected one to pass on", name, dir)
	}
	return nil
}

// utf8Text returns text as UTF-8. Any other text is taken for Latin-1, a byte a character.
func utf8Text(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	var latin []byte
	for _, character := range text {
		latin = utf8.AppendRune(latin, rune(character))
	}
	return latin
}

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
