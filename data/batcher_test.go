package data

import (
	"math"
	"testing"
)

// coloured has two pictures of 1 by 2 pixels in three channels.
func coloured(t *testing.T) *Images {
	t.Helper()
	m, err := NewImages(Shape{1, 2, 3}, []string{"a", "b", "c"}, []uint8{2, 1},
		[]uint8{0, 51, 102, 153, 204, 255, 255, 204, 153, 102, 51, 0})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestFillNormalisesEachChannel(t *testing.T) {
	n := Normalisation{Mean: []float64{0, 0.5, 0.2}, Std: []float64{1, 0.5, 0.1}}
	b := must(NewBatcher(coloured(t), n))
	x, labels := make([]float32, 12), make([]int32, 2)
	b.Fill(x, labels, []int{1, 0})
	// (p/255 − mean) / std, written out.
	want := []float32{1, 0.6, 4, 0.4, -0.6, -2, 0, -0.6, 2, 0.6, 0.6, 8}
	for i := range want {
		if math.Abs(float64(x[i]-want[i])) > 1e-6 {
			t.Errorf("value %d is %v, expected %v", i, x[i], want[i])
		}
	}
	if labels[0] != 1 || labels[1] != 2 {
		t.Errorf("labels are %v, expected [1 2]", labels)
	}
}

func TestFillOfGreyAgreesWithTheFormula(t *testing.T) {
	pixels := make([]uint8, 256)
	for i := range pixels {
		pixels[i] = uint8(i)
	}
	m := must(NewImages(Shape{16, 16, 1}, []string{"a"}, []uint8{0}, pixels))
	const mean, std = 0.1307, 0.3081
	b := must(NewBatcher(m, Normalisation{[]float64{mean}, []float64{std}}))
	x := make([]float32, 256)
	b.Fill(x, make([]int32, 1), []int{0})
	for p := range x {
		if want := float32((float64(p)/255 - mean) / std); x[p] != want {
			t.Errorf("byte %d becomes %v, expected %v", p, x[p], want)
		}
	}
}

func TestFillLeavesPaddingAlone(t *testing.T) {
	b := must(NewBatcher(coloured(t), Normalisation{[]float64{0, 0, 0}, []float64{1, 1, 1}}))
	x, labels := make([]float32, 18), []int32{-7, -7, -7}
	for i := range x {
		x[i] = -7
	}
	b.Fill(x, labels, []int{0})
	for i := 6; i < 18; i++ {
		if x[i] != -7 {
			t.Fatalf("value %d of the padding is %v", i, x[i])
		}
	}
	if labels[1] != -7 || labels[2] != -7 {
		t.Errorf("labels are %v", labels)
	}
	b.Fill(x, labels, nil) // an empty batch touches nothing
}

func TestFillAllocatesNothing(t *testing.T) {
	b := must(NewBatcher(coloured(t), Normalisation{[]float64{0, 0, 0}, []float64{1, 1, 1}}))
	x, labels, indices := make([]float32, 12), make([]int32, 2), []int{1, 0}
	if n := testing.AllocsPerRun(100, func() { b.Fill(x, labels, indices) }); n != 0 {
		t.Errorf("%v allocations for each call", n)
	}
}

func TestFillPanicsWhenTheBatchDoesNotFit(t *testing.T) {
	b := must(NewBatcher(coloured(t), Normalisation{[]float64{0, 0, 0}, []float64{1, 1, 1}}))
	for name, call := range map[string]func(){
		"values":  func() { b.Fill(make([]float32, 11), make([]int32, 2), []int{0, 1}) },
		"labels":  func() { b.Fill(make([]float32, 12), make([]int32, 1), []int{0, 1}) },
		"indices": func() { b.Fill(make([]float32, 6), make([]int32, 1), []int{2}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}

func TestNormalisationIsChecked(t *testing.T) {
	ok := []float64{0.5, 0.5, 0.5}
	for name, n := range map[string]Normalisation{
		"missing":       {},
		"one channel":   {[]float64{0.5}, []float64{0.5}},
		"mean NaN":      {[]float64{0, math.NaN(), 0}, ok},
		"mean infinite": {[]float64{0, math.Inf(-1), 0}, ok},
		"std zero":      {ok, []float64{1, 0, 1}},
		"std negative":  {ok, []float64{1, -1, 1}},
		"std NaN":       {ok, []float64{1, math.NaN(), 1}},
		"std infinite":  {ok, []float64{1, math.Inf(1), 1}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewBatcher(coloured(t), n)
			wantError(t, err, ErrInvalid, "expected")
		})
	}
}

func BenchmarkFill(b *testing.B) {
	const n = 256
	m := must(NewImages(Shape{28, 28, 1}, []string{"a"}, make([]uint8, n), make([]uint8, n*784)))
	batcher := must(NewBatcher(m, Normalisation{[]float64{0.5}, []float64{0.5}}))
	x, labels, indices := make([]float32, n*784), make([]int32, n), make([]int, n)
	b.SetBytes(n * 784)
	for b.Loop() {
		batcher.Fill(x, labels, indices)
	}
}
