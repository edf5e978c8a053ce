package scattering

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"dpsgd/data"
)

// rounding is what float32 may add to coefficients of pictures with values up to 1.
const rounding = 1e-6

var shapes = []data.Shape{
	size(12, 12, 1), // the smallest
	size(28, 28, 1), size(12, 20, 2), size(32, 16, 3),
}

func TestTransformIsItsDefinition(t *testing.T) {
	for _, shape := range shapes {
		t.Run(shape.String(), func(t *testing.T) {
			picture := draw(shape, 3)
			expectClose(t, transformOf(shape, picture), referenceTransform(shape, picture), rounding)
		})
	}
}

// golden is testdata/golden.json; golden.py says how it was made.
type golden struct {
	Fine, Coarse map[int]struct{ Re, Im []float64 } // by angle
	Window       []float64
	Pictures     []struct {
		Channels, Height, Width int
		Seed                    uint32
		Transform               []float64
		Normalised              []float64 // in 27 groups per channel; of one picture
	}
}

func TestEqualsPyTorch(t *testing.T) {
	var g golden
	if err := json.Unmarshal(must(os.ReadFile("testdata/golden.json")), &g); err != nil {
		t.Fatal(err)
	}
	const digits = 1e-7 // of golden.json, of values up to 1
	for angle := range g.Fine {
		for _, s := range []struct {
			scale
			want struct{ Re, Im []float64 }
		}{{fine, g.Fine[angle]}, {coarse, g.Coarse[angle]}} {
			re, im := s.morlet(float64(angle) * math.Pi / angles)
			expectClose(t, re, s.want.Re, digits)
			expectClose(t, im, s.want.Im, digits)
		}
	}
	expectClose(t, fullWindow, g.Window, digits)
	for _, p := range g.Pictures {
		shape := size(p.Height, p.Width, p.Channels)
		got := transformOf(shape, draw(shape, p.Seed))
		expectClose(t, got, p.Transform, rounding)
		if p.Normalised != nil {
			GroupNorm(got, 27*p.Channels)
			// Coefficients deviate by a hundredth or so, by which they are divided.
			expectClose(t, got, p.Normalised, 1e-4)
		}
	}
}

// Mirrored and transposed pictures have mirrored and transposed transforms, with the angles that
// follow from that.
func TestSymmetries(t *testing.T) {
	const height, width, places = 12, 20, 12 / Step * 20 / Step
	negative := func(t int) int { return (angles - t) % angles }
	for _, s := range []struct {
		name  string
		to    func(y, x, height, width int) int // where pixel (y, x) of height by width comes to lie
		angle func(t int) int                   // which angle t becomes
		shape data.Shape                        // of the moved picture
	}{
		{"mirrored", func(y, x, _, w int) int { return y*w + w - 1 - x }, negative, size(height, width, 1)},
		{"upside down", func(y, x, h, w int) int { return (h-1-y)*w + x }, negative, size(height, width, 1)},
		{"transposed", func(y, x, h, _ int) int { return x*h + y }, func(t int) int { return negative((t + angles/2) % angles) }, size(width, height, 1)},
	} {
		t.Run(s.name, func(t *testing.T) {
			move := func(dst, src []float32, height, width int) {
				for i, v := range src {
					dst[s.to(i/width, i%width, height, width)] = v
				}
			}
			picture := draw(size(height, width, 1), 4)
			image, of := make([]float32, len(picture)), transformOf(size(height, width, 1), picture)
			move(image, picture, height, width)
			want := make([]float32, len(of))
			put := func(to, from int) {
				move(want[to*places:(to+1)*places], of[from*places:(from+1)*places], height/Step, width/Step)
			}
			put(0, 0)
			for a := range angles {
				put(1+s.angle(a), 1+a)
				put(9+s.angle(a), 9+a)
				for b := range angles {
					put(17+8*s.angle(a)+s.angle(b), 17+8*a+b)
				}
			}
			expectClose(t, transformOf(s.shape, image), float64s(want), rounding)
		})
	}
}

