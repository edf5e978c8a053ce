package train

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/accountant/gdp"
)

// Every accountant is in the comparison once, with the answer or the error that it has in the package; bounds come first, then
// estimates, then refusals.
func TestCompare(t *testing.T) {
	l := releasesOf(t, 0.05, 1.4, 90)
	for _, r := range []accountant.Relation{accountant.AddOrRemoveOne, accountant.ReplaceOne} {
		c, err := Compare(t.Context(), Question{View: View{Relation: r}, Ledger: l, Delta: 1e-5}, 9)
		if err != nil {
			t.Fatal(err)
		}
		if c.Releases != 90 || c.NoiseMultiplier != 1.4 || c.SamplingProbability != 0.05 || c.Relation != r.String() {
			t.Errorf("found %+v", c)
		}
		var names []string
		for _, one := range c.Accountants {
			names = append(names, one.Accountant)
			if one.Estimate != (one.Accountant == "gdp") || one.Seconds < 0 || (one.Epsilon == nil) != (one.Error != "") {
				t.Errorf("%v: found %+v", r, one)
			}
			if !one.Estimate {
				checkCompared(t, one, r, l)
			}
		}
		if !slices.IsSortedFunc(c.Accountants, func(a, b Compared) int {
			if a.kind() != b.kind() {
				return a.kind() - b.kind()
			}
			return int(math.Copysign(1, value(a.Epsilon)-value(b.Epsilon)))
		}) {
			t.Errorf("%v: %v are out of order", r, names)
		}
		slices.Sort(names)
		want := append(accountants.Names(), "gdp")
		if slices.Sort(want); !slices.Equal(names, want) {
			t.Errorf("found %v, expected %v", names, want)
		}
	}
}

func checkCompared(t *testing.T, one Compared, r accountant.Relation, l *accountant.Ledger) {
	t.Helper()
	a, err := accountants.New(one.Accountant, r)
	var g accountant.Guarantee
	if err == nil {
		g, err = a.Guarantee(l, 1e-5)
	}
	if err != nil {
		if one.Error == "" {
			t.Errorf("%s: found %v, expected the error %v", one.Accountant, *one.Epsilon, err)
		}
		return
	}
	if one.Epsilon == nil || *one.Epsilon != g.Epsilon {
		t.Errorf("%s: found %+v, expected %v", one.Accountant, one, g.Epsilon)
		return
	}
	if len(one.Curve) == 0 || len(one.Curve) > 9 || one.Curve[len(one.Curve)-1] != (Spend{90, g.Epsilon}) {
		t.Errorf("%s: found the curve %v, expected its end at %v", one.Accountant, one.Curve, g.Epsilon)
	}
	if _, bracketing := a.(accountant.IntervalAccountant); bracketing != (one.Lower != nil) || one.Lower != nil && *one.Lower > g.Epsilon {
		t.Errorf("%s: found the lower bound %v of %v", one.Accountant, one.Lower, g.Epsilon)
	}
}

// The estimate is that of the package.
func TestCompareEstimates(t *testing.T) {
	l := releasesOf(t, 0.05, 1.4, 90)
	g, err := gdp.Of(l, accountant.AddOrRemoveOne)
	if err != nil {
		t.Fatal(err)
	}
	want, err := g.Epsilon(1e-5)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compare(t.Context(), Question{Ledger: l, Delta: 1e-5}, 0)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(c.Accountants, func(one Compared) bool { return one.Estimate })
	if one := c.Accountants[i]; *one.Epsilon != want || one.Lower != nil || one.Curve != nil {
		t.Errorf("found %+v, expected %v and no curve", one, want)
	}
}

