package features

import (
	"image"
	"image/color"
	"image/draw"
	"math"
)

// sheetGap is the width of the lines between the pictures of a sheet, in pixels.
const sheetGap = 2

// sheetBackground is the colour between the pictures.
var sheetBackground = color.RGBA{128, 128, 128, 255}

// Sheet returns one image that shows the first n pictures, or all if there are fewer, row by row
// on a square or less.
func (p *Drawings) Sheet(n int) image.Image {
	n = min(n, p.Count)
	columns := int(math.Ceil(math.Sqrt(float64(n))))
	rows := (n + columns - 1) / columns
	sheet := image.NewRGBA(image.Rect(0, 0, columns*(p.Width+sheetGap)-sheetGap, rows*(p.Height+sheetGap)-sheetGap))
	draw.Draw(sheet, sheet.Bounds(), image.NewUniform(sheetBackground), image.Point{}, draw.Src)
	for i := range n {
		p.show(sheet, i, i%columns*(p.Width+sheetGap), i/columns*(p.Height+sheetGap))
	}
	return sheet
}

// show copies picture i to the sheet.
func (p *Drawings) show(sheet *image.RGBA, i, left, top int) {
	values, area := p.At(i), p.Height*p.Width
	level := func(at, channel int) uint8 {
		return uint8(math.Round(255 * float64(values[min(channel, p.Channels-1)*area+at])))
	}
	for at := range area {
		sheet.SetRGBA(left+at%p.Width, top+at/p.Width,
			color.RGBA{level(at, 0), level(at, 1), level(at, 2), 255})
	}
}
