// Package chart draws lines over numbers as an SVG or PNG file, by gonum.org/v1/plot. The name of a
// line stands where it ends, in its colour; there is no legend. Colours are those that colour-blind
// readers tell apart, and lines that lie on each other differ in width and dashes too. The same
// value gives the same bytes.
package chart

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/checkpoints"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// Chart is what a figure shows.
type Chart struct {
	Title, Subtitle string
	X, Y            string // what the axes show
	Lines           []Line // the first ones are drawn first
	Logarithmic     bool   // the y axis; a value that is not positive is then left out
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

// Formats are the endings of the files that Write knows.
func Formats() []string { return []string{".svg", ".png"} }

// Write draws the chart into a file, as its ending says, in any case. The file is whole or absent;
// one in its place is replaced. Errors start without a package, for the caller to put its own
// before them.
func (c Chart) Write(path string) error {
	ending := strings.ToLower(filepath.Ext(path))
	if !slices.Contains(Formats(), ending) {
		return fmt.Errorf("found the plot %s, expected a file that ends in %s", path, strings.Join(Formats(), " or "))
	}
	canvas, err := draw.NewFormattedCanvas(width, height, ending[1:])
	if err != nil {
		return fmt.Errorf("cannot draw the plot: %w", err)
	}
	c.draw(draw.New(canvas))
	var picture bytes.Buffer
	if _, err := canvas.WriteTo(&picture); err != nil {
		return fmt.Errorf("cannot draw the plot: %w", err)
	}
	content := picture.Bytes()
	if ending == ".svg" {
		content = withCommonFonts(content)
	}
	if err := checkpoints.WriteFileAtomic(path, content, 0o644); err != nil {
		return fmt.Errorf("cannot write the plot: %w", err)
	}
	return nil
}

// withCommonFonts names, after the font of the layout, those of the same widths that other systems
// have: SVG text stays text.
func withCommonFonts(svg []byte) []byte {
	const font = "font-family:Liberation Sans;"
	return bytes.ReplaceAll(svg, []byte(font), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
}
