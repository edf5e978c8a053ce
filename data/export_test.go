package data

// Apply is what a view does to its picture, whatever was drawn.
func Apply(flip bool, down, across int, dst, picture []float32, s Shape) {
	change{flip, down, across}.apply(dst, picture, s)
}

// Draw is what was drawn for a view.
func (v *Views) Draw(step, example, view int) (flip bool, down, across int) {
	c := v.draw(step, example, view)
	return c.flip, c.down, c.across
}
