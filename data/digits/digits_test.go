package digits

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"testing"
)

type picture struct {
	pixels []uint8
	label  uint8
}

// drawn returns the first n pictures of a part.
func drawn(seed uint64, part Part, n int) []picture {
	var d Drawer
	pictures := make([]picture, n)
	for i := range pictures {
		pixels := make([]uint8, Side*Side)
		pictures[i] = picture{pixels, d.Draw(pixels, seed, part, i)}
	}
	return pictures
}

// The pictures must not change with the platform, the Go version or a refactoring, because
// published results name the seed. The hash is that of the pictures of the first version.
func TestPicturesAreTheSameEverywhere(t *testing.T) {
	sum := sha256.New()
	for _, part := range []Part{Train, Test} {
		for _, p := range drawn(7, part, 50) {
			sum.Write(p.pixels)
			sum.Write([]byte{p.label})
		}
	}
	const want = "bc72872822b530e98719668501a5a196ecff99a900e1f9e3e778c9ac578dbdef"
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("found the SHA-256 %s, expected %s", got, want)
	}
}

// A picture does not depend on what the drawer drew before it.
func TestPicturesDoNotDependOnOrder(t *testing.T) {
	forward := drawn(5, Train, 20)
	var d Drawer
	pixels := make([]uint8, Side*Side)
	for i := len(forward) - 1; i >= 0; i-- {
		if label := d.Draw(pixels, 5, Train, i); label != forward[i].label || string(pixels) != string(forward[i].pixels) {
			t.Errorf("picture %d differs when it is drawn in another order", i)
		}
	}
}

func TestSeedsAndPartsDrawDifferentPictures(t *testing.T) {
	seen := map[string]bool{}
	for _, seed := range []uint64{0, 1} {
		for _, part := range []Part{Train, Test} {
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
	train, test := drawn(0, Train, 3000), drawn(0, Test, 300)
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
	for len(a) >= Side && sum < limit {
		for j := range Side {
			d := int(a[j]) - int(b[j])
			sum += d * d
		}
		a, b = a[Side:], b[Side:]
	}
	return sum
}

// A digit is drawn, not cut off: nearly all of the ink lies inside the frame.
func TestDigitsHaveInkAndBackground(t *testing.T) {
	edge, ink := 0, 0
	for i, drawn := range drawn(3, Train, 2000) {
		bright := 0
		for j, p := range drawn.pixels {
			if p < 110 {
				continue
			}
			bright++
			ink++
			if r, c := j/Side, j%Side; r == 0 || c == 0 || r == Side-1 || c == Side-1 {
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

func TestByteSum(t *testing.T) {
	for w, want := range map[uint64]int{0: 0, math.MaxUint64: 8 * 255, 0x0102030405060708: 36, 0xff000000000000ff: 510} {
		if got := byteSum(w); got != want {
			t.Errorf("byteSum(%x) is %d, expected %d", w, got, want)
		}
	}
}

func TestSplinePassesThroughItsPoints(t *testing.T) {
	const n = 6
	for _, p := range [][4]int{{0, 10, 20, 30}, {-500, 3000, 2000, 9}, {7, 7, 7, 7}} {
		if got := spline(p[0], p[1], p[2], p[3], 0, n); got != p[1] {
			t.Errorf("spline%v starts at %d", p, got)
		}
		if got := spline(p[0], p[1], p[2], p[3], n, n); got != p[2] {
			t.Errorf("spline%v ends at %d", p, got)
		}
	}
	if got := spline(0, 60, 120, 180, 3, n); got != 90 { // a straight line stays one
		t.Errorf("middle of a line is %d, expected 90", got)
	}
}
