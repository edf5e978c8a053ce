// Package chart draws lines over numbers, tables of numbers as colours, and values with intervals,
// by gonum.org/v1/plot: as SVG or PNG files, or as SVG for a page. The name of a line stands where
// it ends, in its colour; there is no legend. Colour-blind readers can tell the colours apart, and
// lines that lie on each other differ in width and dashes too. The same value gives the same bytes.
package chart

import (
	"slices"

	"gonum.org/v1/plot/plotter"
)

// Chart is a figure of lines.
type Chart struct {
	Title, Subtitle string
	X, Y            string // what the axes show
	Lines           []Line // the first ones are drawn first
	Logarithmic     bool   // the y axis; a value that is not positive is then left out
	Tight           bool   // the y axis begins near the least value, not at zero
}

// Line is points with a name. A point that is not finite is left out, and so is a line without
// points.
type Line struct {
	Name   string
	Points []Point // in the order in which they are joined
	Style  Style
}

// Point is one pair of numbers: X, Y.
type Point = plotter.XY

// Style says how a line looks.
type Style int

const (
	Solid  Style = iota // points are joined; one alone is a dot
	Dashed              // points are joined by a thin, grey, dashed line: an estimate, a reference
	Marked              // points are joined, and each is a dot
	Dots                // each point is a dot
)

func (c Chart) Write(path string) error { return writeFile(path, width, height, c.draw) }

// inlineName is the most characters of a line's name that fit beside an inline figure.
const inlineName = 13

func (c Chart) Inline(label string) ([]byte, error) {
	c.Title, c.Subtitle = "", ""
	c.Lines = slices.Clone(c.Lines)
	for i, l := range c.Lines {
		c.Lines[i].Name = cut(l.Name, inlineName)
	}
	return inline(label, inlineWidth, inlineHeight, c.draw)
}
