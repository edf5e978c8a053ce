package drawn

import (
	"image"
	"image/color"
	"image/draw"
	"math"
)

// gap is the width of the lines between the pictures of a sheet, in pixels.
const gap = 2

// background is the colour between the pictures.
var background = color.RGBA{128, 128, 128, 255}

// Sheet returns one image that shows the first n pictures, or all if there are fewer, row by row
// on a square or less.
func (p *Pictures) Sheet(n int) image.Image {
	n = min(n, p.Count)
	columns := int(math.Ceil(math.Sqrt(float64(n))))
	rows := (n + columns - 1) / columns
	sheet := image.NewRGBA(image.Rect(0, 0, columns*(p.Width+gap)-gap, rows*(p.Height+gap)-gap))
	draw.Draw(sheet, sheet.Bounds(), image.NewUniform(background), image.Point{}, draw.Src)
	for i := range n {
		p.show(sheet, i, i%columns*(p.Width+gap), i/columns*(p.Height+gap))
	}
	return sheet
}

// show copies picture i to the sheet.
func (p *Pictures) show(sheet *image.RGBA, i, left, top int) {
	values, area := p.At(i), p.Height*p.Width
	level := func(at, channel int) uint8 {
		return uint8(math.Round(255 * float64(values[min(channel, p.Channels-1)*area+at])))
	}
	for at := range area {
		sheet.SetRGBA(left+at%p.Width, top+at/p.Width,
			color.RGBA{level(at, 0), level(at, 1), level(at, 2), 255})
	}
}
