package features

import (
	"math"

	"dpsgd/data"
)

// patchDefinition computes the features of a picture as the package describes them: in float64,
// with every patch cut out and normalised, and the mirror image responding itself.
func patchDefinition(p *patchFeatures, picture []float32) []float64 {
	plain, flipped := sideFeatures(p, picture), sideFeatures(p, mirrored(picture, p.shape))
	for i := range plain {
		plain[i] = (plain[i] + flipped[i]) / 2
	}
	return plain
}

// mirrored returns the mirror image of a picture.
func mirrored(picture []float32, s data.Shape) []float32 {
	m := make([]float32, len(picture))
	for i := range picture {
		m[i] = picture[i-i%s.Width+s.Width-1-i%s.Width]
	}
	return m
}

// sideFeatures computes the features of a picture without its mirror image.
func sideFeatures(p *patchFeatures, picture []float32) []float64 {
	pixel, height, width := view(p, picture)
	size, cells := p.options.Size, p.options.Pooling
	rows, columns := height-size+1, width-size+1
	features, counts := make([]float64, p.Width()), make([]float64, cells*cells)
	for y := range rows {
		for x := range columns {
			responses := respond(p, pixel, y, x)
			for placed := range 9 { // where cells do not overlap, all placements are the same
				down, across := (placed/3-1)*p.options.Overlap, (placed%3-1)*p.options.Overlap
				cell := cellOf(y, rows, cells, down)*cells + cellOf(x, columns, cells, across)
				counts[cell]++
				for k, z := range responses {
					features[k*cells*cells+cell] += math.Max(z-0.25, 0)
					features[(k+p.options.Filters)*cells*cells+cell] += math.Max(-z-0.25, 0)
				}
			}
		}
	}
	for i := range features {
		features[i] /= counts[i%len(counts)]
	}
	return features
}

// respond returns the responses of the filters to the patch at (y, x).
func respond(p *patchFeatures, pixel func(c, y, x int) float64, y, x int) []float64 {
	size := p.options.Size
	var patch []float64
	for c := range p.shape.Channels {
		for i := range size * size {
			patch = append(patch, pixel(c, y+i/size, x+i%size))
		}
	}
	var mean, variance float64
	for _, v := range patch {
		mean += v / float64(len(patch))
	}
	for _, v := range patch {
		variance += (v - mean) * (v - mean) / float64(len(patch)-1)
	}
	z := make([]float64, p.options.Filters)
	for k := range z {
		for i, v := range patch {
			z[k] += p.filters.weights.At(k, i) * (v - mean) / math.Sqrt(variance+math.Pow(10./255, 2))
		}
		z[k] -= p.filters.bias[k]
	}
	return z
}

// view returns the pixels of a picture, or those of its half with a border of two.
func view(p *patchFeatures, picture []float32) (pixel func(c, y, x int) float64, height, width int) {
	s := p.shape
	at := func(c, y, x int) float64 { return float64(picture[(c*s.Height+y)*s.Width+x]) }
	if p.options.Scale == 1 {
		return at, s.Height, s.Width
	}
	reflected := func(i, n int) int {
		i -= 2
		if i < 0 {
			i = -i
		}
		if i >= n {
			i = 2*(n-1) - i
		}
		return i
	}
	return func(c, y, x int) float64 {
		y, x = 2*reflected(y, s.Height/2), 2*reflected(x, s.Width/2)
		return (at(c, y, x) + at(c, y+1, x) + at(c, y, x+1) + at(c, y+1, x+1)) / 4
	}, s.Height/2 + 4, s.Width/2 + 4
}

// cellOf returns which of a number of parts of n positions one is in, with the borders between parts
// moved.
func cellOf(position, n, parts, moved int) int {
	i := 0
	for i < parts-1 && position >= int(math.RoundToEven(float64((i+1)*n)/float64(parts)))+moved {
		i++
	}
	return i
}
