package features

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"dpsgd/data"
)

// The features of pictures by another program, in PyTorch: testdata/make_golden.py, which says how.
// Sampling, whitening, filters and responses are all in them; only the order of the patches is not
// the seed's, but that in which they lie.
func TestFeaturesAreThoseOfPyTorch(t *testing.T) {
	pictures := golden()
	for _, c := range []struct {
		file    string
		options PatchOptions
		sampled *Drawings
	}{
		{"testdata/scale1.txt", PatchOptions{Filters: 8, Size: 6, Pooling: 2, Scale: 1}, pictures},
		{"testdata/scale2.txt", PatchOptions{Filters: 8, Size: 5, Pooling: 2, Scale: 2}, halves(pictures)},
	} {
		sample := newSampler(c.sampled, c.options.Size)
		inOrder := make([]int, sample.count())
		for i := range inOrder {
			inOrder[i] = i
		}
		f := must(sample.filters(c.options.Filters, inOrder))
		p := withFilters(c.options, pictures.Shape, f)
		for i, want := range readGolden(t, c.file) {
			got := extract(p, pictures.At(i))
			if len(got) != len(want) {
				t.Fatalf("%s: %d features, expected %d", c.file, len(got), len(want))
			}
			if at, difference := furthest(got, want); difference > 1e-5 {
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
func readGolden(t *testing.T, path string) (rows [][]float64) {
	t.Helper()
	text := must(os.ReadFile(path))
	for line := range strings.Lines(string(text)) {
		var row []float64
		for _, word := range strings.Fields(line) {
			v := must(strconv.ParseFloat(word, 64))
			row = append(row, v)
		}
		rows = append(rows, row)
	}
	return rows
}
