package data

import (
	"slices"
	"testing"
)

// Every record is in every batch, the last one too, of an even or an odd number; what dst held is
// forgotten.
func TestFullTakesEveryRecord(t *testing.T) {
	dst := []int{7, 7, 7}
	for n := range 10 {
		want := []int{}
		for i := range n {
			want = append(want, i)
		}
		if dst = (Full{}).Sample(dst, n, nil); !slices.Equal(dst, want) {
			t.Errorf("of %d records found %v", n, dst)
		}
	}
}