// No guarantee at all is a refusal of everyone, a wrong δ an error, and a context that ends stops.
func TestCompareWithoutAnswers(t *testing.T) {
	c, err := Compare(t.Context(), Question{Ledger: releasesOf(t, 0.1, 0, 1), Delta: 1e-5}, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range c.Accountants {
		if one.Error == "" {
			t.Errorf("without noise found %+v", one)
		}
	}
	if _, err := Compare(t.Context(), Question{Ledger: releasesOf(t, 0.1, 1, 1), Delta: 0}, 5); !errors.Is(err, accountant.ErrInvalid) {
		t.Errorf("found error %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Compare(ended, Question{Ledger: releasesOf(t, 0.1, 1, 1), Delta: 1e-5}, 5); !errors.Is(err, context.Canceled) {
		t.Errorf("found error %v", err)
	}
}

func TestBeginning(t *testing.T) {
	l := releasesOf(t, 0.1, 1, 3)
	if err := l.Add(DPSGD(0.1, 2), 4); err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{"", "3:1", "3:2", "3:3", "3:3 4:1", "3:3 4:2", "3:3 4:3", "3:3 4:4", "3:3 4:4"} {
		first, err := beginning(l, n)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for i, e := range first.Entries() {
			found = append(found, fmt.Sprintf("%d:%d", 3+i, e.Count))
		}
		if strings.Join(found, " ") != want {
			t.Errorf("the first %d are %v, expected %s", n, found, want)
		}
	}
}

func TestAffordable(t *testing.T) {
	for seconds, want := range map[float64]int{0: 40, 1e-3: 40, 0.4: 10, 1: 4, 100: 4} {
		if n := affordable(40, seconds); n != want {
			t.Errorf("at %v s found %d points, expected %d", seconds, n, want)
		}
	}
}

// plots are comparisons that look different: linear and logarithmic, one point, many lines, none.
func plots() map[string]*Comparison {
	line := func(name string, factor float64, points ...int) Compared {
		c := Compared{Accountant: name, Estimate: name == "gdp"}
		for _, steps := range points {
			c.Curve = append(c.Curve, Spend{steps, factor * math.Sqrt(float64(steps))})
		}
		return c
	}
	return map[string]*Comparison{
		"linear":      {Delta: 1e-5, Relation: "zero-out", Releases: 1000, NoiseMultiplier: 1, Accountants: []Compared{line("exact", 0.1, 100, 500, 1000), line("gdp", 0.09, 100, 1000)}},
		"logarithmic": {Delta: 1e-5, Releases: 50, Run: "runs/<a&b>", GroupSize: 2, Accountants: []Compared{line("exact", 1e-9, 1, 50), line("pld", 1e-9, 1, 50), line("rdp", 1.1e-9, 1, 50), line("zcdp", 2, 1, 50), line("basic", 1e9, 1, 50), line("optimal", 1e8, 50), line("advanced", 1e8, 50)}},
		"one point":   {Delta: 1e-5, Releases: 1, Accountants: []Compared{line("exact", 0.3, 1)}},
		"zero":        {Delta: 1e-5, Releases: 1, Accountants: []Compared{line("exact", 0, 1)}},
		"none":        {Delta: 1e-5, Accountants: []Compared{{Accountant: "exact", Error: "cannot"}}},
	}
}

// Both files are whole, and what is drawn stays within the picture.
func TestWritePlot(t *testing.T) {
	for name, c := range plots() {
		for _, format := range PlotFormats() {
			path := filepath.Join(t.TempDir(), "plot"+strings.ToUpper(format))
			if err := c.WritePlot(path); err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if format == ".svg" {
				checkSVG(t, name, content)
			} else {
				checkPNG(t, name, content)
			}
		}
	}
	if err := plots()["linear"].WritePlot(filepath.Join(t.TempDir(), "plot.pdf")); err == nil || !strings.Contains(err.Error(), "expected a file that ends in .svg or .png") {
		t.Errorf("found error %v", err)
	}
}

func checkSVG(t *testing.T, name string, content []byte) {
	t.Helper()
	lines, texts := 0, 0
	for dec := xml.NewDecoder(bytes.NewReader(content)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, content)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range start.Attr {
			if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
				t.Errorf("%s: found %s=%q", name, a.Name.Local, a.Value)
			}
		}
		switch start.Name.Local {
		case "polyline":
			lines++
		case "text":
			texts++
		}
	}
	if empty := name == "none" || name == "zero"; empty != (lines == 0) || texts < 3 {
		t.Errorf("%s: found %d lines and %d texts", name, lines, texts)
	}
}

func checkPNG(t *testing.T, name string, content []byte) {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if picture.Bounds() != image.Rect(0, 0, chartWidth, chartHeight) {
		t.Errorf("%s: found %v", name, picture.Bounds())
	}
	blue, want := 0, palette[0]
	for y := range chartHeight {
		for x := range chartWidth {
			if picture.At(x, y) == color.Color(want) {
				blue++
			}
		}
	}
	if empty := name == "none" || name == "zero"; empty != (blue < 20) {
		t.Errorf("%s: found %d pixels of the first line", name, blue)
	}
}

