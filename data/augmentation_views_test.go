package data

import (
	"math"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/random"
	"dpsgd/internal/setting"
)

// twelve has pixel values 1 to 12 in reading order.
var (
	shape  = Shape{Height: 3, Width: 4, Channels: 1}
	twelve = []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
)

func views(r Augmentation, s Shape, seed uint64) *Views {
	return must(NewViews(r, s, random.ForTest(seed)))
}

// What a mirror image and a shift are, by NumPy 2.4: np.pad(picture, 2, mode="reflect"), cut out,
// of picture[:, ::-1] for mirror images.
func TestPicturesOfViews(t *testing.T) {
	for _, test := range []struct {
		change
		want []float32
	}{
		{change{false, 0, 0}, twelve},
		{change{false, 2, -2}, []float32{11, 10, 9, 10, 7, 6, 5, 6, 3, 2, 1, 2}},
		{change{false, -1, 2}, []float32{7, 8, 7, 6, 3, 4, 3, 2, 7, 8, 7, 6}},
		{change{false, 1, 1}, []float32{6, 7, 8, 7, 10, 11, 12, 11, 6, 7, 8, 7}},
		{change{true, 0, 0}, []float32{4, 3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9}},
		{change{true, -2, 1}, []float32{11, 10, 9, 10, 7, 6, 5, 6, 3, 2, 1, 2}},
	} {
		found := make([]float32, len(twelve))
		test.apply(found, twelve, shape)
		if !slices.Equal(found, test.want) {
			t.Errorf("mirrored %v, moved by %d, %d: found %v, expected %v", test.flip, test.down, test.across, found, test.want)
		}
	}
}

// The channels of a pixel stay together.
func TestColoursStayTogether(t *testing.T) {
	colour := Shape{Height: 3, Width: 4, Channels: 3}
	painted := make([]float32, 3*len(twelve))
	for i, p := range twelve {
		painted[3*i], painted[3*i+1], painted[3*i+2] = p, p+100, p+200
	}
	grey, found := make([]float32, len(twelve)), make([]float32, len(painted))
	change{true, -2, 1}.apply(grey, twelve, shape)
	change{true, -2, 1}.apply(found, painted, colour)
	for i, p := range grey {
		if !slices.Equal(found[3*i:3*i+3], []float32{p, p + 100, p + 200}) {
			t.Fatalf("pixel %d is %v, expected %v in three channels", i, found[3*i:3*i+3], p)
		}
	}
}

// draws counts what so many views of a recipe are.
func draws(r Augmentation, n int) (flips int, offsets map[[2]int]int) {
	v := views(r, Shape{Height: 9, Width: 9, Channels: 1}, 5)
	offsets = map[[2]int]int{}
	for i := range n {
		c := v.draw(i/100, i%100/10, i%10)
		if c.flip {
			flips++
		}
		offsets[[2]int{c.down, c.across}]++
	}
	return flips, offsets
}

// flip: half of the views are mirror images and nothing moves. A binomial count lies within 5
// standard deviations but for 6e-7 of all seeds.
func TestFlip(t *testing.T) {
	const n = 10000
	flips, offsets := draws(Augmentation{Views: 1, Flip: true}, n)
	if limit := 5 * math.Sqrt(n) / 2; !(math.Abs(float64(flips)-n/2) <= limit) {
		t.Errorf("%d of %d views are mirrored, expected %d ± %.0f", flips, n, n/2, limit)
	}
	if len(offsets) != 1 || offsets[[2]int{}] != n {
		t.Errorf("flip alone moves pictures: %v", offsets)
	}
}

// shift: every pair of offsets up to the bound is equally likely, and nothing is mirrored. Each of
// the 25 counts lies within 5.5 standard deviations but for 4e-8 of all seeds, all of them but for
// 1e-6.
func TestShift(t *testing.T) {
	const n, pairs = 25000, 25
	flips, offsets := draws(Augmentation{Views: 1, Shift: 2}, n)
	limit := 5.5 * math.Sqrt(n/pairs*(1-1.0/pairs))
	for down := -2; down <= 2; down++ {
		for across := -2; across <= 2; across++ {
			if found := offsets[[2]int{down, across}]; !(math.Abs(float64(found)-n/pairs) <= limit) {
				t.Errorf("%d views are moved by %d, %d, expected %d ± %.0f", found, down, across, n/pairs, limit)
			}
		}
	}
	if flips != 0 || len(offsets) != pairs {
		t.Errorf("found %d mirror images and %d offsets, expected none and %d", flips, len(offsets), pairs)
	}
}

