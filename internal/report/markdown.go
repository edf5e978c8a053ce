package report

import (
	"fmt"
	"html"
	"html/template"
	"regexp"
	"strings"
)

// MarkdownHTML translates Markdown, as this program writes it, into HTML. A heading of the first
// level becomes one of the given level, deeper ones follow, up to 6.
func MarkdownHTML(text string, level int) template.HTML {
	w := writer{level: level}
	for line := range strings.SplitSeq(text, "\n") {
		w.line(line)
	}
	w.end()
	return template.HTML(w.b.String())
}

// writer writes HTML line by line. It remembers which element is still open.
type writer struct {
	b     strings.Builder
	level int
	open  string // the element that lines are added to: p, ul, pre, tbody of a table, or ""
}

func (w *writer) line(line string) {
	trimmed := strings.TrimSpace(line)
	switch {
	case trimmed == "":
		w.end()
	case strings.HasPrefix(line, "#"):
		w.heading(line)
	case strings.HasPrefix(line, "    "):
		w.in("pre", `<pre>`)
		fmt.Fprintf(&w.b, "%s\n", html.EscapeString(trimmed))
	case strings.HasPrefix(line, "|"):
		w.row(strings.Split(strings.ReplaceAll(strings.Trim(trimmed, "|"), `\|`, "\x00"), "|")) // \| ends no cell
	case strings.HasPrefix(line, "- "):
		w.in("ul", "<ul>")
		fmt.Fprintf(&w.b, "<li>%s</li>\n", inline(trimmed[2:]))
	default:
		w.in("p", "<p>")
		fmt.Fprintf(&w.b, "%s\n", inline(trimmed))
	}
}

func (w *writer) in(name, begin string) {
	if w.open != name {
		w.end()
		w.b.WriteString(begin)
		w.open = name
	}
}

func (w *writer) end() {
	if w.open == "tbody" {
		w.b.WriteString("</tbody></table></div>\n")
	} else if w.open != "" {
		fmt.Fprintf(&w.b, "</%s>\n", w.open)
	}
	w.open = ""
}

func (w *writer) heading(line string) {
	w.end()
	text := strings.TrimLeft(line, "#")
	level := min(6, w.level+len(line)-len(text)-1)
	fmt.Fprintf(&w.b, "<h%d>%s</h%d>\n", level, inline(strings.TrimSpace(text)), level)
}

// rule matches the line of dashes below the heading of a table.
var rule = regexp.MustCompile(`^[ :-]+$`)

// row writes one line of a table. The first line of a table is the heading, which may be empty; in
// every other line the first cell names the row.
func (w *writer) row(cells []string) {
	if rule.MatchString(strings.Join(cells, "")) && strings.Contains(cells[0], "-") {
		return
	}
	if w.open != "tbody" {
		w.end()
		w.b.WriteString(`<div class="wide" tabindex="0" role="group" aria-label="table"><table>`)
		w.open = "tbody"
		if strings.TrimSpace(strings.Join(cells, "")) == "" {
			w.b.WriteString("<tbody>\n")
			return
		}
		w.b.WriteString("<thead><tr>")
		for _, c := range cells {
			w.b.WriteString(header("col", c))
		}
		w.b.WriteString("</tr></thead><tbody>\n")
		return
	}
	fmt.Fprintf(&w.b, "<tr>%s", header("row", cells[0]))
	for _, c := range cells[1:] {
		fmt.Fprintf(&w.b, `<td>%s</td>`, inline(c))
	}
	w.b.WriteString("</tr>\n")
}

// header returns a cell that names its column or row; without a name it is a cell like any other.
func header(scope, text string) string {
	if strings.TrimSpace(text) == "" {
		return "<td></td>"
	}
	return fmt.Sprintf(`<th scope="%s">%s</th>`, scope, inline(text))
}

var (
	bold = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	code = regexp.MustCompile("`([^`]+)`")
)

// inline translates the text of one line: it is escaped first, then made bold or code.
func inline(text string) string {
	text = strings.ReplaceAll(html.EscapeString(strings.TrimSpace(text)), "\x00", "|")
	text = bold.ReplaceAllString(text, "<strong>$1</strong>")
	return code.ReplaceAllString(text, "<code>$1</code>")
}
