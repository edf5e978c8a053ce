package data

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
