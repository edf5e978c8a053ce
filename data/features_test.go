package data

import (
	"math"
	"math/rand/v2"
	"testing"

	"dpsgd/internal/kernel"
)

func features(t *testing.T, columns int, values []float32) *Features {
	t.Helper()
	halves := make([]uint16, len(values))
	kernel.ToHalves(halves, values)
	f := must(NewFeatures(columns, []string{"a", "b"}, make([]uint8, len(values)/columns), halves))
	return f
}

func TestFillOfFeaturesIsTheirValues(t *testing.T) {
	f := features(t, 2, []float32{0.5, -0.25, 65504, 0x1p-24, 0, 1})
	b := must(NewBatcher(f, Normalisation{}))
	x := []float32{9, 9, 9, 9, 9, 9}
	b.Fill(x, make([]int32, 2), []int{1, 0})
	for i, want := range []float32{65504, 0x1p-24, 0.5, -0.25, 9, 9} { // all of them halves; the last row is padding
		if x[i] != want {
			t.Errorf("value %d is %v, expected %v", i, x[i], want)
		}
	}
	if h := f.Halves(2); len(h) != 2 || h[0] != 0 || h[1] != 0x3c00 {
		t.Errorf("the halves of row 2 are %#04x, expected 0 and 0x3c00", h)
	}
	if n := testing.AllocsPerRun(100, func() { b.Fill(x, make([]int32, 2)[:2], []int{2, 1}) }); n != 0 {
		t.Errorf("%v allocations for each call", n)
	}
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
			b := must(NewBatcher(features(t, columns, unit), Normalisation{}))
			stored, lost := make([]float32, columns), 0.0
			b.Fill(stored, make([]int32, 1), []int{0})
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
			t.Logf("%d columns, power %v: %.3g", columns, power, lost)
		}
	}
}

func TestNewFeaturesChecksWhatItIsGiven(t *testing.T) {
	two := []string{"a", "b"}
	for name, c := range map[string]struct {
		columns int
		labels  []uint8
		halves  []uint16
		says    string
	}{
		"too few values": {2, []uint8{0, 1}, make([]uint16, 3), "3 values, expected 4 for 2 rows of 2 columns"},
		"label":          {1, []uint8{0, 2}, make([]uint16, 2), "label 2 of record 1, expected 0 to 1"},
		"no columns":     {0, nil, nil, "computed rows of 0 columns, expected 1 to 65536"},
		"too many":       {1<<16 + 1, nil, nil, "computed rows of 65537 columns"},
		"NaN":            {2, []uint8{0, 1}, []uint16{0, 0, 0, 0x7c01}, "a value of computed row 1 is not finite"},
		"infinite":       {2, []uint8{0, 1}, []uint16{0xfc00, 0, 0, 0}, "a value of computed row 0 is not finite"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewFeatures(c.columns, two, c.labels, c.halves)
			wantError(t, err, ErrInvalid, c.says)
		})
	}
	if _, err := NewFeatures(2, two, []uint8{0}, []uint16{0x7bff, 0xfbff}); err != nil {
		t.Errorf("the largest halves: %v", err)
	}
}

func TestFeaturesTakeNoNormalisation(t *testing.T) {
	_, err := NewBatcher(features(t, 1, []float32{1}), Normalisation{[]float64{0}, []float64{1}})
	wantError(t, err, ErrInvalid, "normalisation has 1 means and 1 standard deviations, expected 0 of each (one for each column that is not computed)")
}
