package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"runtime"
	"slices"

	"dpsgd/internal/folder"
)

//go:embed page.html.tmpl
var pageText string

//go:embed style.css
var style string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"heading": heading, "markdown": MarkdownHTML, "drawing": drawing, "lead": Lead, "summary": summaryOf, "results": Results, "statistics": Statistics,
	"up": epsilon, "count": count, "accountants": accountants, "argument": folder.Argument, "dict": dict,
	"style": func() template.CSS { return template.CSS(style) },
	"add":   func(a, b int) int { return a + b },
	"ms":    func(v float64) string { return fmt.Sprintf("%.2f", v) },
}).Parse(pageText))

// shown is what the template sees.
type shown struct {
	*Report
	Content template.HTML
	Script  string // URL of the script that keeps a page up to date; "" for none
}

// HTML is the report as one file.
func (r *Report) HTML() ([]byte, error) {
	content, err := r.Content()
	if err != nil {
		return nil, err
	}
	return r.Page(content, "")
}

// Content is what stands in the main part of the page.
func (r *Report) Content() ([]byte, error) { return execute("content", shown{Report: r}) }

// Page is the page around a content. Script is the URL of what keeps it up to date, "" for a page
// that stays as it is and runs nothing.
func (r *Report) Page(content []byte, script string) ([]byte, error) {
	return execute("page", shown{r, template.HTML(content), script})
}

func execute(name string, s shown) ([]byte, error) {
	var b bytes.Buffer
	if err := page.ExecuteTemplate(&b, name, s); err != nil {
		return nil, fmt.Errorf("train: report: %w", err)
	}
	return b.Bytes(), nil
}

// SamplesEach is how many pictures each group of a run may have.
func (s shown) SamplesEach() int {
	return min(samplesOfGroup, samplesOfReport/2/max(1, min(mostDetailed, len(s.Runs))))
}

// Platform is where the report was made.
func (s shown) Platform() string {
	return runtime.GOOS + "/" + runtime.GOARCH + ", " + runtime.Version()
}

// heading is an element h1 to h6.
func heading(level int, id, text string) template.HTML {
	return template.HTML(fmt.Sprintf(`<h%d id="%s">%s</h%d>`, level, template.HTMLEscapeString(id), template.HTMLEscapeString(text), level))
}

// drawing is a figure as an element of the page.
func drawing(f Figure) (template.HTML, error) {
	svg, err := f.Drawing.Inline(f.Label())
	return template.HTML(svg), err
}

// dict hands several values to a template, each behind its name.
func dict(pairs ...any) map[string]any {
	m := map[string]any{}
	for pair := range slices.Chunk(pairs, 2) {
		m[pair[0].(string)] = pair[1]
	}
	return m
}
