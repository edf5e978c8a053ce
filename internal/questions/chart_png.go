package questions

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/inconsolata"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// pngCanvas draws pixels, lines with smooth edges.
type pngCanvas struct{ picture *image.RGBA }

// png draws a chart as a PNG file.
func (c chart) png() ([]byte, error) {
	p := pngCanvas{image.NewRGBA(image.Rect(0, 0, chartWidth, chartHeight))}
	draw.Draw(p.picture, p.picture.Bounds(), image.White, image.Point{}, draw.Src)
	c.draw(p)
	var b bytes.Buffer
	err := png.Encode(&b, p.picture)
	return b.Bytes(), err
}

func (p pngCanvas) line(points []point, c color.RGBA, width float64, dashes []float64) {
	shape := vector.NewRasterizer(chartWidth, chartHeight)
	for _, piece := range dash(points, dashes) {
		for i := 1; i < len(piece); i++ {
			rectangle(shape, piece[i-1], piece[i], width)
		}
	}
	shape.Draw(p.picture, p.picture.Bounds(), image.NewUniform(c), image.Point{})
}

// rectangle adds a straight piece of a line, a little longer than it is so that bends are closed.
func rectangle(shape *vector.Rasterizer, a, b point, width float64) {
	length := math.Hypot(b.x-a.x, b.y-a.y)
	if length == 0 {
		return
	}
	ux, uy := (b.x-a.x)/length, (b.y-a.y)/length
	along, across := min(width, 2)/4, width/2
	corner := func(p point, forward, side float64) (float32, float32) {
		return float32(p.x + 0.5 + ux*forward - uy*side), float32(p.y + 0.5 + uy*forward + ux*side)
	}
	shape.MoveTo(corner(a, -along, -across))
	shape.LineTo(corner(b, along, -across))
	shape.LineTo(corner(b, along, across))
	shape.LineTo(corner(a, -along, across))
	shape.ClosePath()
}

// dash cuts a line into the pieces that are drawn: lengths of ink and of gaps alternate.
func dash(points []point, lengths []float64) [][]point {
	if len(lengths) == 0 {
		return [][]point{points}
	}
	var pieces [][]point
	current := []point{points[0]}
	drawing, i, left := true, 0, lengths[0]
	for k := 1; k < len(points); k++ {
		a, b := points[k-1], points[k]
		for length := math.Hypot(b.x-a.x, b.y-a.y); length > 0; {
			step := min(left, length)
			a = point{a.x + (b.x-a.x)*step/length, a.y + (b.y-a.y)*step/length}
			if length, left = length-step, left-step; drawing {
				current = append(current, a)
			}
			if left > 0 {
				continue
			}
			if drawing {
				pieces = append(pieces, current)
			}
			i, drawing = (i+1)%len(lengths), !drawing
			left, current = lengths[i], []point{a}
		}
	}
	if drawing {
		pieces = append(pieces, current)
	}
	return pieces
}

// text writes with a font of fixed size, which has no Greek letters.
func (p pngCanvas) text(at point, text string, c color.RGBA, a align) {
	text = strings.NewReplacer("ε", "epsilon", "δ", "delta").Replace(text)
	d := font.Drawer{Dst: p.picture, Src: image.NewUniform(c), Face: inconsolata.Regular8x16}
	width := d.MeasureString(text)
	d.Dot = fixed.P(int(math.Round(at.x)), int(math.Round(at.y)))
	switch a {
	case alignCentre:
		d.Dot.X -= width / 2
	case alignRight:
		d.Dot.X -= width
	}
	d.DrawString(text)
}
