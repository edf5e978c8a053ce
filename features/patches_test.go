package features

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpsgd/data"
	"dpsgd/internal/kernel"
)

// featuresOf makes the features of pictures from themselves.
func featuresOf(o PatchOptions, pictures *Drawings) *patchFeatures {
	return must(newPatchFeatures(o, pictures.Shape, pictures, 1))
}

// extract returns the features of a picture.
func extract(p *patchFeatures, picture []float32) []float32 {
	dst := make([]float32, p.Width())
	p.Extractor()(dst, picture)
	return dst
}

// patchCases are sizes of which each is special in some way.
var patchCases = []struct {
	options PatchOptions
	shape   data.Shape
}{
	{PatchOptions{16, 6, 3, 1, 0}, size(32, 32, 3)},
	{PatchOptions{5, 6, 3, 1, 0}, size(28, 28, 1)},
	{PatchOptions{9, 5, 2, 1, 0}, size(12, 20, 3)}, // a middle column
	{PatchOptions{8, 2, 4, 1, 0}, size(9, 8, 1)},   // cells of two sizes
	{PatchOptions{8, 8, 1, 1, 0}, size(8, 8, 1)},   // one position
	{PatchOptions{8, 3, 3, 1, 0}, size(8, 200, 1)}, // a row is a strip
	{PatchOptions{11, 6, 2, 2, 0}, size(32, 32, 3)},
	{PatchOptions{8, 5, 2, 2, 0}, size(15, 18, 1)}, // an odd height
	{PatchOptions{7, 6, 3, 1, 4}, size(32, 30, 3)}, // cells that overlap, and of two sizes
	{PatchOptions{6, 4, 2, 2, 2}, size(17, 16, 1)},
}

// TestExtractIsTheDefinition compares with the definition in float64, on pictures of 8 bits.
func TestExtractIsTheDefinition(t *testing.T) {
	for _, c := range patchCases {
		pictures := drawn(leaves, 20, c.shape, 1, nil)
		for i, v := range pictures.Values {
			pictures.Values[i] = float32(math.Round(float64(255*v))) / 255
		}
		p := featuresOf(c.options, pictures)
		for i := range 3 {
			got, want := extract(p, pictures.At(i)), patchDefinition(p, pictures.At(i))
			if at, difference := furthest(got, want); difference > 2e-5 {
				t.Errorf("%+v, %v, picture %d: feature %d is %v, expected %v",
					c.options, c.shape, i, at, got[at], want[at])
			}
		}
	}
}

// furthest returns where two vectors differ most, relative to 1 plus the size of the second, and by
// how much.
func furthest(got []float32, want []float64) (at int, difference float64) {
	for i, w := range want {
		d := math.Abs(float64(got[i])-w) / (1 + math.Abs(w))
		if !(d <= difference) {
			at, difference = i, d
		}
	}
	return at, difference
}

// The dictionary is a function of options, pictures and seed.
func TestDictionaryBelongsToItsSeed(t *testing.T) {
	pictures := drawn(leaves, 20, size(16, 16, 1), 1, nil)
	o := PatchOptions{Filters: 6, Size: 4, Pooling: 2, Scale: 1}
	make := func(seed uint64) []float32 {
		p := must(newPatchFeatures(o, pictures.Shape, pictures, seed))
		return extract(p, pictures.At(0))
	}
	if !slices.Equal(make(1), make(1)) {
		t.Error("the same seed gives other features")
	}
	if slices.Equal(make(1), make(2)) {
		t.Error("another seed gives the same features")
	}
}

// What is no number stays in its picture, and a picture without contrast has features.
func TestUnusualPictures(t *testing.T) {
	pictures := drawn(leaves, 20, size(16, 16, 3), 1, nil)
	p := featuresOf(PatchOptions{Filters: 8, Size: 6, Pooling: 2, Scale: 1}, pictures)
	f, dst := p.Extractor(), make([]float32, p.Width())
	broken := slices.Clone(pictures.At(0))
	broken[5] = float32(math.NaN())
	f(dst, broken)
	f(dst, pictures.At(0))
	if !slices.Equal(dst, extract(p, pictures.At(0))) {
		t.Error("a picture with a NaN changes the features of the next one")
	}
	white := make([]float32, len(broken))
	for i := range white {
		white[i] = 1
	}
	f(dst, white)
	if at, difference := furthest(dst, patchDefinition(p, white)); difference > 1e-5 {
		t.Errorf("a white picture: feature %d is off by %v", at, difference)
	}
}

