package chart

import (
	"bytes"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/tiny"
)

// figures are one of each kind, with text that a page must not run.
func figures() map[string]Figure {
	return map[string]Figure{
		"chart": charts()["logarithmic"],
		"heat": Heat{Title: "accuracy", X: "noise", Y: "clip norm", Columns: []string{"1", "<b>"}, Rows: []string{"0.1", "a very long <i> name"},
			Cells: [][]Cell{{{90, "90"}, {91, "91"}}, {{92, "<s>"}, {math.NaN(), "never"}}}},
		"intervals": Intervals{Title: "accuracy", X: "%", Series: []string{"one", "<i>"}, Zero: true, Rows: []Interval{{"<script>", 90, 80, 95, 0}, {"b", 50, 40, 60, 1}}},
	}
}

// An inline figure is one element that says what it shows, is well-formed, runs nothing, and leaves
// its colours to the page; the same figure gives the same bytes.
func TestInline(t *testing.T) {
	for name, f := range figures() {
		svg, err := f.Inline(`a "quoted" <label>`)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		parse(t, svg)
		text := string(svg)
		for _, want := range []string{`<svg viewBox="0 0 330 `, `role="img" aria-label="a &#34;quoted&#34; &lt;label&gt;"`, "var(--chart-ink,#22262E)", "var(--chart-grey,"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: found no %q", name, want)
			}
		}
		for _, never := range []string{"<script", "<b>", "<i>", "<s>", "never", "<title>", "<?xml", ":#22262E"} {
			if strings.Contains(text, never) {
				t.Errorf("%s: found %q", name, never)
			}
		}
		if again, _ := f.Inline(`a "quoted" <label>`); !bytes.Equal(svg, again) {
			t.Errorf("%s: two drawings differ", name)
		}
	}
}

// Every figure is written as both formats, with its title, and the same figure gives the same
// bytes.
func TestFiguresAsFiles(t *testing.T) {
	for name, f := range figures() {
		for _, format := range Formats() {
			content := write(t, f, "figure"+format)
			if !bytes.Equal(content, write(t, f, "figure"+format)) {
				t.Errorf("%s: two %s differ", name, format)
			}
			if format == ".png" {
				picture, err := png.Decode(bytes.NewReader(content))
				if err != nil || picture.Bounds().Dx() != 900 {
					t.Errorf("%s: found error %v, expected a picture 900 pixels wide", name, err)
				}
				continue
			}
			texts, _ := parse(t, content)
			if !slices.ContainsFunc(texts, func(s svgText) bool { return s.text == "accuracy" || s.text == "a <title> & more" }) {
				t.Errorf("%s: found no title in %v", name, texts)
			}
		}
	}
}

// A figure whose name says that it is private is for its owner alone.
func TestPrivateFigures(t *testing.T) {
	for name, want := range map[string]os.FileMode{"a.svg": 0o644, "a.private.svg": 0o600, "Private.PNG": 0o600} {
		path := filepath.Join(t.TempDir(), name)
		tiny.Check(t, figures()["chart"].Write(path))
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&^want != 0 {
			t.Errorf("%s: found %v, expected at most %v (%v)", name, info.Mode(), want, err)
		}
	}
}

// The largest number has the darkest cell, the least the palest, and every text is read on its
// cell: a contrast of 4.5, as the guidelines for web content ask.
func TestShades(t *testing.T) {
	if shade(0) != pale || shade(1) != deep {
		t.Errorf("found %v to %v, expected %v to %v", shade(0), shade(1), pale, deep)
	}
	for i := range 101 {
		background, text := shade(float64(i)/100), textOn(float64(i)/100)
		found, pale, deep := contrast(background, text), contrast(background, onPale), contrast(background, onDeep)
		if found < 4.5 || found < max(pale, deep) {
			t.Errorf("at %d %%: found a contrast of %.2f, expected 4.5, and the larger of %.2f and %.2f", i, found, pale, deep)
		}
	}
	h := figures()["heat"].(Heat)
	if least, most := h.span(); least != 90 || most != 92 || share(91, least, most) != 0.5 || share(3, 3, 3) != 0 {
		t.Errorf("found %v to %v", least, most)
	}
}

// contrast is the ratio of two colours by the Web Content Accessibility Guidelines 2.1.
func contrast(a, b color.NRGBA) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance is the relative luminance of the same guidelines.
func luminance(c color.NRGBA) float64 {
	linear := func(v uint8) float64 {
		s := float64(v) / 255
		if s <= 0.03928 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// A tight axis begins near the least value, so that small differences are seen.
func TestTight(t *testing.T) {
	c := Chart{Tight: true, Lines: []Line{{Name: "a", Points: []Point{{X: 1, Y: 97}, {X: 2, Y: 98}}}}}
	if p := c.plot(); p.Y.Min < 96 || p.Y.Min >= 97 || p.Y.Max <= 98 || p.Y.Max > 99 || p.X.Min != 0 {
		t.Errorf("found y from %v to %v, x from %v", p.Y.Min, p.Y.Max, p.X.Min)
	}
	c.Lines[0].Points = c.Lines[0].Points[:1]
	if p := c.plot(); !(p.Y.Min < 97 && 97 < p.Y.Max) || p.Y.Max-p.Y.Min < leastSpan {
		t.Errorf("one point: found y from %v to %v", p.Y.Min, p.Y.Max)
	}
	const cut = "axis not from 0"
	if svg := string(write(t, c, "cut.svg")); !strings.Contains(svg, cut) {
		t.Errorf("the figure does not say %q", cut)
	}
	c.Tight = false
	if svg := string(write(t, c, "whole.svg")); strings.Contains(svg, cut) {
		t.Errorf("a figure from 0 says %q", cut)
	}
}
