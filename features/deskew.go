package features

import (
	"math"

	"dpsgd/data"
)

// deskew moves what a picture shows to its middle and shears it until it stands upright, in place:
// writing that leans is the largest thing that tells the same letter of two hands apart (LeCun,
// Bottou, Bengio and Haffner, "Gradient-Based Learning Applied to Document Recognition", Proceedings
// of the IEEE 86, 1998, section III). It takes memory for one picture.
//
// The ground is the mean of the border, in each channel. With the distance of a place from the
// ground as its mass, summed over the channels, (r̄, c̄) is the centre of mass and
//
//	slant = cov(r, c)/(var(r) + 1e-6), at least −1 and at most 1.
//
// The place (i, j) from the middle shows what was at (r̄ + i, c̄ + slant·i + j), interpolated between
// rows, then between columns; outside of the picture is ground.
func deskew(picture []float32, shape data.Shape) {
	height, width := shape.Height, shape.Width
	area := height * width
	mass, grounds := make([]float64, area), make([]float32, shape.Channels)
	for c := range grounds {
		plane := picture[c*area:][:area]
		grounds[c] = ground(plane, height, width)
		for i := range plane {
			plane[i] -= grounds[c]
			mass[i] += math.Abs(float64(plane[i]))
		}
	}
	row, column, slant := pose(mass, width)
	middle := float64(height-1) / 2
	moved, line := make([]float32, area), make([]float32, width)
	for c, ground := range grounds {
		plane := picture[c*area:][:area]
		for r := range height {
			fromMiddle := float64(r) - middle
			above, share := split(row + fromMiddle)
			for j := range line {
				line[j] = between(plane[j:], above, height, width, share)
			}
			left, share := split(column + float64(slant*fromMiddle) - float64(width-1)/2)
			for j := range line {
				moved[r*width+j] = max(0, between(line, left+j, width, 1, share)+ground) // not −1e-9
			}
		}
		copy(plane, moved)
	}
}

// ground returns the mean of the border of a plane.
func ground(plane []float32, height, width int) float32 {
	sum, n := 0.0, 0.0
	for i, v := range plane {
		if r, c := i/width, i%width; r == 0 || c == 0 || r == height-1 || c == width-1 {
			sum += float64(v)
			n++
		}
	}
	return float32(sum / n)
}

// pose returns the centre of mass, and by how many columns the mass moves from one row to the next.
func pose(mass []float64, width int) (row, column, slant float64) {
	const nothing = 1e-12 // mass of a picture that shows nothing
	total := nothing
	for i, m := range mass {
		total += m
		row += float64(m * float64(i/width))
		column += float64(m * float64(i%width))
	}
	row, column = row/total, column/total
	variance, covariance := 0.0, 0.0
	for i, m := range mass {
		down, right := float64(i/width)-row, float64(i%width)-column
		variance += float64(m * down * down)
		covariance += float64(m * down * right)
	}
	return row, column, min(max(covariance/total/(variance/total+1e-6), -1), 1)
}

// split returns the whole number below x, and how far x is above it.
func split(x float64) (whole int, share float32) {
	below := math.Floor(x)
	return int(below), float32(x - below)
}

// between returns the value of a line of n values, step apart, at i and a share of the way to the
// next; outside of the line is 0.
func between(line []float32, i, n, step int, share float32) float32 {
	at := func(i int) float32 {
		if i < 0 || i >= n {
			return 0
		}
		return line[i*step]
	}
	return float32((1-share)*at(i)) + float32(share*at(i+1))
}
