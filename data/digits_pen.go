package data

// Lengths are in 1/256 pixel.
const pixel = 256

// knot is a point of the pen's way and half the width of the pen there.
type knot struct{ x, y, radius int }

// draw fills dst with the given digit.
func (d *DigitDrawer) draw(dst []uint8, digit int) {
	forms := skeletons[digit]
	form := &forms[d.dice.below(len(forms))]
	d.place(form)
	d.drawField()
	clear(d.ink[:])
	for _, stroke := range form.strokes {
		d.follow(stroke)
		for i := 1; i < len(d.way); i++ {
			d.line(d.way[i-1], d.way[i])
		}
	}
	d.develop(dst)
}

// place moves each point of a skeleton at random and maps the box of 100 by 140
// to pixels: size, proportions, slant, rotation (two shears) and position vary.
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

// follow turns a stroke into a fine polygon: a Catmull-Rom spline through its
// points, each bent by the field. A closed stroke is smooth where it closes.
func (d *DigitDrawer) follow(stroke []uint8) {
	const steps = 6 // of one piece
	d.way = d.way[:0]
	last := len(stroke) - 1
	closed := stroke[0] == stroke[last]
	at := func(i int) knot {
		switch {
		case closed:
			return d.knots[stroke[(i+last)%last]]
		default:
			return d.knots[stroke[min(max(i, 0), last)]]
		}
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

// spline evaluates the uniform Catmull-Rom spline between b and c at s/n: half of
// 2b + (c−a)t + (2a−5b+4c−e)t² + (3b−a−3c+e)t³.
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

func (d *DigitDrawer) drawField() {
	strength := d.dice.between(pixel, 3*pixel)
	for i := range d.field {
		d.field[i] = [2]int{d.dice.around(strength), d.dice.around(strength)}
	}
}

// bend shifts a point by the field, interpolated between its four grid points
// with weights 3t²−2t³, which has no kinks.
func (d *DigitDrawer) bend(k knot) knot {
	column, across := cell(k.x)
	row, down := cell(k.y)
	corner := row*fieldSide + column
	for axis := range 2 {
		top := blend(d.field[corner][axis], d.field[corner+1][axis], across)
		bottom := blend(d.field[corner+fieldSide][axis], d.field[corner+fieldSide+1][axis], across)
		shift := blend(top, bottom, down)
		if axis == 0 {
			k.x += shift
		} else {
			k.y += shift
		}
	}
	return k
}

// cell returns the grid cell of a coordinate, one step of margin included, and the
// smoothed position inside it, 0 to 256.
func cell(x int) (index, position int) {
	x = min(max(x+fieldStep/2, 0), (fieldSide-1)*fieldStep-1)
	t := x % fieldStep * 256 / fieldStep
	return x / fieldStep, t * t * (3*256 - 2*t) / (256 * 256)
}

func blend(a, b, position int) int { return a + (b-a)*position/256 }
