package features

import (
	"math"
	"slices"
	"testing"

	"dpsgd/data"
)

// leaning is a bar that moves slant columns a row to the right, in all channels of a picture of a
// ground of another value; its middle is at a row and a column.
func leaning(shape data.Shape, row, column, slant float64) []float32 {
	picture := make([]float32, shape.Values())
	area := shape.Height * shape.Width
	for i := range picture {
		r, c := float64(i%area/shape.Width)-row, float64(i%shape.Width)-column-slant*(float64(i%area/shape.Width)-row)
		ground, bar := 0.2*float32(1+i/area), float32(0.9)
		picture[i] = ground
		if math.Abs(r) <= 4 {
			picture[i] += (bar - ground) * float32(max(0, 1-math.Abs(c)/1.5))
		}
	}
	return picture
}

// What leans and stands aside is set upright in the middle, on its own ground.
func TestDeskewedPicturesAreUprightInTheMiddle(t *testing.T) {
	shape := size(20, 24, 3)
	upright := leaning(shape, 9.5, 11.5, 0)
	for _, p := range [][3]float64{{9.5, 11.5, 0}, {8.5, 10.5, 0}, {8.5, 12.5, 0.5}, {10.5, 11.5, -0.75}, {9.5, 10.5, 1}} {
		picture := leaning(shape, p[0], p[1], p[2])
		deskew(picture, shape)
		far, differ := 0.0, 0.0
		for i, v := range picture {
			d := math.Abs(float64(v - upright[i]))
			far, differ = max(far, d), differ+d/float64(len(picture))
		}
		if far > 0.2 || differ > 0.006 || p[2] == 0 && far > 1e-6 {
			t.Errorf("a bar at %v, %v that leans by %v is at most %.3f, %.4f in the mean, from the upright one", p[0], p[1], p[2], far, differ)
		}
	}
	steep := leaning(shape, 9.5, 11.5, 1.6)
	deskew(steep, shape)
	if row := steep[6*24 : 7*24]; slices.Index(row, slices.Max(row)) > 10 { // 3.5 rows up, 0.6 columns a row to the left
		t.Errorf("a bar that leans by 1.6 has its largest value at column %d six rows down, expected it to lean by 0.6 still", slices.Index(row, slices.Max(row)))
	}
	plain := slices.Repeat([]float32{0.7}, shape.Values())
	deskew(plain, shape)
	if slices.Min(plain) < 0.699999 || slices.Max(plain) > 0.700001 {
		t.Errorf("a picture of one value has values from %v to %v, expected 0.7", slices.Min(plain), slices.Max(plain))
	}
}

// A recipe with Deskew computes the rows of the upright picture, and deskews drawn pictures too.
func TestRecipeDeskews(t *testing.T) {
	shape := size(20, 24, 3)
	recipe := recipes()[scatteringKind.Name]
	recipe.Deskew = true
	rows := func(r Recipe, picture []float32) []float32 {
		e := must(r.Prepare(shape, nil))
		row := make([]float32, e.width)
		e.extract(row, 1, func(dst []float32, _ int) { copy(dst, picture) })
		return row
	}
	picture := leaning(shape, 8.5, 12.5, 0.5)
	own := rows(recipe, picture)
	deskew(picture, shape)
	plain := recipe
	plain.Deskew = false
	if !slices.Equal(own, rows(plain, picture)) {
		t.Error("found other values than those of the upright picture")
	}
	drawn := func(r Recipe) []float32 { return must(r.Prepare(shape, nil)).flattening.Shift }
	if slices.Equal(drawn(recipe), drawn(plain)) {
		t.Error("found the same means of drawn pictures, expected them deskewed")
	}
}
