package data

import (
	"bytes"
	"math"
	"runtime"
	"testing"
)

// The pictures of seed 0, by checksum: they must not change with the platform, the
// Go version or a refactoring, because published results name the seed.
// Computed by this package on linux/amd64; all arithmetic is on integers.
func TestDigitsAreTheSameEverywhere(t *testing.T) {
	s := must(drawDigits(0, 1000, 200))
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

// A picture does not depend on the processors, the number of pictures, or what was drawn before it.
func TestDigitsAreDrawnAlone(t *testing.T) {
	all := must(drawDigits(5, 700, 10))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	few := must(drawDigits(5, 300, 10))
	if !bytes.Equal(all.Train.(*Images).pixels[:len(few.Train.(*Images).pixels)], few.Train.(*Images).pixels) {
		t.Error("the first pictures differ")
	}
	forward := drawn(5, 0, 20)
	var d DigitDrawer
	pixels := make([]uint8, DigitSide*DigitSide)
	for i := len(forward) - 1; i >= 0; i-- {
		if label := d.Draw(pixels, 5, 0, i); label != forward[i].label || string(pixels) != string(forward[i].pixels) {
			t.Errorf("picture %d differs when it is drawn in another order", i)
		}
	}
}

func TestSeedsAndPartsDrawDifferentPictures(t *testing.T) {
	seen := map[string]bool{}
	for _, seed := range []uint64{0, 1} {
		for _, part := range []int{0, 1} {
			for _, p := range drawn(seed, part, 200) {
				seen[string(p.pixels)] = true
			}
		}
	}
	if len(seen) != 800 {
		t.Errorf("%d different pictures of 800", len(seen))
	}
}

// The digits can be told apart, but not by a glance: the nearest of 3,000 training
// pictures names 65 to 95 % of the test pictures (a small CNN without privacy reaches 99.6 %).
func TestDigitsAreNeitherTrivialNorUnreadable(t *testing.T) {
	train, test := drawn(0, 0, 3000), drawn(0, 1, 300)
	right := 0
	for _, p := range test {
		best, label := math.MaxInt, -1
		for _, q := range train {
			if d := squaredDistance(p.pixels, q.pixels, best); d < best {
				best, label = d, int(q.label)
			}
		}
		if label == int(p.label) {
			right++
		}
	}
	accuracy := float64(right) / float64(len(test))
	t.Logf("nearest neighbour: %.1f %%", 100*accuracy)
	if accuracy < 0.65 || accuracy > 0.95 {
		t.Errorf("nearest neighbour names %.1f %%, expected 65 to 95", 100*accuracy)
	}
}

// squaredDistance gives up once it is past limit.
func squaredDistance(a, b []uint8, limit int) int {
	sum := 0
	for len(a) >= DigitSide && sum < limit {
		for j := range DigitSide {
			d := int(a[j]) - int(b[j])
			sum += d * d
		}
		a, b = a[DigitSide:], b[DigitSide:]
	}
	return sum
}

// A digit is drawn, not cut off: nearly all of the ink lies inside the frame.
func TestDigitsHaveInkAndBackground(t *testing.T) {
	edge, ink := 0, 0
	for i, drawn := range drawn(3, 0, 2000) {
		bright := 0
		for j, p := range drawn.pixels {
			if p < 110 {
				continue
			}
			bright++
			ink++
			if r, c := j/DigitSide, j%DigitSide; r == 0 || c == 0 || r == DigitSide-1 || c == DigitSide-1 {
				edge++
			}
		}
		if bright < 15 || bright > 400 {
			t.Errorf("picture %d (a %d) has %d bright pixels, expected 15 to 400", i, drawn.label, bright)
		}
	}
	if float64(edge) > 0.02*float64(ink) {
		t.Errorf("%d of %d bright pixels lie on the edge", edge, ink)
	}
}

type picture struct {
	pixels []uint8
	label  uint8
}

// drawn returns the first n pictures of a part.
func drawn(seed uint64, part int, n int) []picture {
	var d DigitDrawer
	pictures := make([]picture, n)
	for i := range pictures {
		pixels := make([]uint8, DigitSide*DigitSide)
		pictures[i] = picture{pixels, d.Draw(pixels, seed, part, i)}
	}
	return pictures
}

// Classes are about equally frequent: a chi-square test with 9 degrees of freedom;
// the bound is its quantile at 1−1e-5 (R: qchisq(1-1e-5, 9)).
func TestDigitsAreBalanced(t *testing.T) {
	s := must(Load(Spec{Name: "digits"}))
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
