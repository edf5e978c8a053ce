package data

import (
	"bytes"
	"runtime"
	"testing"
)

// The pictures of seed 0, by checksum: they must not change with the platform, the
// Go version or a refactoring, because published results name the seed.
// Computed by this package on linux/amd64; all arithmetic is on integers.
func TestDigitsAreTheSameEverywhere(t *testing.T) {
	s, err := drawDigits(0, 1000, 200)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"training pixels": {s.Train.(*Images).pixels, "28cee91764aab2041d0dd9f222fb0b77e1a5bc919ce9b21c447d39c33c3d1fbe"},
		"training labels": {s.Train.(*Images).labels, "97f57450ccf47641bb912fdb316c6317f11d12e0eeee5ea8e66b0ea5542f8e7b"},
		"test pixels":     {s.Test.(*Images).pixels, "8521e49ad617e01c071bd1df90b652ebddcc67fe9572730c434466d4a2a7368b"},
		"test labels":     {s.Test.(*Images).labels, "7db3de040df85cfcb22cd866433cd19e51146f1d5a73f8dbf1fd0f1b59bfe43e"},
	} {
		if got := sum(c.content); got != c.want {
			t.Errorf("%s have the SHA-256 %s, expected %s", name, got, c.want)
		}
	}
}

func TestDigitsDoNotDependOnProcessorsOrCount(t *testing.T) {
	all, err := drawDigits(5, 700, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	few, err := drawDigits(5, 300, 10)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(all.Train.(*Images).pixels[:len(few.Train.(*Images).pixels)], few.Train.(*Images).pixels) {
		t.Error("the first pictures differ")
	}
}

// Classes are about equally frequent: a chi-square test with 9 degrees of freedom;
// the bound is its quantile at 1−1e-5 (R: qchisq(1-1e-5, 9)).
func TestDigitsAreBalanced(t *testing.T) {
	s, err := Load(Spec{Name: "digits"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Train.Len() != 20000 || s.Test.Len() != 2000 || s.Train.Shape() != (Shape{28, 28, 1}) || len(s.Train.Classes()) != 10 {
		t.Fatalf("%d and %d pictures of %v", s.Train.Len(), s.Test.Len(), s.Train.Shape())
	}
	var counts [10]float64
	for i := range s.Train.Len() {
		counts[s.Train.Label(i)]++
	}
	x := 0.0
	for _, c := range counts {
		x += (c - 2000) * (c - 2000) / 2000
	}
	if x > 39.34 {
		t.Errorf("chi-square is %.1f for counts %v", x, counts)
	}
}

// The whole set: 0.5 s on two cores of an AMD EPYC with AVX-512.
func BenchmarkDrawDigits(b *testing.B) {
	for b.Loop() {
		if _, err := drawDigits(0, drawnDigits.Train, drawnDigits.Test); err != nil {
			b.Fatal(err)
		}
	}
}
