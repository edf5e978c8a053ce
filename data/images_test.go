package data

import (
	"testing"
)

func TestNewImagesChecksWhatItIsGiven(t *testing.T) {
	two := []string{"a", "b"}
	for name, c := range map[string]struct {
		shape          Shape
		classes        []string
		labels, pixels []uint8
		says           string
	}{
		"too few pixels":  {Shape{2, 2, 1}, two, []uint8{0, 1}, make([]uint8, 7), "7 pixel values, expected 8"},
		"too many pixels": {Shape{2, 2, 1}, two, []uint8{0, 1}, make([]uint8, 9), "9 pixel values, expected 8"},
		"label":           {Shape{1, 1, 1}, two, []uint8{0, 2}, make([]uint8, 2), "label 2 of record 1, expected 0 to 1"},
		"no classes":      {Shape{1, 1, 1}, nil, nil, nil, "0 classes, expected 1 to 256"},
		"empty shape":     {Shape{0, 1, 1}, two, nil, nil, "0 by 1 pixels"},
		"absurd shape":    {Shape{1, 1 << 20, 1}, two, nil, nil, "1 by 1048576 pixels"},
		"two channels":    {Shape{1, 1, 2}, two, nil, nil, "2 channels, expected 1 (grey) or 3"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewImages(c.shape, c.classes, c.labels, c.pixels)
			wantError(t, err, ErrInvalid, c.says)
		})
	}
}

func TestImagesAreViewsInOrder(t *testing.T) {
	m := must(NewImages(Shape{1, 2, 3}, []string{"a", "b"}, []uint8{1, 0}, []uint8{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}))
	if m.Len() != 2 || m.Shape().Values() != 6 || m.Label(0) != 1 || m.Label(1) != 0 {
		t.Errorf("got %d pictures of %v with labels %d, %d", m.Len(), m.Shape(), m.Label(0), m.Label(1))
	}
	if p := m.Pixels(1); len(p) != 6 || cap(p) != 6 || p[0] != 6 || p[5] != 11 {
		t.Errorf("picture 1 is %v with capacity %d", p, cap(p))
	}
}