// views: so many of each example, independent of each other, of those of other examples, of other
// steps and under other keys. Two of 1000 equal sequences of 40 views with 2·81 kinds have
// probability below 1e-80.
func TestViewsAreIndependent(t *testing.T) {
	r := Augmentation{Views: 40, Flip: true, Shift: 4}
	big := Shape{Height: 9, Width: 9, Channels: 1}
	v, other := views(r, big, 1), views(r, big, 2)
	if v.PerExample() != 40 {
		t.Errorf("found %d views of each example, expected 40", v.PerExample())
	}
	seen := map[[40]change]bool{}
	for _, source := range []*Views{v, other} {
		for step := range 10 {
			for example := range 50 {
				var sequence [40]change
				for view := range sequence {
					sequence[view] = source.draw(step, example, view)
				}
				if seen[sequence] {
					t.Fatalf("step %d, example %d repeats the views of another", step, example)
				}
				seen[sequence] = true
			}
		}
	}
}

// A view is a function of key, step, example, view and picture, in whatever order it is asked for.
func TestViewsAreRepeatable(t *testing.T) {
	r := Augmentation{Views: 3, Flip: true, Shift: 2}
	v, again := views(r, shape, 1), views(r, shape, 1)
	write := func(v *Views, step, example, view int) []float32 {
		dst := make([]float32, len(twelve))
		v.Write(dst, twelve, step, example, view)
		return dst
	}
	var first [][]float32
	for i := range 60 {
		first = append(first, write(v, i/12, i%12/3, i%3))
	}
	for i := 59; i >= 0; i-- {
		if !slices.Equal(write(again, i/12, i%12/3, i%3), first[i]) {
			t.Fatalf("view %d is another one when it is made again", i)
		}
	}
}

// Without anything to do there are no views, and a picture is what it is.
func TestNoViews(t *testing.T) {
	v := views(NoAugmentation(), shape, 1)
	if v != nil || v.PerExample() != 1 || NoAugmentation().Any() {
		t.Errorf("found %v with %d views of each example, expected nil with 1", v, v.PerExample())
	}
	dst := make([]float32, len(twelve))
	v.Write(dst, twelve, 3, 4, 5)
	if !slices.Equal(dst, twelve) {
		t.Errorf("found %v, expected the picture", dst)
	}
	// Several views that nothing is done to are the picture several times.
	v = views(Augmentation{Views: 2}, shape, 1)
	v.Write(dst, twelve, 3, 4, 1)
	if v.PerExample() != 2 || !slices.Equal(dst, twelve) {
		t.Errorf("found %v of %d views, expected the picture of 2", dst, v.PerExample())
	}
}

func TestUnfitRecipes(t *testing.T) {
	for _, test := range []struct {
		recipe Augmentation
		shape  Shape
		want   string
	}{
		{Augmentation{Views: 4}, Row(7), "found rows, expected pictures"},
		{Augmentation{Views: 1, Flip: true}, Row(7), "found rows, expected pictures"},
		{Augmentation{Views: 1, Shift: 3}, shape, "shift is 3, expected less than the 3 pixels"},
		{Augmentation{}, shape, "views of training.augmentation is 0, expected a whole number from 1 to 256"},
	} {
		_, err := NewViews(test.recipe, test.shape, random.ForTest(1))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v of %v: found %v, expected %q", test.recipe, test.shape, err, test.want)
		}
	}
	for _, r := range []Augmentation{NoAugmentation(), {Views: 2, Flip: true, Shift: 2}} {
		if err := r.Check(shape); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if err := NoAugmentation().Check(Row(7)); err != nil {
		t.Errorf("rows without views: %v", err)
	}
}

// Every word of a configuration is said in the description of what ran.
func TestDescription(t *testing.T) {
	for recipe, want := range map[Augmentation]string{
		NoAugmentation():                 "every example as it is",
		{Views: 4, Flip: true, Shift: 3}: "4 views of each example, whose gradients are averaged before they are clipped, mirrored left and right with probability 1/2, moved by 0 to 3 pixels up or down and left or right",
		{Views: 1, Shift: 1}:             "one view of each example, moved by 0 to 1 pixels up or down and left or right",
		{Views: 16}:                      "16 views of each example, whose gradients are averaged before they are clipped",
		{Views: 1, Flip: true}:           "one view of each example, mirrored left and right with probability 1/2",
	} {
		if found := recipe.String(); found != want {
			t.Errorf("found %q, expected %q", found, want)
		}
	}
	if found := len(setting.Arguments(&Augmentation{})); found != 3 {
		t.Errorf("found %d words, expected views, flip and shift: a new one needs a test above", found)
	}
}

func BenchmarkView(b *testing.B) {
	colour := Shape{Height: 32, Width: 32, Channels: 3}
	v := views(Augmentation{Views: 16, Flip: true, Shift: 4}, colour, 1)
	dst, twelve := make([]float32, colour.Values()), make([]float32, colour.Values())
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		v.Write(dst, twelve, 0, i, 0)
	}
}
