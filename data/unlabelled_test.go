package data

import (
	"slices"
	"testing"

	"dpsgd/internal/random"
)

// fewContents makes n pictures of three contents, sorted by class.
func fewContents(n int, label func(i int) uint8) *Images {
	labels, pixels := make([]uint8, n), make([]uint8, 0, 2*n)
	for i := range labels {
		labels[i] = label(i)
		pixels = append(pixels, uint8(i%3), 7)
	}
	return must(NewImages(Shape{1, 2, 1}, []string{"a", "b", "c"}, labels, pixels))
}

func unlabelled(s Set) *Unlabelled { return must(NewUnlabelled(s, random.New())) }

// filled returns a batcher's output for the examples at all places.
func filled(t *testing.T, s Set) []float32 {
	t.Helper()
	n := Normalisation{Mean: []float64{0}, Std: []float64{1}}
	if _, computed := beneath(s).(*Features); computed {
		n = Normalisation{}
	}
	x, labels := whole(t, s, n)
	if _, hidden := s.(*Unlabelled); hidden && slices.Max(labels) > 0 {
		t.Error("a batch holds a label")
	}
	return x
}

// What stands at a place does not depend on labels or on the order in which examples were found,
// for every kind of set; and each example comes with its own label for whoever asks.
func TestPlacesFollowFromContent(t *testing.T) {
	const n = 9
	classes := []string{"a", "b", "c"}
	of := func(order []int, shift int) []Set {
		labels, pixels, values, halves := make([]uint8, n), make([]uint8, n), make([]float32, n), make([]uint16, n)
		for place, i := range order {
			labels[place] = uint8((i + shift) % 3)
			pixels[place], values[place], halves[place] = uint8(31*i), float32(i)/7-1, uint16(1000*i)
		}
		images := must(NewImages(Shape{1, 1, 1}, classes, labels, pixels))
		rows := must(NewRows(1, classes, labels, values))
		features := must(NewFeatures(1, classes, labels, halves))
		return []Set{images, rows, features}
	}
	if u := unlabelled(must(NewTargetRows(1, classes[:1], []float32{1}, []float32{2}))); u.Targets(0) != nil {
		t.Error("a number to learn is seen")
	}
	found, sorted := of([]int{0, 1, 2, 3, 4, 5, 6, 7, 8}, 0), of([]int{8, 5, 2, 7, 4, 1, 6, 3, 0}, 1)
	for kind := range found {
		a, b := unlabelled(found[kind]), unlabelled(sorted[kind])
		if !slices.Equal(filled(t, a), filled(t, b)) || a.Content() != b.Content() {
			t.Errorf("%T: the places differ, expected them to follow from the content", found[kind])
		}
		if slices.Equal(filled(t, a), filled(t, found[kind])) {
			t.Errorf("%T: the examples stand as they were found", found[kind])
		}
		for place := range n {
			if a.Label(place) != 0 || (a.Secret(place)+1)%3 != b.Secret(place) {
				t.Errorf("%T: place %d has the labels %d and %d, expected 0 for the network and each example's own for who asks", found[kind], place, a.Secret(place), b.Secret(place))
			}
		}
	}
}

// Equal examples stand together, and a boundary parts none. Every order of their labels is equally
// likely: each of twenty equal examples gives the first label in a twentieth of all calls. Of 4,000
// a share of 0.05 is below 0.025 or above 0.08 with a chance below 1e-12.
func TestEqualExamplesAreExchangeable(t *testing.T) {
	const n, calls = 60, 4000
	one := fewContents(n, func(i int) uint8 {
		if i == 0 { // the first one that is found
			return 1
		}
		return 0
	})
	first, group := 0, 0
	for range calls {
		u := unlabelled(one)
		for place := range n {
			if u.Secret(place) == 1 {
				group = place / 20 * 20
				if place == group {
					first++
				}
			}
		}
	}
	if share := float64(first) / calls; share < 0.025 || share > 0.08 {
		t.Errorf("the one label is the first of its group in %.3f of all calls, expected 0.05", share)
	}
	u, x := unlabelled(one), []float32(nil)
	if x = filled(t, u); x[2*group] != x[2*(group+19)] {
		t.Error("equal pictures do not stand together")
	}
	for from, want := range map[int]int{0: 0, 1: 20, 20: 20, 21: 40, 59: 60, 60: 60} {
		if got := u.Boundary(from); got != want {
			t.Errorf("the boundary from %d is %d, expected %d", from, got, want)
		}
	}
}

// Another picture is noticed, another label is not, unless labels count as in [ContentOf].
func TestContentIsThatOfTheExamples(t *testing.T) {
	m := fewContents(9, func(i int) uint8 { return uint8(i / 3) })
	content := unlabelled(m).Content()
	if other := fewContents(9, func(int) uint8 { return 0 }); unlabelled(other).Content() != content || must(ContentOf(other)) == must(ContentOf(m)) {
		t.Error("another label changes the content, or not what it is with the labels")
	}
	m.pixels[5]++
	if unlabelled(m).Content() == content {
		t.Error("another picture does not change the content")
	}
	of := func(y ...float32) string {
		return must(ContentOf(must(NewTargetRows(1, []string{"y"}, y, []float32{1, 1}))))
	}
	if of(1, 2) == of(2, 1) {
		t.Error("numbers that are learnt and change places do not change the content")
	}
}
