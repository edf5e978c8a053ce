package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpsgd/internal/tiny"

	"gonum.org/v1/plot/vg"
)

// root is factor·√x.
func root(factor float64, xs ...float64) []Point {
	var points []Point
	for _, x := range xs {
		points = append(points, Point{X: x, Y: factor * math.Sqrt(x)})
	}
	return points
}

// charts look different: both axes, all styles, one point, many lines, values far from one, none.
func charts() map[string]Chart {
	return map[string]Chart{
		"linear": {Title: "ε over steps", Subtitle: "noise multiplier 1", X: "steps", Y: "ε", Lines: []Line{
			{Name: "exact 3.17", Points: root(0.1, 100, 500, 1000)}, {Name: "pld 3.17", Points: root(0.1, 100, 500, 1000)},
			{Name: "gdp (estimate) 2.9", Points: root(0.09, 100, 1000), Style: Dashed}}},
		"logarithmic": {Title: "a <title> & more", X: "steps", Y: "ε", Logarithmic: true, Lines: []Line{
			{Name: "exact", Points: root(1e-9, 1, 50)}, {Name: "pld", Points: root(1e-9, 1, 50)}, {Name: "rdp", Points: root(1.1e-9, 1, 50)},
			{Name: "zcdp", Points: root(2, 1, 50)}, {Name: "basic", Points: root(1e9, 1, 50)},
			{Name: "optimal", Points: root(1e8, 50)}, {Name: "advanced", Points: root(1e8, 50)}}},
		"styles": {Title: "accuracy", X: "clipping norm", Y: "accuracy", Lines: []Line{
			{Name: "marked", Points: root(0.1, 1, 4, 9), Style: Marked}, {Name: "dots", Points: root(0.2, 9, 1, 4), Style: Dots}}},
		"one point":              {Title: "one", X: "steps", Y: "ε", Lines: []Line{{Name: "exact 0.3", Points: root(0.3, 1)}}},
		"one point, logarithmic": {Title: "one", X: "steps", Y: "ε", Logarithmic: true, Lines: []Line{{Name: "exact 0.3", Points: root(0.3, 1)}}},
		"zero":                   {Title: "zero", X: "steps", Y: "ε", Lines: []Line{{Name: "zero", Points: root(0, 0, 1)}}},
		"below":                  {Title: "below zero", X: "x", Y: "y", Lines: []Line{{Name: "below", Points: []Point{{X: -2, Y: -5}, {X: 3, Y: -1}}}}},
		"extreme":                {Title: "extreme", X: "steps", Y: "ε", Logarithmic: true, Lines: []Line{{Name: "x", Points: []Point{{X: 1e-300, Y: 1e-300}, {X: 1e300, Y: 1e300}}}}},
		"tiny":                   {Title: "tiny", X: "steps", Y: "ε", Lines: []Line{{Name: "x", Points: root(1e-300, 1e-9, 2e-9)}}},
		"none":                   {Title: "none", Subtitle: "nobody has an answer", X: "steps", Y: "ε"},
	}
}

// write returns what the file of a figure holds.
func write(t *testing.T, f Figure, name string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	tiny.Check(t, f.Write(path))
	content := tiny.Must(os.ReadFile(path))(t)
	return content
}

// svgText is a text with the place of its first letter, in points from the top left corner.
type svgText struct {
	x, y float64
	text string
}

// parse returns the texts and the styles of the paths of an SVG, all of whose numbers are finite.
func parse(t *testing.T, svg []byte) (texts []svgText, paths []string) {
	t.Helper()
	for dec := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return texts, paths
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, svg)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		attributes := map[string]string{}
		for _, a := range start.Attr {
			attributes[a.Name.Local] = a.Value
			if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
				t.Errorf("found %s=%q", a.Name.Local, a.Value)
			}
		}
		switch start.Name.Local {
		case "path":
			paths = append(paths, attributes["style"])
		case "text":
			var content string
			tiny.Check(t, dec.DecodeElement(&content, &start))
			x, errX := strconv.ParseFloat(attributes["x"], 64)
			y, errY := strconv.ParseFloat(attributes["y"], 64)
			if errX != nil || errY != nil {
				t.Fatalf("%q is at %q, %q", content, attributes["x"], attributes["y"])
			}
			texts = append(texts, svgText{x, y + height, content})
		}
	}
}

