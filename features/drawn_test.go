package features

import (
	"fmt"
	"image"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"dpsgd/data"
	"dpsgd/internal/kernel"
)

func size(height, width, channels int) data.Shape {
	return data.Shape{Height: height, Width: width, Channels: channels}
}

// drawn are pictures of a kind.
func drawn(kind string, n int, shape data.Shape, seed uint64, pool *kernel.Pool) *Drawings {
	return must(Recipe{Drawn: kind, Seed: seed}.Draw(shape, n, pool))
}

// Published results name kind, seed and version. The values are those of version 1: the mean of
// each picture and its pixel in the middle. When this test fails, the version has to change with
// the values.
func TestPicturesAreThoseOfTheVersion(t *testing.T) {
	if DrawnVersion != 1 {
		t.Fatalf("found version %d, expected 1, to which the values belong", DrawnVersion)
	}
	type facts struct{ mean, middle float64 }
	for _, c := range []struct {
		kind  string
		shape data.Shape
		want  [3]facts
	}{
		{leaves, size(32, 32, 3), [3]facts{{0.4492, 0.4969}, {0.4915, 0.2797}, {0.3627, 0.7569}}},
		{leaves, size(28, 28, 1), [3]facts{{0.4805, 0.6886}, {0.3704, 0.3573}, {0.3380, 0.6460}}},
		{silhouettes, size(28, 28, 1), [3]facts{{0.1987, 0.6886}, {0.1432, 0.3573}, {0.1418, 0.6460}}},
		{strokes, size(28, 28, 1), [3]facts{{0.0796, 0.3596}, {0.0996, 1.0000}, {0.0801, 1.0000}}},
	} {
		p := drawn(c.kind, len(c.want), c.shape, 5, nil)
		for i, want := range c.want {
			got := facts{mean(p.At(i)), float64(p.At(i)[c.shape.Width*(c.shape.Height+1)/2])}
			if !(math.Abs(got.mean-want.mean) <= 1e-3) || !(math.Abs(got.middle-want.middle) <= 1e-3) {
				t.Errorf("%s, %v, picture %d: found %.4f, expected %.4f", c.kind, c.shape, i, got, want)
			}
		}
	}
}

func mean(x []float32) float64 {
	var sum float64
	for _, v := range x {
		sum += float64(v)
	}
	return sum / float64(len(x))
}

// A picture depends on nothing but kind, shape, seed and its number.
func TestPicturesDoNotDependOnThreadsOrCount(t *testing.T) {
	pool := kernel.NewPool(3)
	defer pool.Close()
	shape := size(20, 24, 3)
	for _, kind := range DrawnKinds() {
		many, few := drawn(kind, 40, shape, 1, pool), drawn(kind, 7, shape, 1, nil)
		if !slices.Equal(many.Values[:len(few.Values)], few.Values) {
			t.Errorf("%s: the first 7 pictures of 40 on three threads are not those of 7 on one", kind)
		}
	}
}

func TestPicturesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for _, kind := range DrawnKinds() {
		for seed := range uint64(2) {
			p := drawn(kind, 100, size(16, 16, 1), seed, nil)
			for i := range p.Count {
				seen[fmt.Sprint(p.At(i))] = true
			}
		}
	}
	if len(seen) != 600 {
		t.Errorf("%d different pictures of 600", len(seen))
	}
}

// At the extremes of size, values are in range and a picture has more than one.
func TestEveryShapeIsDrawn(t *testing.T) {
	for _, kind := range DrawnKinds() {
		for _, s := range []data.Shape{size(8, 8, 1), size(8, 8, 3), size(8, 40, 3), size(33, 17, 1), size(256, 256, 3)} {
			p := drawn(kind, 2, s, 3, nil)
			if p.Shape != s || p.Count != 2 || len(p.Values) != 2*s.Height*s.Width*s.Channels {
				t.Errorf("%s, %v: found %v, %d pictures, %d values", kind, s, p.Shape, p.Count, len(p.Values))
			}
			low, high := slices.Min(p.Values), slices.Max(p.Values)
			if !(low >= 0 && low < high && high <= 1) {
				t.Errorf("%s, %v: values from %v to %v, expected several from 0 to 1", kind, s, low, high)
			}
		}
	}
}

// The channels of leaves differ, those of the grey kinds do not.
func TestColour(t *testing.T) {
	shape := size(16, 16, 3)
	for _, kind := range DrawnKinds() {
		p := drawn(kind, 1, shape, 0, nil)
		red, green := p.Values[:256], p.Values[256:512]
		if slices.Equal(red, green) != (kind != leaves) {
			t.Errorf("%s: red equal to green is %v", kind, kind == leaves)
		}
	}
}

func TestWhatCannotBeDrawn(t *testing.T) {
	for _, c := range []struct {
		kind  string
		shape data.Shape
		want  string
	}{
		{"leafs", size(32, 32, 3), `drawn: kind "leafs", expected one of ["leaves" "silhouettes" "strokes"]`},
		{leaves, size(7, 32, 3), "drawn: pictures of 7×32 pixels, expected sides from 8 to 256"},
		{leaves, size(32, 257, 3), "drawn: pictures of 32×257 pixels, expected sides from 8 to 256"},
	} {
		if _, err := (Recipe{Drawn: c.kind}).Draw(c.shape, 1, nil); err == nil || err.Error() != c.want {
			t.Errorf("found %v, expected %s", err, c.want)
		}
	}
}

