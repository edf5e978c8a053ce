package data_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"dpsgd/data"
	"dpsgd/internal/random"
	"dpsgd/internal/setting"
	"dpsgd/internal/tiny"
)

// picture has pixel values 1 to 12 in reading order.
var (
	shape   = data.Shape{Height: 3, Width: 4, Channels: 1}
	picture = []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
)

func views(t *testing.T, r data.Augmentation, s data.Shape, seed uint64) *data.Views {
	t.Helper()
	v := tiny.Must(data.NewViews(r, s, random.ForTest(seed)))(t)
	return v
}

// What a mirror image and a shift are, by NumPy 2.4: np.pad(picture, 2, mode="reflect"), cut out,
// of picture[:, ::-1] for mirror images.
func TestPicturesOfViews(t *testing.T) {
	for _, test := range []struct {
		flip         bool
		down, across int
		want         []float32
	}{
		{false, 0, 0, picture},
		{false, 2, -2, []float32{11, 10, 9, 10, 7, 6, 5, 6, 3, 2, 1, 2}},
		{false, -1, 2, []float32{7, 8, 7, 6, 3, 4, 3, 2, 7, 8, 7, 6}},
		{false, 1, 1, []float32{6, 7, 8, 7, 10, 11, 12, 11, 6, 7, 8, 7}},
		{true, 0, 0, []float32{4, 3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9}},
		{true, -2, 1, []float32{11, 10, 9, 10, 7, 6, 5, 6, 3, 2, 1, 2}},
	} {
		found := make([]float32, len(picture))
		data.Apply(test.flip, test.down, test.across, found, picture, shape)
		if !slices.Equal(found, test.want) {
			t.Errorf("mirrored %v, moved by %d, %d: found %v, expected %v", test.flip, test.down, test.across, found, test.want)
		}
	}
}

// The channels of a pixel stay together.
func TestColoursStayTogether(t *testing.T) {
	colour := data.Shape{Height: 3, Width: 4, Channels: 3}
	painted := make([]float32, 3*len(picture))
	for i, p := range picture {
		painted[3*i], painted[3*i+1], painted[3*i+2] = p, p+100, p+200
	}
	grey, found := make([]float32, len(picture)), make([]float32, len(painted))
	data.Apply(true, -2, 1, grey, picture, shape)
	data.Apply(true, -2, 1, found, painted, colour)
	for i, p := range grey {
		if !slices.Equal(found[3*i:3*i+3], []float32{p, p + 100, p + 200}) {
			t.Fatalf("pixel %d is %v, expected %v in three channels", i, found[3*i:3*i+3], p)
		}
	}
}

// draws counts what so many views of a recipe are.
func draws(t *testing.T, r data.Augmentation, n int) (flips int, offsets map[[2]int]int) {
	t.Helper()
	v := views(t, r, data.Shape{Height: 9, Width: 9, Channels: 1}, 5)
	offsets = map[[2]int]int{}
	for i := range n {
		flip, down, across := v.Draw(i/100, i%100/10, i%10)
		if flip {
			flips++
		}
		offsets[[2]int{down, across}]++
	}
	return flips, offsets
}

