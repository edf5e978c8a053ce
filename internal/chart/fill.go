package chart

import (
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// fill writes a text from a place to the right, in at most so many lines that end within the figure.
func fill(on draw.Canvas, style text.Style, at vg.Point, text string, lines int) {
	for i, line := range broken(style, text, on.Max.X-margin/2-at.X, lines) {
		on.FillText(style, vg.Point{X: at.X, Y: at.Y - vg.Length(i)*textHeight}, line)
	}
}

// broken breaks a text at spaces into lines of a width. What does not fit the last one is cut.
func broken(style text.Style, text string, width vg.Length, lines int) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(text) {
		longer := strings.TrimPrefix(line+" "+word, " ")
		if style.Width(longer) > width && line != "" && len(out)+1 < lines {
			out, longer = append(out, line), word
		}
		line = longer
	}
	if style.Width(line) > width {
		runes := []rune(line)
		for len(runes) > 0 && style.Width(string(runes)+"…") > width {
			runes = runes[:len(runes)-1]
		}
		line = string(runes) + "…"
	}
	return append(out, line)
}
