package data

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dpsgd/internal/kernel"
)

var two = []string{"a", "b"}

// coloured has two pictures of 1 by 2 pixels in three channels.
func coloured() *Images {
	return must(NewImages(Shape{1, 2, 3}, []string{"a", "b", "c"}, []uint8{2, 1}, []uint8{0, 51, 102, 153, 204, 255, 255, 204, 153, 102, 51, 0}))
}

func rows(values ...float32) *Rows {
	return must(NewRows(2, two, make([]uint8, len(values)/2), values))
}

func features(columns int, values ...float32) *Features {
	halves := make([]uint16, len(values))
	kernel.ToHalves(halves, values)
	return must(NewFeatures(columns, two, make([]uint8, len(values)/columns), halves))
}

// A batch of a set in memory has the normalised values and the labels of its examples, takes no
// memory, and leaves what is behind it alone; an empty one touches nothing.
func TestFill(t *testing.T) {
	for _, c := range []struct {
		set    Set
		n      Normalisation
		want   []float32 // (value − mean) / std of the examples 1 and 0, written out
		labels []float32
	}{
		{coloured(), Normalisation{[]float64{0, 0.5, 0.2}, []float64{1, 0.5, 0.1}}, []float32{1, 0.6, 4, 0.4, -0.6, -2, 0, -0.6, 2, 0.6, 0.6, 8}, []float32{1, 2}},
		{rows(-2.5, 750, 7, 1e6, 0, 0), Normalisation{[]float64{-3, 1000}, []float64{0.5, 250}}, []float32{20, 3996, 1, -1}, []float32{0, 0}},
		{features(2, 0.5, -0.25, 65504, 0x1p-24, 0, 1), Normalisation{}, []float32{65504, 0x1p-24, 0.5, -0.25}, []float32{0, 0}}, // all of them halves
	} {
		b := must(NewBatcher(c.set, c.n))
		x, labels, indices := slices.Repeat([]float32{9}, len(c.want)+6), []float32{-7, -7, -7}, []int{1, 0}
		check(t, b.Fill(x, labels, nil))
		if slices.Min(x) != 9 || slices.Max(labels) != -7 {
			t.Errorf("%T: an empty batch writes %v and %v", c.set, x, labels)
		}
		check(t, b.Fill(x, labels, indices))
		for i, want := range append(c.want, 9, 9, 9, 9, 9, 9) {
			if !(math.Abs(float64(x[i]-want)) <= 1e-6) {
				t.Errorf("%T: value %d is %v, expected %v", c.set, i, x[i], want)
			}
		}
		if !slices.Equal(labels, append(c.labels, -7)) {
			t.Errorf("%T: labels are %v, expected %v", c.set, labels, c.labels)
		}
		if n := testing.AllocsPerRun(100, func() { b.Fill(x, labels, indices) }); n != 0 {
			t.Errorf("%T: %v allocations for each call", c.set, n)
		}
	}
}

func TestFillOfGreyAgreesWithTheFormula(t *testing.T) {
	pixels := make([]uint8, 256)
	for i := range pixels {
		pixels[i] = uint8(i)
	}
	const mean, std = 0.1307, 0.3081
	b := must(NewBatcher(must(NewImages(Shape{16, 16, 1}, two, []uint8{0}, pixels)), Normalisation{[]float64{mean}, []float64{std}}))
	x := make([]float32, 256)
	check(t, b.Fill(x, make([]float32, 1), []int{0}))
	for p := range x {
		if want := float32((float64(p)/255 - mean) / std); x[p] != want {
			t.Errorf("byte %d becomes %v, expected %v", p, x[p], want)
		}
	}
}

