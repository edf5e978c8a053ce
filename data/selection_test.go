package data

import (
	"slices"
	"testing"
)

// A selection shows the labels, pixels and values of the examples that it names, in its order, and
// is of pictures if all of its sets are.
func TestSelect(t *testing.T) {
	shape := Shape{Height: 1, Width: 1, Channels: 1}
	names := []string{"a", "b"}
	first := must(NewImages(shape, names, []uint8{0, 1, 0}, []uint8{10, 11, 12}))
	second := must(NewImages(shape, names, []uint8{1, 1}, []uint8{20, 21}))
	s := Select([]int{4, 0, 3, 2, 0}, first, second)
	if s.Len() != 5 || s.Shape() != shape || !slices.Equal(s.Classes(), names) {
		t.Errorf("found %d of %v with %v", s.Len(), s.Shape(), s.Classes())
	}
	fill := s.normalised(Normalisation{Mean: []float64{0}, Std: []float64{1. / 255}})
	for i, want := range []struct {
		label int
		pixel uint8
	}{{1, 21}, {0, 10}, {1, 20}, {0, 12}, {0, 10}} {
		check(t, s.(Pictures).View(i, func(pixels []uint8) {
			if !slices.Equal(pixels, []uint8{want.pixel}) || s.Label(i) != want.label {
				t.Errorf("example %d: found %v of class %d, expected %+v", i, pixels, s.Label(i), want)
			}
		}))
		x := make([]float32, 1)
		check(t, fill(x, i))
		if x[0] != float32(want.pixel) {
			t.Errorf("example %d: found %v, expected %d", i, x[0], want.pixel)
		}
	}
	rows := must(NewRows(1, names, []uint8{1, 0}, []float32{3, 4}))
	if _, pictures := Select([]int{1}, rows).(Pictures); pictures {
		t.Error("found pictures in a selection of rows")
	}
	pay := func(v float32) Set { return must(NewTargetRows(1, []string{"pay"}, []float32{v}, []float32{0})) }
	if found := Select([]int{1}, pay(0.5), pay(0.75)).Targets(0); !slices.Equal(found, []float32{0.75}) {
		t.Errorf("found the numbers %v, expected those of the second set", found)
	}
}