// flip: half of the views are mirror images and nothing moves. A binomial count lies within 5
// standard deviations but for 6e-7 of all seeds.
func TestFlip(t *testing.T) {
	const n = 10000
	flips, offsets := draws(t, data.Augmentation{Views: 1, Flip: true}, n)
	if limit := 5 * math.Sqrt(n) / 2; math.Abs(float64(flips)-n/2) > limit {
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
	flips, offsets := draws(t, data.Augmentation{Views: 1, Shift: 2}, n)
	limit := 5.5 * math.Sqrt(n/pairs*(1-1.0/pairs))
	for down := -2; down <= 2; down++ {
		for across := -2; across <= 2; across++ {
			if found := offsets[[2]int{down, across}]; math.Abs(float64(found)-n/pairs) > limit {
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
	r := data.Augmentation{Views: 40, Flip: true, Shift: 4}
	big := data.Shape{Height: 9, Width: 9, Channels: 1}
	v, other := views(t, r, big, 1), views(t, r, big, 2)
	if v.PerExample() != 40 {
		t.Errorf("found %d views of each example, expected 40", v.PerExample())
	}
	seen := map[string]bool{}
	for _, source := range []*data.Views{v, other} {
		for step := range 10 {
			for example := range 50 {
				var sequence strings.Builder
				for view := range 40 {
					flip, down, across := source.Draw(step, example, view)
					sequence.WriteByte(byte('a' + down + 4))
					sequence.WriteByte(byte('a' + across + 4))
					if flip {
						sequence.WriteByte('-')
					}
				}
				if seen[sequence.String()] {
					t.Fatalf("step %d, example %d repeats the views of another", step, example)
				}
				seen[sequence.String()] = true
			}
		}
	}
}

// A view is a function of key, step, example, view and picture, in whatever order it is asked for.
func TestViewsAreRepeatable(t *testing.T) {
	r := data.Augmentation{Views: 3, Flip: true, Shift: 2}
	v, again := views(t, r, shape, 1), views(t, r, shape, 1)
	write := func(v *data.Views, step, example, view int) []float32 {
		dst := make([]float32, len(picture))
		v.Write(dst, picture, step, example, view)
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
	v := views(t, data.NoAugmentation(), shape, 1)
	if v != nil || v.PerExample() != 1 || data.NoAugmentation().Any() {
		t.Errorf("found %v with %d views of each example, expected nil with 1", v, v.PerExample())
	}
	dst := make([]float32, len(picture))
	v.Write(dst, picture, 3, 4, 5)
	if !slices.Equal(dst, picture) {
		t.Errorf("found %v, expected the picture", dst)
	}
	// Several views that nothing is done to are the picture several times.
	v = views(t, data.Augmentation{Views: 2}, shape, 1)
	v.Write(dst, picture, 3, 4, 1)
	if v.PerExample() != 2 || !slices.Equal(dst, picture) {
		t.Errorf("found %v of %d views, expected the picture of 2", dst, v.PerExample())
	}
}

func TestUnfitRecipes(t *testing.T) {
	for _, test := range []struct {
		recipe data.Augmentation
		shape  data.Shape
		want   string
	}{
		{data.Augmentation{Views: 4}, data.Row(7), "found rows, expected pictures"},
		{data.Augmentation{Views: 1, Flip: true}, data.Row(7), "found rows, expected pictures"},
		{data.Augmentation{Views: 1, Shift: 3}, shape, "shift is 3, expected less than the 3 pixels"},
		{data.Augmentation{}, shape, "views of training.augmentation is 0, expected a whole number from 1 to 256"},
	} {
		_, err := data.NewViews(test.recipe, test.shape, random.ForTest(1))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v of %v: found %v, expected %q", test.recipe, test.shape, err, test.want)
		}
	}
	for _, r := range []data.Augmentation{data.NoAugmentation(), {Views: 2, Flip: true, Shift: 2}} {
		if err := r.Check(shape); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if err := data.NoAugmentation().Check(data.Row(7)); err != nil {
		t.Errorf("rows without views: %v", err)
	}
}

// Every word of a configuration is said in the description of what ran.
func TestDescription(t *testing.T) {
	for recipe, want := range map[data.Augmentation]string{
		data.NoAugmentation():            "every example as it is",
		{Views: 4, Flip: true, Shift: 3}: "4 views of each example, whose gradients are averaged before they are clipped, mirrored left and right with probability 1/2, moved by 0 to 3 pixels up or down and left or right",
		{Views: 1, Shift: 1}:             "one view of each example, moved by 0 to 1 pixels up or down and left or right",
		{Views: 16}:                      "16 views of each example, whose gradients are averaged before they are clipped",
		{Views: 1, Flip: true}:           "one view of each example, mirrored left and right with probability 1/2",
	} {
		if found := recipe.String(); found != want {
			t.Errorf("found %q, expected %q", found, want)
		}
	}
	if found := len(setting.Arguments(&data.Augmentation{})); found != 3 {
		t.Errorf("found %d words, expected views, flip and shift: a new one needs a test above", found)
	}
}

func BenchmarkView(b *testing.B) {
	colour := data.Shape{Height: 32, Width: 32, Channels: 3}
	v := tiny.Must(data.NewViews(data.Augmentation{Views: 16, Flip: true, Shift: 4}, colour, random.ForTest(1)))(b)
	dst, picture := make([]float32, colour.Values()), make([]float32, colour.Values())
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		v.Write(dst, picture, 0, i, 0)
	}
}
