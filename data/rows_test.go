package data

import (
	"math"
	"testing"
)

func rows(t *testing.T, values ...float32) *Rows {
	t.Helper()
	r := must(NewRows(2, []string{"a", "b"}, make([]uint8, len(values)/2), values))
	return r
}

func TestFillOfRowsAgreesWithTheFormula(t *testing.T) {
	n := Normalisation{Mean: []float64{-3, 1000}, Std: []float64{0.5, 250}}
	b := must(NewBatcher(rows(t, -2.5, 750, 7, 1e6, 0, 0), n))
	x := []float32{9, 9, 9, 9, 9, 9}
	b.Fill(x, make([]int32, 2), []int{1, 0})
	for i, want := range []float32{20, 3996, 1, -1, 9, 9} { // (value − mean) / std; the last row is padding
		if x[i] != want {
			t.Errorf("value %d is %v, expected %v", i, x[i], want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { b.Fill(x, make([]int32, 2)[:2], []int{2, 1}) }); n != 0 {
		t.Errorf("%v allocations for each call", n)
	}
}

func TestNewRowsChecksWhatItIsGiven(t *testing.T) {
	two := []string{"a", "b"}
	for name, c := range map[string]struct {
		columns int
		classes []string
		labels  []uint8
		values  []float32
		says    string
	}{
		"too few values":  {2, two, []uint8{0, 1}, make([]float32, 3), "3 values, expected 4 for 2 rows of 2 columns"},
		"too many values": {2, two, []uint8{0, 1}, make([]float32, 5), "5 values, expected 4"},
		"label":           {1, two, []uint8{0, 2}, make([]float32, 2), "label 2 of record 1, expected 0 to 1"},
		"no classes":      {1, nil, nil, nil, "0 classes, expected 1 to 256"},
		"no columns":      {0, two, nil, nil, "rows of 0 columns, expected 1 to 4096"},
		"absurd columns":  {1 << 20, two, nil, nil, "rows of 1048576 columns"},
		"NaN":             {2, two, []uint8{0, 1}, []float32{0, 0, 0, float32(math.NaN())}, "column 1 of row 1 is not finite"},
		"infinite":        {2, two, []uint8{0, 1}, []float32{0, 0, float32(math.Inf(-1)), 0}, "column 0 of row 1 is not finite"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewRows(c.columns, c.classes, c.labels, c.values)
			wantError(t, err, ErrInvalid, c.says)
		})
	}
}

func TestNormalisationOfRowsIsCheckedByColumn(t *testing.T) {
	for want, n := range map[string]Normalisation{
		"1 means and 2 standard deviations, expected 2 of each (one for each column)": {[]float64{0}, []float64{1, 1}},
		"mean of column 1 is NaN": {[]float64{0, math.NaN()}, []float64{1, 1}},
		"standard deviation of column 0 is 0, expected a positive, finite number": {[]float64{0, 0}, []float64{0, 1}},
	} {
		_, err := NewBatcher(rows(t, 1, 2), n)
		wantError(t, err, ErrInvalid, want)
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
