package report_test

import (
	"fmt"
	"strings"
	"testing"

	"dpsgd/internal/report"
)

func ExampleMarkdownHTML() {
	fmt.Print(report.MarkdownHTML("# A run\n\nIt is\n**private**.\n\n| | |\n|---|---|\n| ε \\| δ | 3 |\n\n- `a < b`\n- c\n\n    P[S] ≤ 1\n", 2))
	// Output:
	// <h2>A run</h2>
	// <p>It is
	// <strong>private</strong>.
	// </p>
	// <div class="wide" tabindex="0" role="group" aria-label="table"><table><tbody>
	// <tr><th scope="row">ε | δ</th><td>3</td></tr>
	// </tbody></table></div>
	// <ul><li><code>a &lt; b</code></li>
	// <li>c</li>
	// </ul>
	// <pre>P[S] ≤ 1
	// </pre>
}

// Whatever a text holds, it makes no element of its own.
func TestTextIsEscaped(t *testing.T) {
	const attack = `<script>alert(1)</script><img src=x onerror="alert(1)">`
	for _, text := range []string{attack, "# " + attack, "- " + attack, "| " + attack + " | " + attack + " |", "| a |\n|---|\n| " + attack + " |", "    " + attack, "`" + attack + "`", "**" + attack + "**"} {
		if found := string(report.MarkdownHTML(text, 2)); strings.Contains(found, "<script") || strings.Contains(found, "<img") || !strings.Contains(found, "&lt;script&gt;") {
			t.Errorf("%s: found %s", text, found)
		}
	}
}

func TestHeadingLevels(t *testing.T) {
	for level, want := range map[int]string{2: "<h2>a</h2>\n<h3>b</h3>\n", 6: "<h6>a</h6>\n<h6>b</h6>\n"} {
		if found := string(report.MarkdownHTML("# a\n## b\n", level)); found != want {
			t.Errorf("level %d: found %q, expected %q", level, found, want)
		}
	}
}
