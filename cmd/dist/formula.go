package main

import (
	"bytes"
	_ "embed"
	"text/template"
)

//go:embed formula.rb.tmpl
var formulaText string

var formula = template.Must(template.New("formula").Parse(formulaText))

// download is an archive that is published.
type download struct {
	Platform platform
	Name     string // of the file
	SHA256   string // in hexadecimal digits
}

// Formula is that of Homebrew, which installs an archive from below a URL on macOS and Linux. It
// names the platforms among the downloads that Homebrew knows.
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
