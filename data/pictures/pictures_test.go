package pictures

import (
	"image"
	"strings"
	"testing"
)

func TestShrinkingAverages(t *testing.T) {
	// A fine chequerboard shrinks to its mean, not to one of its two colours.
	m := image.NewGray(image.Rect(0, 0, 64, 64))
	for i := range m.Pix {
		m.Pix[i] = uint8((i + i/64) % 2 * 255)
	}
	dst := make([]uint8, 16)
	store(dst, m, Size{4, 4, 1}, 1)
	for i, v := range dst {
		if v < 120 || v > 136 {
			t.Errorf("value %d is %d, expected about 127", i, v)
		}
	}
}

// Files beside pictures are many when they are more than two and more than a tenth of the pictures.
func TestTooManyOthers(t *testing.T) {
	for _, c := range []struct {
		others, pictures int
		want             bool
	}{{0, 0, false}, {2, 1, false}, {3, 1, true}, {3, 39, false}, {4, 39, true}, {100, 1000, false}, {101, 1000, true}} {
		o := Others{".txt": c.others}
		if o.TooMany(c.pictures) != c.want {
			t.Errorf("%v beside %d pictures: found %v, expected %v", o, c.pictures, !c.want, c.want)
		}
	}
	if o := (Others{".a" + strings.Repeat("b", 300): 1}); len(o.String()) > 60 {
		t.Errorf("found %s, expected a line that can be read", o)
	}
}