func TestFillPanicsWhenTheBatchDoesNotFit(t *testing.T) {
	b := must(NewBatcher(coloured(), Normalisation{[]float64{0, 0, 0}, []float64{1, 1, 1}}))
	for name, call := range map[string]func(){
		"values":  func() { b.Fill(make([]float32, 11), make([]float32, 2), []int{0, 1}) },
		"labels":  func() { b.Fill(make([]float32, 12), make([]float32, 1), []int{0, 1}) },
		"indices": func() { b.Fill(make([]float32, 6), make([]float32, 1), []int{2}) },
	} {
		if !panics(call) {
			t.Errorf("%s: no panic", name)
		}
	}
}

func TestNormalisationIsChecked(t *testing.T) {
	ok, nan, inf := []float64{0.5, 0.5, 0.5}, math.NaN(), math.Inf(1)
	for _, c := range []struct {
		set  Set
		n    Normalisation
		says string
	}{
		{coloured(), Normalisation{}, "0 means and 0 standard deviations, expected 3 of each (one for each channel)"},
		{coloured(), Normalisation{[]float64{0.5}, []float64{0.5}}, "1 means and 1 standard deviations, expected 3"},
		{coloured(), Normalisation{[]float64{0, nan, 0}, ok}, "mean of channel 1 is NaN, expected a finite number"},
		{coloured(), Normalisation{[]float64{0, -inf, 0}, ok}, "mean of channel 1 is -Inf"},
		{coloured(), Normalisation{ok, []float64{1, 0, 1}}, "standard deviation of channel 1 is 0, expected a positive, finite number"},
		{coloured(), Normalisation{ok, []float64{1, -1, 1}}, "standard deviation of channel 1 is -1"},
		{coloured(), Normalisation{ok, []float64{1, nan, 1}}, "standard deviation of channel 1 is NaN"},
		{coloured(), Normalisation{ok, []float64{1, inf, 1}}, "standard deviation of channel 1 is +Inf"},
		{rows(1, 2), Normalisation{[]float64{0}, []float64{1, 1}}, "1 means and 2 standard deviations, expected 2 of each (one for each column)"},
		{rows(1, 2), Normalisation{[]float64{0, nan}, []float64{1, 1}}, "mean of column 1 is NaN"},
		{features(1, 1), Normalisation{[]float64{0}, []float64{1}}, "normalisation has 1 means and 1 standard deviations, expected 0 of each (one for each column that is not computed)"},
	} {
		_, err := NewBatcher(c.set, c.n)
		wantError(t, err, ErrInvalid, c.says)
	}
}