// recorder is a canvas that remembers.
type recorder struct {
	texts map[string]point
	lines int
}

func (r *recorder) line(points []point, _ color.RGBA, _ float64, _ []float64) { r.lines++ }
func (r *recorder) text(at point, text string, _ color.RGBA, _ align)         { r.texts[text] = at }

// Names of lines do not overlap and stay within the picture, and the axis is logarithmic where values are far apart.
func TestChartIsReadable(t *testing.T) {
	for name, c := range plots() {
		r := recorder{texts: map[string]point{}}
		d := c.chart()
		d.draw(&r)
		if want := name == "logarithmic"; d.logarithmic != want {
			t.Errorf("%s: logarithmic is %t", name, d.logarithmic)
		}
		var heights []float64
		for text, at := range r.texts {
			if at.x > chartWidth-chartRight {
				heights = append(heights, at.y)
			}
			if at.x < 0 || at.x > chartWidth || at.y < 0 || at.y > chartHeight {
				t.Errorf("%s: %q is at %v", name, text, at)
			}
		}
		slices.Sort(heights)
		for i := 1; i < len(heights); i++ {
			if heights[i]-heights[i-1] < textHeight-1e-9 {
				t.Errorf("%s: names overlap at %v and %v", name, heights[i-1], heights[i])
			}
		}
		if len(heights) != len(d.lines) {
			t.Errorf("%s: found %d names for %d lines", name, len(heights), len(d.lines))
		}
	}
}

// A line that ends far above the least one is named and not drawn.
func TestFarLinesAreOffTheChart(t *testing.T) {
	low, high := 6.0, 11000.0
	c := Comparison{Delta: 1e-5, Releases: 100, Accountants: []Compared{
		{Accountant: "exact", Epsilon: &low, Curve: []Spend{{Steps: 50, Epsilon: 4}, {Steps: 100, Epsilon: low}}},
		{Accountant: "basic", Epsilon: &high, Curve: []Spend{{Steps: 50, Epsilon: 5500}, {Steps: 100, Epsilon: high}}},
	}}
	d := c.chart()
	if len(d.lines) != 1 || d.lines[0].name != "exact" || d.logarithmic || !strings.Contains(d.subtitle, "off the chart: basic 1.1e+04") {
		t.Errorf("found %d lines below %q", len(d.lines), d.subtitle)
	}
}

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		low, high float64
		want      string
	}{{0, 3.1, "[0 1 2 3]"}, {0, 4688, "[0 1000 2000 3000 4000]"}, {0, 1.2e-4, "[0 2e-05 4e-05 6e-05 8e-05 0.0001 0.00012]"}} {
		if found := fmt.Sprintf("%.3g", linearTicks(test.low, test.high, 6)); fmt.Sprint(linearTicks(test.low, test.high, 6)) != test.want && found != test.want {
			t.Errorf("found %v, expected %s", found, test.want)
		}
	}
	for _, f := range []frame{{low: 0.9, high: 40, logarithmic: true}, {low: 1e-300, high: 1e300, logarithmic: true}, {low: 2, high: 2.1, logarithmic: true}} {
		if n := len(f.ticks()); n > 12 {
			t.Errorf("%v: found %d ticks", f, n)
		}
	}
	for x, want := range map[float64]string{0: "0", 0.05: "0.05", 4000: "4000", 20000: "20k", 1e6: "1M", 2.5e6: "2.5M", 1e9: "1G", 1e-5: "1e-05", 1e100: "1e+100"} {
		if found := shortNumber(x); found != want {
			t.Errorf("found %s, expected %s", found, want)
		}
	}
}

// Dashes cover the share of the line that their lengths say, and no dash leaves it.
func TestDash(t *testing.T) {
	path := []point{{0, 0}, {30, 0}, {30, 70}}
	total := 0.0
	for _, piece := range dash(path, []float64{6, 4}) {
		for i := 1; i < len(piece); i++ {
			total += math.Hypot(piece[i].x-piece[i-1].x, piece[i].y-piece[i-1].y)
		}
	}
	if math.Abs(total-60) > 1e-9 {
		t.Errorf("found %v of 100, expected 60", total)
	}
	if whole := dash(path, nil); len(whole) != 1 || len(whole[0]) != 3 {
		t.Errorf("found %v, expected the line", whole)
	}
}
