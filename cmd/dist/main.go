// Command dist builds what people install, for five platforms, from the commit that is checked out:
//
//	go run ./cmd/dist                          everything, into the folder dist
//	go run ./cmd/dist -platforms linux/amd64   for one platform
//
// Changes that are not committed are left out: packages name their commit. The standard
// library alone writes archives, Python wheels, Debian packages, the Homebrew formula and the
// checksums of them all, so that any system with Go makes the packages of every other one. The same
// files at the same version give the same bytes: entries are sorted, and every time in them is the
// time of the commit.
package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

func main() {
	to := flag.String("o", "dist", "the folder that gets the packages")
	platforms := flag.String("platforms", "", "those to build for, with commas between them (default: all)")
	url := flag.String("url", "https://example.org/dpsgd", "where the archives will be published, for the Homebrew formula")
	flag.Parse()
	if err := run(*to, *platforms, *url); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", strings.TrimPrefix(err.Error(), "dist: "))
		os.Exit(1)
	}
}

// run writes packages, Homebrew formula and checksums into the folder to. names lists platforms,
// with commas between them, or is "" for all; url is the address of the archives.
func run(to, names, url string) error {
	platforms, err := parsePlatforms(names)
	if err != nil {
		return err
	}
	c, err := clone(".")
	if err != nil {
		return err
	}
	defer c.remove()
	common, err := c.common()
	if err != nil {
		return err
	}
	out := folder{to, map[string]string{}}
	var downloads []download
	for _, p := range platforms {
		contents, err := c.contents(common, p)
		if err != nil {
			return err
		}
		if err := out.packages(contents); err != nil {
			return err
		}
		name := contents.ArchiveName()
		downloads = append(downloads, download{Platform: p, Name: name, SHA256: out.hashes[name]})
	}
	formula, err := Formula(common.Version, url, downloads)
	if err != nil {
		return err
	}
	if err := out.write("Formula/dpsgd.rb", formula); err != nil {
		return err
	}
	return out.write("checksums.txt", checksums(out.hashes))
}

// folder is where packages are written, with the SHA-256 hash of each of them by its name.
type folder struct {
	path   string
	hashes map[string]string
}

func (f folder) packages(c Contents) error {
	for _, one := range []struct {
		name string
		make func() ([]byte, error)
	}{
		{c.ArchiveName(), c.Archive},
		{c.WheelName(), c.Wheel},
		{c.DebianName(), c.Debian},
		{c.ComponentsName(), c.Components},
	} {
		if one.name == "" {
			continue
		}
		content, err := one.make()
		if err != nil {
			return fmt.Errorf("dist: %s: %w", one.name, err)
		}
		if err := f.write(one.name, content); err != nil {
			return err
		}
		f.hashes[one.name] = shA256(content)
	}
	return nil
}

func (f folder) write(name string, content []byte) error {
	path := filepath.Join(f.path, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	fmt.Printf("%10d %s\n", len(content), path)
	return os.WriteFile(path, content, 0o644)
}

func shA256(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

// checksums lists the hashes of files by their names, as `sha256sum --check` reads them.
func checksums(hashes map[string]string) (b []byte) {
	for _, name := range slices.Sorted(maps.Keys(hashes)) {
		b = fmt.Appendf(b, "%s  %s\n", hashes[name], name)
	}
	return b
}

//go:embed formula.rb.tmpl
var formulaText string

var formula = template.Must(template.New("formula").Parse(formulaText))

type download struct {
	Platform platform
	Name     string // of the file
	SHA256   string // in hexadecimal digits
}

// Formula returns the Homebrew formula that installs an archive from below url on macOS and Linux.
// Downloads for other systems are left out.
func Formula(v version, url string, downloads []download) ([]byte, error) {
	systems := map[string]map[string]download{"darwin": {}, "linux": {}}
	for _, d := range downloads {
		if archs, ok := systems[d.Platform.OS]; ok {
			archs[d.Platform.Arch] = d
		}
	}
	var b bytes.Buffer
	err := formula.Execute(&b, map[string]any{"Version": v.String(), "URL": url, "Systems": systems})
	return b.Bytes(), err
}
