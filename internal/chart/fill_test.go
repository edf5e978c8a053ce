package chart

import (
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// No line is wider than the room there is, and every word is in one of them while there are enough.
func TestTextIsBrokenToItsRoom(t *testing.T) {
	style := in(ink)
	long := "noise multiplier 0.876543, sampling probability 0.123457; off the chart: optimal 1272, advanced 1311, basic 2956"
	for _, lines := range []int{1, 2, 20} {
		for _, width := range []float64{60, 200, 400, 1000} {
			found := broken(style, long, vg.Length(width), lines)
			for _, line := range found {
				if style.Width(line) > vg.Length(width) {
					t.Errorf("%q is %v wide, expected at most %v", line, style.Width(line), width)
				}
			}
			whole := strings.Join(found, " ") == long
			if len(found) > lines || whole == strings.HasSuffix(found[len(found)-1], "…") || (lines == 20 || width == 1000) && width > 60 && !whole {
				t.Errorf("%d lines of %v: %q", lines, width, found)
			}
		}
	}
	if found := broken(style, "", 10, 2); !slices.Equal(found, []string{""}) {
		t.Errorf("%q of nothing", found)
	}
}
