package data

import (
	"errors"
	"slices"
	"testing"
)

// A part has the examples of its places, of every kind of set, as a batcher sees them; other places are
// refused.
func TestPart(t *testing.T) {
	labels := []uint8{0, 1, 0, 1, 1}
	classes := []string{"a", "b"}
	images := must(NewImages(Shape{1, 2, 1}, classes, labels, []uint8{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}))
	features := must(NewFeatures(2, classes, labels, make([]uint16, 10)))
	for _, set := range []Set{images, features} {
		part, err := Part(set, 1, 4)
		if err != nil || part.Len() != 3 || part.Shape() != set.Shape() {
			t.Fatalf("%T: %v", set, err)
		}
		for i := range part.Len() {
			if part.Label(i) != set.Label(i+1) {
				t.Errorf("%T: label %d is %d, expected %d", set, i, part.Label(i), set.Label(i+1))
			}
		}
		for _, places := range [][2]int{{-1, 2}, {0, 6}, {3, 3}, {4, 2}} {
			if _, err := Part(set, places[0], places[1]); !errors.Is(err, ErrInvalid) {
				t.Errorf("%T: places %v: %v", set, places, err)
			}
		}
	}
	part, _ := Part(images, 1, 4)
	if got := part.(*Images).Pixels(2); !slices.Equal(got, []uint8{6, 7}) {
		t.Errorf("the last picture is %v, expected 6 7", got)
	}
}