// Every line is drawn and named, texts stay within the picture, and no two overlap.
func TestSVG(t *testing.T) {
	for name, c := range charts() {
		texts, paths := parse(t, write(t, c, "plot.svg"))
		for i, l := range c.Lines {
			s := l.stroke(i)
			hex := strings.ToUpper(strconv.FormatInt(int64(rgb(s.Color)), 16))
			hex = "#" + strings.Repeat("0", 6-len(hex)) + hex
			drawn := slices.ContainsFunc(paths, func(style string) bool {
				return strings.Contains(style, "fill:"+hex) || strings.Contains(style, "stroke:"+hex+";") && strings.Contains(style, "stroke-width:"+strconv.FormatFloat(s.Width.Points(), 'g', -1, 64))
			})
			if !drawn {
				t.Errorf("%s: %s is not drawn", name, l.Name)
			}
		}
		want := []string{c.Title}
		if len(c.Lines) > 0 {
			want = append(want, c.X)
		}
		for _, l := range c.Lines {
			want = append(want, l.Name)
		}
		for _, w := range want {
			if !slices.ContainsFunc(texts, func(s svgText) bool { return s.text == w }) {
				t.Errorf("%s: %q is not written", name, w)
			}
		}
		checkTexts(t, name, texts)
	}
}

func rgb(c color.Color) uint32 {
	r, g, b, _ := c.RGBA()
	return r>>8<<16 | g>>8<<8 | b>>8
}

func checkTexts(t *testing.T, name string, texts []svgText) {
	t.Helper()
	wide := func(s svgText) float64 { return s.x + in(ink).Width(s.text).Points() }
	for i, a := range texts {
		if a.x < 0 || wide(a) > width || a.y < textSize.Points() || a.y > height {
			t.Errorf("%s: %q leaves the picture: it is at %v, %v", name, a.text, a.x, a.y)
		}
		for _, b := range texts[:i] {
			if a.x < wide(b) && b.x < wide(a) && math.Abs(a.y-b.y) < textSize.Points() {
				t.Errorf("%s: %q at %v, %v overlaps %q at %v, %v", name, a.text, a.x, a.y, b.text, b.x, b.y)
			}
		}
	}
}

// A PNG has 900 by 520 pixels, among them some of each line, in its colour.
func TestPNG(t *testing.T) {
	for name, c := range charts() {
		picture, err := png.Decode(bytes.NewReader(write(t, c, "plot.PNG")))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if picture.Bounds() != image.Rect(0, 0, 900, 520) {
			t.Errorf("%s: found %v", name, picture.Bounds())
		}
		pixels := map[uint32]int{}
		for y := range 520 {
			for x := range 900 {
				pixels[rgb(picture.At(x, y))]++
			}
		}
		if pixels[0xffffff] < 900*520/2 {
			t.Errorf("%s: found %d white pixels, expected most", name, pixels[0xffffff])
		}
		for i, l := range c.Lines {
			if n := pixels[rgb(l.stroke(i).Color)]; n < 5 {
				t.Errorf("%s: found %d pixels of %s", name, n, l.Name)
			}
		}
	}
}

// Points that have no place are left out, the caller's value stays as it is, and the others are
// drawn.
func TestPointsWithoutPlace(t *testing.T) {
	c := Chart{Logarithmic: true, Lines: []Line{
		{Name: "some", Points: []Point{{X: 1, Y: math.NaN()}, {X: 2, Y: 3}, {X: math.Inf(1), Y: 3}, {X: 3, Y: 0}, {X: 4, Y: 5}}},
		{Name: "none", Points: []Point{{X: 1, Y: math.Inf(1)}, {X: 2, Y: -1}}},
	}}
	found := c.drawable()
	if len(found) != 1 || found[0].Name != "some" || !slices.Equal(found[0].Points, []Point{{X: 2, Y: 3}, {X: 4, Y: 5}}) {
		t.Errorf("found %v", found)
	}
	if c.Lines[0].Points[4] != (Point{X: 4, Y: 5}) || c.Lines[1].Points[1] != (Point{X: 2, Y: -1}) {
		t.Errorf("the chart became %v", c.Lines)
	}
	texts, _ := parse(t, write(t, c, "plot.svg"))
	if slices.ContainsFunc(texts, func(s svgText) bool { return s.text == "none" }) {
		t.Error("a line without points has a name")
	}
	c.Logarithmic = false
	if found := c.drawable(); len(found) != 2 || len(found[0].Points) != 3 {
		t.Errorf("linear: found %v", found)
	}
}