func TestNothingIsAllocated(t *testing.T) {
	pictures := drawn(leaves, 20, size(20, 20, 1), 1, nil)
	for scale := range 2 {
		p := featuresOf(PatchOptions{Filters: 8, Size: 4, Pooling: 2, Scale: scale + 1}, pictures)
		f, dst := p.Extractor(), make([]float32, p.Width())
		// The race detector drops what kernels keep between calls now and then.
		if allocs := testing.AllocsPerRun(20, func() { f(dst, pictures.At(0)) }); allocs > 2 {
			t.Errorf("%v allocations for a picture, expected none", allocs)
		}
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	good := PatchOptions{Filters: 8, Size: 6, Pooling: 3, Scale: 1}
	square := size(16, 16, 3)
	change := func(f func(*PatchOptions)) PatchOptions {
		o := good
		f(&o)
		return o
	}
	for _, c := range []struct {
		options      PatchOptions
		shape, drawn data.Shape
		want         string
	}{
		{change(func(o *PatchOptions) { o.Filters = 33 }), square, square,
			"patches: 32 patches of enough contrast in 2 drawn pictures, expected 33, one for each filter"},
		{change(func(o *PatchOptions) { o.Size = 1 }), square, square,
			"patches: patches of size 1, expected 2 to 12"},
		{change(func(o *PatchOptions) { o.Size = 10 }), size(9, 12, 3), square,
			"patches: patches of size 10, expected 2 to 9"},
		{change(func(o *PatchOptions) { o.Pooling = 12 }), square, square,
			"patches: pooling to 12×12 cells, expected 1 to 11 on each side"},
		{change(func(o *PatchOptions) { o.Overlap = 2 }), square, square,
			"patches: cells of 3 positions overlap by 2, expected 0 to 1"},
		{change(func(o *PatchOptions) { o.Scale = 2 }), size(5, 16, 3), square,
			"patches: pictures of 5×16 pixels, expected sides of 6 or more at scale 2"},
		{change(func(o *PatchOptions) { o.Scale = 2 }), square, size(10, 16, 3),
			"patches: drawn pictures of 10×16 pixels at scale 2, expected sides of 12 or more"},
	} {
		if _, err := newPatchFeatures(c.options, c.shape, drawn(leaves, 2, c.drawn, 1, nil), 1); err == nil || err.Error() != c.want {
			t.Errorf("found %v, expected %s", err, c.want)
		}
	}
}

// One patch has no direction to be whitened along.
func TestPatchesThatAreAllAlike(t *testing.T) {
	one := drawn(leaves, 1, size(8, 8, 3), 1, nil)
	_, err := newPatchFeatures(PatchOptions{Filters: 1, Size: 6, Pooling: 1, Scale: 1}, one.Shape, one, 1)
	want := "patches: the patches of the drawn pictures are all alike"
	if err == nil || err.Error() != want {
		t.Errorf("found %v, expected %s", err, want)
	}
}

// BenchmarkExtract computes the features of pictures like those of CIFAR-10, on one thread and two.
func BenchmarkExtract(b *testing.B) {
	pictures := drawn(leaves, 200, size(32, 32, 3), 1, nil)
	for _, o := range []PatchOptions{
		{Filters: 384, Size: 6, Pooling: 3, Scale: 1},
		{Filters: 512, Size: 6, Pooling: 2, Scale: 2},
	} {
		p := featuresOf(o, pictures)
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("scale=%d/threads=%d", o.Scale, threads), func(b *testing.B) {
				benchmarkExtract(b, p, pictures, threads)
			})
		}
	}
}

func benchmarkExtract(b *testing.B, p *patchFeatures, pictures *Drawings, threads int) {
	pool := kernel.NewPool(threads)
	defer pool.Close()
	extractors, dst := make([]func(dst, picture []float32), threads), make([][]float32, threads)
	for i := range extractors {
		extractors[i], dst[i] = p.Extractor(), make([]float32, p.Width())
	}
	for b.Loop() {
		pool.Run(pictures.Count, 1, func(worker, lo, hi int) {
			for i := lo; i < hi; i++ {
				extractors[worker](dst[worker], pictures.At(i))
			}
		})
	}
	b.ReportMetric(float64(b.N*pictures.Count)/b.Elapsed().Seconds(), "pictures/s")
}

// The features of pictures by another program, in PyTorch: testdata/make_golden.py, which says how.
// Sampling, whitening, filters and responses are all in them; only the order of the patches is not
// the seed's, but that in which they lie. Here weights are rounded to integers, and at scale 2 pixels
// too: the pictures have more digits than those of 8 bits.
func TestFeaturesAreThoseOfPyTorch(t *testing.T) {
	pictures := golden()
	for _, c := range []struct {
		file    string
		options PatchOptions
		sampled *Drawings
		within  float64
	}{
		{"testdata/scale1.txt", PatchOptions{Filters: 8, Size: 6, Pooling: 2, Scale: 1}, pictures, 1e-4},
		{"testdata/scale2.txt", PatchOptions{Filters: 8, Size: 5, Pooling: 2, Scale: 2}, halves(pictures), 4e-3},
	} {
		sample := newSampler(c.sampled, c.options.Size)
		inOrder := make([]int, sample.count())
		for i := range inOrder {
			inOrder[i] = i
		}
		p := withFilters(c.options, pictures.Shape, must(sample.filters(c.options.Filters, inOrder)))
		for i, want := range readGolden(c.file) {
			got := extract(p, pictures.At(i))
			if len(got) != len(want) {
				t.Fatalf("%s: %d features, expected %d", c.file, len(got), len(want))
			}
			if at, difference := furthest(got, want); difference > c.within {
				t.Errorf("%s, picture %d: feature %d is %v, expected %v", c.file, i, at, got[at], want[at])
			}
		}
	}
}

// golden returns the pictures of make_golden.py: means of 2×2 neighbours of the bytes of a linear
// congruential generator.
func golden() *Drawings {
	p := &Drawings{Shape: data.Shape{Height: 16, Width: 14, Channels: 3}, Count: 100}
	state := uint32(1)
	bytes := make([]uint32, (p.Height+1)*(p.Width+1))
	for range p.Count * p.Channels {
		for i := range bytes {
			state = state*1664525 + 1013904223
			bytes[i] = state >> 24
		}
		for y := range p.Height {
			for x := range p.Width {
				at := bytes[y*(p.Width+1)+x:]
				sum := at[0] + at[1] + at[p.Width+1] + at[p.Width+2]
				p.Values = append(p.Values, float32(float64(sum)/1020))
			}
		}
	}
	return p
}

// readGolden reads rows of numbers.
func readGolden(path string) (rows [][]float64) {
	for line := range strings.Lines(string(must(os.ReadFile(path)))) {
		var row []float64
		for _, word := range strings.Fields(line) {
			row = append(row, must(strconv.ParseFloat(word, 64)))
		}
		rows = append(rows, row)
	}
	return rows
}
