package features

import (
	"math"
	"math/rand/v2"
)

const (
	maxStrokes = 3
	dots       = 24 // that a stroke is made of
	// strokeSide is the side of the pictures for which the measures of strokes, in pixels, are
	// given; they grow with the picture.
	strokeSide = 28
)

type point struct{ x, y float64 }

// paintStrokes paints the first plane of a picture: cubic Bézier curves of one width. Most of them begin
// where the last one ends.
func paintStrokes(to canvas, dice *rand.Rand) {
	scale := float64(min(to.height, to.width)) / strokeSide
	width := scale * (0.9 + 1.1*dice.Float64())
	count := 1 + dice.IntN(maxStrokes)
	plane := to.plane(0)
	clear(plane)
	var end point
	for i := range count {
		var control [4]point
		for j := range control {
			control[j] = point{spot(to.width, dice), spot(to.height, dice)}
		}
		if i > 0 && dice.Float64() < 0.7 {
			control[0] = end
		}
		end = control[3]
		stroke(plane, to.width, curve(control), width, 0.8*scale)
	}
}

// spot draws a place along a side: around its middle, at most 0.3 sides away.
func spot(side int, dice *rand.Rand) float64 {
	away := math.Min(math.Max(dice.NormFloat64(), -1.3), 1.3)
	return float64(side) * (0.5 + 6.5/strokeSide*away)
}

// curve returns points along the Bézier curve of four control points.
func curve(control [4]point) (along [dots]point) {
	for i := range along {
		t := float64(i) / (dots - 1)
		s := 1 - t
		for j, weight := range [4]float64{s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t} {
			along[i].x += weight * control[j].x
			along[i].y += weight * control[j].y
		}
	}
	return along
}

// stroke lightens the pixels within width of the points, with an edge that is soft pixels wide.
func stroke(plane []float32, pitch int, along [dots]point, width, soft float64) {
	for i, before := range plane {
		x, y := float64(i%pitch), float64(i/pitch)
		nearest := math.Inf(1)
		for _, p := range along {
			nearest = math.Min(nearest, (x-p.x)*(x-p.x)+(y-p.y)*(y-p.y))
		}
		plane[i] = max(before, clamp((width-math.Sqrt(nearest))/soft+0.5))
	}
}