// Another ending is refused, a file in its place is replaced, and a failure leaves nothing behind.
func TestWriteFiles(t *testing.T) {
	c, dir := charts()["linear"], t.TempDir()
	for _, name := range []string{"plot.pdf", "plot", "svg"} {
		path := filepath.Join(dir, name)
		if err := c.Write(path); err == nil || err.Error() != "found the plot "+path+", expected a file that ends in .svg or .png" {
			t.Errorf("found error %v", err)
		}
	}
	if err := c.Write(filepath.Join(dir, "missing", "plot.svg")); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "cannot write the plot: ") {
		t.Errorf("found error %v", err)
	}
	path := filepath.Join(dir, "plot.Svg")
	tiny.Check(t, os.WriteFile(path, bytes.Repeat([]byte("old"), 1e5), 0o644))
	tiny.Check(t, c.Write(path))
	content, err := os.ReadFile(path)
	if err != nil || bytes.Contains(content, []byte("old")) || !bytes.HasSuffix(content, []byte("</svg>\n")) {
		t.Errorf("found %d bytes, error %v", len(content), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("found %v, expected the plot alone", entries)
	}
}

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		low, high float64
		want      string
	}{
		{0.9, 40, "0.1 0.2 0.5 1 2 5 10 20 50"},
		{1e-9, 1e-4, "1e-09 1e-08 1e-07 1e-06 1e-05 0.0001"},
		{1, 1e5, "1 10 100 1000 10000 100000"},
	} {
		var labels []string
		for _, tick := range (logarithmicTicks{}).Ticks(test.low, test.high) {
			labels = append(labels, tick.Label)
		}
		if found := strings.Join(labels, " "); found != test.want {
			t.Errorf("from %v to %v found %s, expected %s", test.low, test.high, found, test.want)
		}
	}
	if n := len(logarithmicTicks{}.Ticks(1e-300, 1e300)); n > 10 {
		t.Errorf("found %d ticks over 600 decades", n)
	}
	for _, tick := range (logarithmicTicks{}).Ticks(2, 2.1) {
		if tick.Value < 2 || tick.Value > 2.1 {
			t.Errorf("found the tick %v between 2 and 2.1", tick)
		}
	}
	for _, tick := range (linearTicks{}).Ticks(0, 50) {
		if tick.Label != "" && tick.Label != "0" && tick.Label != "25" && tick.Label != "50" {
			t.Errorf("found %q", tick.Label)
		}
	}
}

// Names keep their distance and their order, within the height of the figure, wherever their lines
// end.
func TestApart(t *testing.T) {
	for _, heights := range [][]vg.Length{{0, 0, 0, 0}, {100, 100, 100, 100}, {0, 50, 51, 100}, {100, 0, 100, 0}, {50}} {
		var ends []vg.Point
		for _, h := range heights {
			ends = append(ends, vg.Point{Y: h})
		}
		found := apart(ends, 0, 100)
		for i := range found {
			if found[i] < 0 || found[i] > 100 {
				t.Errorf("%v: found %v, expected 0 to 100", heights, found)
			}
			for j := range i {
				if (found[i]-found[j])*(heights[i]-heights[j]) < 0 || math.Abs(float64(found[i]-found[j])) < float64(textHeight) {
					t.Errorf("%v: found %v", heights, found)
				}
			}
		}
	}
}

// No line is wider than the room there is, and every word is in one of them while there are enough.
func TestTextIsBrokenToItsRoom(t *testing.T) {
	style := in(ink)
	long := "noise multiplier 0.876543, sampling probability 0.123457; off the chart: optimal 1272, advanced 1311, basic 2956"
	for _, lines := range []int{1, 2, 20} {
		for _, width := range []float64{60, 200, 400, 1000} {
			found := broken(style, long, vg.Length(width), lines)
			for _, line := range found {
				if style.Width(line) > vg.Length(width) {
					t.Errorf("%q is %v wide, expected at most %v", line, style.Width(line), width)
				}
			}
			whole := strings.Join(found, " ") == long
			if len(found) > lines || whole == strings.HasSuffix(found[len(found)-1], "…") || (lines == 20 || width == 1000) && width > 60 && !whole {
				t.Errorf("%d lines of %v: %q", lines, width, found)
			}
		}
	}
	if found := broken(style, "", 10, 2); !slices.Equal(found, []string{""}) {
		t.Errorf("%q of nothing", found)
	}
}