// The pixels of a sheet are those of its pictures, with grey lines between.
func TestSheet(t *testing.T) {
	p := drawn(leaves, 7, size(8, 10, 3), 2, nil)
	sheet := p.Sheet(5) // three columns, two rows
	if want := image.Rect(0, 0, 3*12-2, 2*10-2); sheet.Bounds() != want {
		t.Fatalf("the sheet is %v, expected %v", sheet.Bounds(), want)
	}
	r, g, b, _ := sheet.At(12+4, 10+6).RGBA() // picture 4, row 6, column 4
	at := p.At(4)
	for i, v := range []uint32{r, g, b} {
		if want := math.Round(255 * float64(at[i*80+64])); float64(v>>8) != want {
			t.Errorf("channel %d of the sheet is %d, expected %v", i, v>>8, want)
		}
	}
	if line := sheet.At(10, 3); line != sheetBackground {
		t.Errorf("the line between two pictures is %v, expected %v", line, sheetBackground)
	}
	if all := p.Sheet(100).Bounds(); all.Dx() != 3*12-2 || all.Dy() != 3*10-2 {
		t.Errorf("a sheet of all 7 pictures is %v", all)
	}
}

// Noise has mean 0, variance 1, and the slope that it was asked for: power falls with f^(-2·slope).
// The power at one frequency, summed over 200 fields, is χ² of 400 degrees, so that the logarithm
// of the ratio of two of them has a deviation of 0.10; 0.5 is passed at less than one in a million.
// Noise of half the slope is out of bounds.
func TestNoiseHasItsSlope(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	noise := newPinkNoise(24, 32)
	for _, slope := range []float64{0.8, 1.6} {
		var low, high float64
		for range 200 {
			noise.fill(slope, dice)
			if mean, variance := pictureMoments(noise.values); !(math.Abs(mean) <= 1e-12) || !(math.Abs(variance-1) <= 1e-12) {
				t.Fatalf("mean %v, variance %v, expected 0 and 1", mean, variance)
			}
			low += power(noise, 2)
			high += power(noise, 8)
		}
		got := math.Log(low / high)
		if want := 2 * slope * math.Log(4); !(math.Abs(got-want) <= 0.5) {
			t.Errorf("slope %v: log power falls by %.2f over two octaves, expected %.2f", slope, got, want)
		} else if math.Abs(2*got-want) < 0.5 {
			t.Errorf("slope %v: half of it is within bounds", slope)
		}
	}
}

func pictureMoments(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v / float64(len(x))
		variance += v * v / float64(len(x))
	}
	return mean, variance - mean*mean
}

// power returns the power of f cycles along the rows, alike in all rows.
func power(n *pinkNoise, f int) float64 {
	var sum complex128
	for i, v := range n.values {
		sum += complex(v, 0) * cmplx.Rect(1, 2*math.Pi*float64(f*i)/float64(n.width))
	}
	return real(sum)*real(sum) + imag(sum)*imag(sum)
}

// The landscape of a blob passes through its heights, and is level where they are.
func TestCubicInterpolatesAndSumsToOne(t *testing.T) {
	for _, side := range []int{8, 28, 32, 255} {
		for pixel := range side + 2*canvasMargin {
			a := newAxis(pixel, side+2*canvasMargin)
			var sum float64
			for _, w := range a.weights {
				sum += w
			}
			if !(math.Abs(sum-1) <= 1e-12) {
				t.Errorf("the weights of pixel %d of %d add up to %v", pixel-canvasMargin, side, sum)
			}
		}
	}
	// The middle of part 1 of 25 pixels is that of pixel 7.
	if a := newAxis(7+canvasMargin, 25+2*canvasMargin); a.weights != [blobSide]float64{1: 1} {
		t.Errorf("weights %v in the middle of part 1", a.weights)
	}
}

// Half of the radii are below the median of the density, and none outside of the ends.
func TestLeafRadius(t *testing.T) {
	if low, high := leafRadius(0, 20), leafRadius(1, 20); !(math.Abs(low-minRadius) <= 1e-12) || !(math.Abs(high-20) <= 1e-9) {
		t.Errorf("radii from %v to %v, expected from %v to 20", low, high, minRadius)
	}
	// The distribution function of r^-3 on [a, b] is (a^-2 - r^-2)/(a^-2 - b^-2).
	r := leafRadius(0.5, 20)
	a, b := math.Pow(minRadius, -2), math.Pow(20, -2)
	if got := (a - 1/(r*r)) / (a - b); !(math.Abs(got-0.5) <= 1e-12) {
		t.Errorf("%v of the radii are below the median", got)
	}
}

// BenchmarkDraw draws as many pictures as a dictionary is made from.
func BenchmarkDraw(b *testing.B) {
	for _, kind := range DrawnKinds() {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/%d", kind, threads), func(b *testing.B) {
				pool := kernel.NewPool(threads)
				defer pool.Close()
				for b.Loop() {
					drawn(kind, 2400, size(32, 32, 3), 1, pool)
				}
			})
		}
	}
}