func TestSetsCheckWhatTheyAreGiven(t *testing.T) {
	images := func(s Shape, classes []string, labels, pixels []uint8) error {
		_, err := NewImages(s, classes, labels, pixels)
		return err
	}
	rows := func(columns int, classes []string, labels []uint8, values ...float32) error {
		_, err := NewRows(columns, classes, labels, values)
		return err
	}
	features := func(columns int, labels []uint8, halves ...uint16) error {
		_, err := NewFeatures(columns, two, labels, halves)
		return err
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, c := range []struct {
		err  error
		says string
	}{
		{images(Shape{2, 2, 1}, two, []uint8{0, 1}, make([]uint8, 7)), "7 pixel values, expected 8 for 2 pictures of 2x2x1"},
		{images(Shape{2, 2, 1}, two, []uint8{0, 1}, make([]uint8, 9)), "9 pixel values, expected 8"},
		{images(Shape{1, 1, 1}, two, []uint8{0, 2}, make([]uint8, 2)), "record 1 has no label from 0 to 1"},
		{images(Shape{1, 1, 1}, nil, nil, nil), "0 classes, expected 1 to 256"},
		{images(Shape{0, 1, 1}, two, nil, nil), "0 by 1 pixels"},
		{images(Shape{1, 1 << 20, 1}, two, nil, nil), "1 by 1048576 pixels"},
		{images(Shape{1, 1, 2}, two, nil, nil), "2 channels, expected 1 (grey) or 3"},
		{rows(2, two, []uint8{0, 1}, 0, 0, 0), "3 values, expected 4 for 2 rows of 2 columns"},
		{rows(1, two, []uint8{0, 2}, 0, 0), "record 1 has no label from 0 to 1"},
		{rows(1, nil, nil), "0 classes, expected 1 to 256"},
		{rows(0, two, nil), "rows of 0 columns, expected 1 to 4096"},
		{rows(1<<20, two, nil), "rows of 1048576 columns"},
		{rows(2, two, []uint8{0, 1}, 0, 0, 0, nan), "column 1 of row 1 is not finite"},
		{rows(2, two, []uint8{0, 1}, 0, 0, inf, 0), "column 0 of row 1 is not finite"},
		{features(2, []uint8{0, 1}, 0, 0, 0), "3 values, expected 4 for 2 rows of 2 columns"},
		{features(0, nil), "computed rows of 0 columns, expected 1 to 65536"},
		{features(1<<16+1, nil), "computed rows of 65537 columns"},
		{features(2, []uint8{0, 1}, 0, 0, 0, 0x7c01), "a value of computed row 1 is not finite"},
		{features(2, []uint8{0, 1}, 0xfc00, 0, 0, 0), "a value of computed row 0 is not finite"},
	} {
		wantError(t, c.err, ErrInvalid, c.says)
	}
	check(t, features(2, []uint8{0}, 0x7bff, 0xfbff)) // the largest halves
}

// Rows of unit norm, of every width and however unequal their values, keep their direction and
// length to 2^-10.9; rows of independent normals to 2.5e-4.
func TestRowsOfHalvesAreClose(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for _, columns := range []int{1, 9, 81, 3969, 6912, 11008, MaxFeatures} {
		for _, power := range []float64{1, 5} { // of normals: with 5, few values are nearly all of the length
			row, squares := make([]float64, columns), 0.0
			for i := range row {
				row[i] = math.Pow(r.NormFloat64(), power)
				squares += row[i] * row[i]
			}
			unit := make([]float32, columns)
			for i := range row {
				unit[i] = float32(row[i] / math.Sqrt(squares))
			}
			stored, lost := make([]float32, columns), 0.0
			kernel.FromHalves(stored, features(columns, unit...).Halves(0))
			for i := range stored {
				lost += math.Pow(float64(stored[i]-unit[i]), 2)
			}
			most := math.Exp2(-10.9)
			if power == 1 && columns > 1000 {
				most = 2.5e-4
			}
			if lost = math.Sqrt(lost); lost > most {
				t.Errorf("%d columns, power %v: %v of the length is lost, expected at most %v", columns, power, lost, most)
			}
		}
	}
}

func TestShapesInWords(t *testing.T) {
	for _, c := range []struct {
		shape         Shape
		text, noun    string
		values, bytes int
	}{
		{Shape{28, 28, 1}, "28x28x1", "pictures", 784, 784},
		{Shape{1, 1, 3}, "1x1x3", "pictures", 3, 3},
		{Row(3), "3 columns", "rows", 3, 12},
		{Row(1), "1 column", "rows", 1, 4},
	} {
		if s := c.shape; s.String() != c.text || s.Noun() != c.noun || s.Values() != c.values || s.Bytes() != c.bytes {
			t.Errorf("%+v is %v, %s, %d values, %d bytes; expected %+v", s, s, s.Noun(), s.Values(), s.Bytes(), c)
		}
	}
}

func BenchmarkFill(b *testing.B) {
	const n = 256
	set := must(NewImages(Shape{28, 28, 1}, two, make([]uint8, n), make([]uint8, n*784)))
	batcher := must(NewBatcher(set, Normalisation{[]float64{0.5}, []float64{0.5}}))
	x, labels, indices := make([]float32, n*784), make([]float32, n), make([]int, n)
	b.SetBytes(n * 784)
	for b.Loop() {
		batcher.Fill(x, labels, indices)
	}
}