// What an extractor returns depends on the picture alone and not on those before it.
func TestPicturesAreTransformedAlone(t *testing.T) {
	shape := shapes[1]
	s := must(New(shape))
	extract, got := s.Extractor(), make([]float32, s.Width())
	bad := draw(shape, 5)
	bad[100] = float32(math.NaN())
	extract(got, bad)
	extract(got, draw(shape, 6))
	for i, v := range transformOf(shape, draw(shape, 6)) {
		if got[i] != v {
			t.Fatalf("value %d is %g after another picture and %g alone", i, got[i], v)
		}
	}
}

func TestExtractorAllocatesNothing(t *testing.T) {
	shape := shapes[2]
	s := must(New(shape))
	extract, dst, picture := s.Extractor(), make([]float32, s.Width()), draw(shape, 7)
	if n := testing.AllocsPerRun(20, func() { extract(dst, picture) }); n > 0 {
		t.Errorf("%v allocations per picture, expected none", n)
	}
}

func TestShapesThatDoNotFit(t *testing.T) {
	for _, shape := range []data.Shape{
		{Height: 8, Width: 12, Channels: 1}, {Height: 12, Width: 8, Channels: 1},
		{Height: 30, Width: 28, Channels: 1}, {Height: 28, Width: 30, Channels: 1},
		{Height: 28, Width: 28}, {}, data.Row(784), {Height: -28, Width: -28, Channels: 1},
	} {
		_, err := New(shape)
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%v: error %v, expected one line", shape, err)
		}
	}
}

// draw makes a picture of multiples of 1/256, the one of draw in testdata/golden.py.
func draw(shape data.Shape, seed uint32) []float32 {
	picture := make([]float32, shape.Values())
	for i := range picture {
		seed = 1664525*seed + 1013904223
		picture[i] = float32(seed>>24) / 256
	}
	return picture
}

func transformOf(shape data.Shape, picture []float32) []float32 {
	s := must(New(shape))
	dst := make([]float32, s.Width())
	s.Extractor()(dst, picture)
	return dst
}

func size(height, width, channels int) data.Shape {
	return data.Shape{Height: height, Width: width, Channels: channels}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func float64s(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// expectClose fails unless got is want to tolerance, absolutely.
func expectClose[F float32 | float64](t *testing.T, got []F, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d values, expected %d", len(got), len(want))
	}
	for i, v := range got {
		if d := math.Abs(float64(v) - want[i]); !(d <= tolerance) {
			t.Fatalf("value %d is %g, expected %g to %g", i, v, want[i], tolerance)
		}
	}
}

// Each group gets mean 0 and variance 1, whatever the others hold; the formula, value by value.
func TestGroupNormIsItsDefinition(t *testing.T) {
	const channels, groups, places = 6, 3, 5
	values := make([]float32, channels*places)
	want := make([]float64, len(values))
	for i := range values {
		values[i] = float32(i*i%17) * float32(i/10+1)
	}
	const n = channels / groups * places
	for g := range groups {
		group := float64s(values[g*n : (g+1)*n])
		mean, variance := sum(group)/n, 0.0
		for _, v := range group {
			variance += (v - mean) * (v - mean) / n
		}
		for i, v := range group {
			want[g*n+i] = (v - mean) / math.Sqrt(variance+1e-5)
		}
	}
	GroupNorm(values, groups)
	expectClose(t, values, want, 1e-6)
}

// BenchmarkExtract transforms pictures on one thread.
func BenchmarkExtract(b *testing.B) {
	for _, shape := range []data.Shape{size(28, 28, 1), size(32, 32, 3)} {
		b.Run(shape.String(), func(b *testing.B) {
			s := must(New(shape))
			extract, dst, picture := s.Extractor(), make([]float32, s.Width()), draw(shape, 1)
			b.ReportAllocs()
			for b.Loop() {
				extract(dst, picture)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pictures/s")
		})
	}
}
