package features

import (
	"dpsgd/data"
)

// halfBorder is the number of pixels by which the half of a picture is extended on each side, by
// reflection, so that its patches also show the picture's edge in their middle.
const halfBorder = 2

// halve writes to dst the means of the 2×2 blocks of one plane of height×width, which leaves out a
// last row or column that has no partner. Rows of dst are pitch apart.
func halve(dst []float32, pitch int, src []float32, height, width int) {
	for y := range height / 2 {
		above, below := src[2*y*width:][:width], src[(2*y+1)*width:][:width]
		row := dst[y*pitch:][:width/2]
		for x := range row {
			row[x] = (above[2*x] + above[2*x+1] + below[2*x] + below[2*x+1]) / 4
		}
	}
}

// halveWithBorder writes the half of a picture of a shape, with its border, to dst.
func halveWithBorder(dst, picture []float32, shape data.Shape) {
	height, width := shape.Height/2+2*halfBorder, shape.Width/2+2*halfBorder
	for c := range shape.Channels {
		plane := dst[c*height*width : (c+1)*height*width]
		source := picture[c*shape.Height*shape.Width:]
		halve(plane[halfBorder*width+halfBorder:], width, source, shape.Height, shape.Width)
		reflectBorder(plane, height, width)
	}
}

// reflectBorder fills the border of a plane of height×width from what is inside; the outermost row and
// column of that are not repeated.
func reflectBorder(plane []float32, height, width int) {
	for y := halfBorder; y < height-halfBorder; y++ {
		row := plane[y*width : (y+1)*width]
		for i := 1; i <= halfBorder; i++ {
			row[halfBorder-i], row[width-1-halfBorder+i] = row[halfBorder+i], row[width-1-halfBorder-i]
		}
	}
	for i := 1; i <= halfBorder; i++ {
		top, bottom := halfBorder, height-1-halfBorder
		copy(plane[(top-i)*width:(top-i+1)*width], plane[(top+i)*width:])
		copy(plane[(bottom+i)*width:(bottom+i+1)*width], plane[(bottom-i)*width:])
	}
}

// halves returns the halves of drawn pictures, without a border.
func halves(p *Drawings) *Drawings {
	shape := data.Shape{Height: p.Height / 2, Width: p.Width / 2, Channels: p.Channels}
	h := &Drawings{Shape: shape, Count: p.Count, Values: make([]float32, p.Count*shape.Values())}
	from, to := p.Height*p.Width, shape.Height*shape.Width
	for i := range p.Count * p.Channels {
		halve(h.Values[i*to:], shape.Width, p.Values[i*from:], p.Height, p.Width)
	}
	return h
}
