package data

// pixel is the side of a pixel: lengths are in 1/256 pixel.
const pixel = 256

// knot is a point of the pen's way and half the width of the pen there.
type knot struct{ x, y, radius int }

// draw fills dst with a picture of the given digit.
func (d *DigitDrawer) draw(dst []uint8, digit int) {
	forms := skeletons[digit]
	form := &forms[d.dice.below(len(forms))]
	d.place(form)
	strength := d.dice.between(pixel, 3*pixel)
	for i := range d.field {
		d.field[i] = [2]int{d.dice.around(strength), d.dice.around(strength)}
	}
	clear(d.ink[:])
	for _, stroke := range form.strokes {
		d.follow(stroke)
		for i := 1; i < len(d.way); i++ {
			d.line(d.way[i-1], d.way[i])
		}
	}
	d.develop(dst)
}

// place sets the knots to the points of a skeleton, moved at random, its box of 100 by 140 mapped
// to pixels: size, proportions, slant, rotation (two shears), position and pen width vary.
func (d *DigitDrawer) place(form *skeleton) {
	r := &d.dice
	height := r.between(17*pixel, 20*pixel) / 140 // of one unit
	width := height * r.between(85, 125) / 100
	slant := r.around(110) // 1/256 pixel right for each pixel up; up to 23°
	turn := r.around(64)   // the same down for each pixel right; up to 14°
	centreX, centreY := 14*pixel+r.around(2*pixel), 14*pixel+r.around(2*pixel)
	wobble := r.between(5, 12) // units
	radius := r.between(pixel*7/10, pixel*17/10)
	d.knots = d.knots[:0]
	for _, p := range form.points {
		u := (int(p[0])-50)*8 + r.around(8*wobble)
		v := (int(p[1])-70)*8 + r.around(8*wobble)
		x, y := u*width/8, v*height/8
		x -= y * slant / pixel
		y += x * turn / pixel
		d.knots = append(d.knots, knot{centreX + x, centreY + y, radius * r.between(80, 115) / 100})
	}
}

// follow sets the pen's way to a fine polygon: a Catmull-Rom spline through a stroke's points, each
// point of the polygon bent by the field. A closed stroke is smooth where it closes.
func (d *DigitDrawer) follow(stroke []uint8) {
	const steps = 6 // of one piece
	d.way = d.way[:0]
	last := len(stroke) - 1
	at := func(i int) knot {
		if stroke[0] == stroke[last] { // closed
			return d.knots[stroke[(i+last)%last]]
		}
		return d.knots[stroke[min(max(i, 0), last)]]
	}
	for piece := range last {
		a, b, c, e := at(piece-1), at(piece), at(piece+1), at(piece+2)
		for s := range steps {
			d.way = append(d.way, d.bend(knot{
				spline(a.x, b.x, c.x, e.x, s, steps),
				spline(a.y, b.y, c.y, e.y, s, steps),
				b.radius + (c.radius-b.radius)*s/steps,
			}))
		}
	}
	d.way = append(d.way, d.bend(at(last)))
}

// spline evaluates the uniform Catmull-Rom spline through a, b, c and e between b and c at t = s/n:
// half of 2b + (c−a)t + (2a−5b+4c−e)t² + (3b−a−3c+e)t³.
func spline(a, b, c, e, s, n int) int {
	cubic := (3*b - a - 3*c + e) * s
	square := (cubic + (2*a-5*b+4*c-e)*n) * s
	return b + (square+(c-a)*n*n)*s/(2*n*n*n)
}

// The field that bends a digit is a grid of random shifts, 7 pixels apart.
const (
	fieldSide = 6
	fieldStep = 7 * pixel
)

// bend shifts a point by the field, interpolated between its four grid points
// with weights 3t²−2t³, which has no kinks.
func (d *DigitDrawer) bend(k knot) knot {
	column, across := cell(k.x)
	row, down := cell(k.y)
	corner := row*fieldSide + column
	shift := func(axis int) int {
		top := blend(d.field[corner][axis], d.field[corner+1][axis], across)
		bottom := blend(d.field[corner+fieldSide][axis], d.field[corner+fieldSide+1][axis], across)
		return blend(top, bottom, down)
	}
	return knot{k.x + shift(0), k.y + shift(1), k.radius}
}

// cell returns the grid cell of a coordinate and the smoothed position inside the cell, 0 to 256.
// The grid begins half a step before the picture and ends half a step after it.
func cell(x int) (index, position int) {
	x = min(max(x+fieldStep/2, 0), (fieldSide-1)*fieldStep-1)
	t := x % fieldStep * 256 / fieldStep
	return x / fieldStep, t * t * (3*256 - 2*t) / (256 * 256)
}

func blend(a, b, position int) int { return a + (b-a)*position/256 }

// line inks the pixels near the line from a to b: full inside the pen, falling to
// nothing over one pixel around its edge. Where lines overlap the darker one counts.
func (d *DigitDrawer) line(a, b knot) {
	reach := max(a.radius, b.radius) + pixel/2
	left, right := inkSpan(min(a.x, b.x)-reach, max(a.x, b.x)+reach)
	top, bottom := inkSpan(min(a.y, b.y)-reach, max(a.y, b.y)+reach)
	dx, dy := b.x-a.x, b.y-a.y
	const places = 20 // binary, of the reciprocal that spares a division for each pixel
	inverse := (pixel << places) / int64(max(dx*dx+dy*dy, 1))
	for row := top; row <= bottom; row++ {
		py := row*pixel + pixel/2 - a.y
		for column := left; column <= right; column++ {
			px := column*pixel + pixel/2 - a.x
			t := int(min(max(int64(px*dx+py*dy)*inverse>>places, 0), pixel))
			ex, ey := px-dx*t/pixel, py-dy*t/pixel
			radius := a.radius + (b.radius-a.radius)*t/pixel
			// In squared distances the edge runs from (r−½)² to (r+½)², a width of 2r.
			outer := radius + pixel/2
			inside := outer*outer - ex*ex - ey*ey
			if at := &d.ink[row*DigitSide+column]; inside > 0 && *at < 255 {
				*at = max(*at, min(inside*255/(2*radius*pixel), 255))
			}
		}
	}
}

// inkSpan returns the first and last pixel whose centre can lie between two coordinates.
func inkSpan(low, high int) (first, last int) {
	return max((low-pixel/2)/pixel, 0), min((high-pixel/2)/pixel, DigitSide-1)
}

// develop turns ink into bytes: some pens are paler than others, and every pixel
// gets noise in a bell shape, stronger in some pictures than in others.
func (d *DigitDrawer) develop(dst []uint8) {
	strength := d.dice.between(170, 255)
	noise := d.dice.between(2, 24) // standard deviation
	for i, ink := range d.ink {
		// The sum of eight random bytes has mean 1020 and standard deviation 209.
		deviation := (byteSum(d.dice.pcg.Uint64()) - 1020) * noise / 209
		dst[i] = uint8(min(max(ink*strength/255+deviation, 0), 255))
	}
}

// byteSum adds the eight bytes of w.
func byteSum(w uint64) int {
	const even = 0x00ff00ff00ff00ff
	w = w&even + w>>8&even
	return int(w * 0x0001000100010001 >> 48)
}
