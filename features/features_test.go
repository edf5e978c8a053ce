package features

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/data"
	"dpsgd/internal/kernel"
)

// noisy are n pictures whose pixels follow from a seed.
func noisy(n int, shape data.Shape) *data.Images {
	labels, pixels := make([]uint8, n), noisyPixels(n, shape)
	for i := range labels {
		labels[i] = uint8(i % 3 % 2)
	}
	return must(data.NewImages(shape, []string{"a", "b"}, labels, pixels))
}

func noisyPixels(n int, shape data.Shape) []uint8 {
	pixels := make([]uint8, n*shape.Values())
	for i, state := 0, uint32(7); i < len(pixels); i++ {
		state = state*1664525 + 1013904223
		pixels[i] = uint8(state >> 24)
	}
	return pixels
}

// recipes is every transform, small.
func recipes() map[string]Recipe {
	out := map[string]Recipe{}
	for _, kind := range Transforms()[1:] {
		transform := kind.New()
		if kind.Name == backboneKind.Name {
			continue // it needs a file, and has tests of its own
		}
		if p, ok := transform.(*Patches); ok {
			p.Filters, p.Coarse, p.Size, p.Pooling, p.Power = 6, 5, 4, 2, 0.5
		}
		out[kind.Name] = Recipe{Transform: transform, Drawn: "leaves", Pictures: 30, Seed: 2, Directions: 4}
		out[kind.Name+" and encoder"] = Recipe{Transform: transform, Drawn: "leaves", Pictures: 30, Seed: 2, Encoder: 0.5, Directions: 4}
	}
	shipped := patchesKind.New().(*Patches)
	shipped.Filters, shipped.Pooling, shipped.Overlap, shipped.Source = 6, 2, 1, shippedPatches
	out["shipped patches"] = Recipe{Transform: shipped, Drawn: "leaves", Pictures: 30, Seed: 2, Directions: 4}
	return out
}

// The contract of a transform: rows are as wide as the blocks say, of unit norm, and the same for
// any number of threads and whatever other pictures there are.
func TestTransforms(t *testing.T) {
	all, dir := recipes(), t.TempDir()
	all[backboneKind.Name] = Recipe{}
	values := map[string]float64{ // when one of them changes, version does
		"model of 12x16x1": 3.5237, "model of 16x12x3": 2.9950, "patches of 12x16x1": 0.2208, "patches of 16x12x3": -0.3877, "patches and encoder of 12x16x1": -1.7611, "patches and encoder of 16x12x3": -0.4647,
		"scattering of 12x16x1": 2.2488, "scattering of 16x12x3": 0.9249, "scattering and encoder of 12x16x1": 4.2306, "scattering and encoder of 16x12x3": -0.4137, "shipped patches of 12x16x1": 2.7244, "shipped patches of 16x12x3": 1.0036,
	}
	for name, recipe := range all {
		for _, shape := range []data.Shape{size(12, 16, 1), size(16, 12, 3)} {
			if name == backboneKind.Name {
				recipe, _ = backbone(t, filepath.Join(dir, "small.safetensors"), shape)
			}
			many, one := noisy(40, shape), noisy(1, shape)
			pool := kernel.NewPool(3)
			defer pool.Close()
			all := must(Compute(recipe, &data.Split{Train: many, Test: one}, Request{Pool: pool}))
			alone := must(Compute(recipe, &data.Split{Train: one, Test: one}, Request{}))
			width := recipe.Width(shape)
			rows := all.Train.(*data.Features)
			if rows.Shape() != data.Row(width) || rows.Len() != 40 || rows.Label(4) != 1 {
				t.Fatalf("%s of %v: found %d rows of %v, expected 40 of %d columns", name, shape, rows.Len(), rows.Shape(), width)
			}
			for i := range rows.Len() {
				if norm := norm(rows, i); !(math.Abs(norm-1) <= 1e-3) {
					t.Errorf("%s of %v: row %d has norm %v", name, shape, i, norm)
				}
			}
			x, sum := make([]float32, width), 0.0
			kernel.FromHalves(x, rows.Halves(1))
			for j, v := range x {
				sum += float64((j*7)%11-5) * float64(v)
			}
			if key := fmt.Sprint(name, " of ", shape); !(math.Abs(sum-values[key]) <= 0.01) {
				t.Errorf("the rows of %s add up to %.4f, expected %.4f", key, sum, values[key])
			}
			for j, h := range alone.Train.(*data.Features).Halves(0) {
				if h != rows.Halves(0)[j] || h != all.Test.(*data.Features).Halves(0)[j] {
					t.Fatalf("%s of %v: column %d of a picture depends on others or on the threads", name, shape, j)
				}
			}
		}
	}
}

func norm(rows *data.Features, i int) float64 {
	x := make([]float32, rows.Shape().Values())
	kernel.FromHalves(x, rows.Halves(i))
	return math.Sqrt(kernel.SumSquares(x))
}

// The scales of a picture stand one after the other, and every value is raised to the power.
func TestPatchesOfScalesArePowersOfTheirResponses(t *testing.T) {
	shape := size(16, 16, 3)
	values := func(p *Patches) []float32 {
		r := Recipe{Transform: p, Drawn: "leaves", Pictures: 30, Seed: 2}
		draw := func(n int) (*Drawings, error) { return r.Draw(shape, n, nil) }
		prepared := must(p.Prepare(shape, draw))
		out := make([]float32, r.Width(shape))
		picture := must(r.Draw(shape, 1, nil))
		prepared.Extractor()(out, picture.At(0))
		return out
	}
	options := PatchOptions{Filters: 6, Size: 4, Pooling: 2, Scale: 1}
	coarse := options
	coarse.Scale, coarse.Filters = 2, 5
	want := append(values(&Patches{PatchOptions: options, Power: 1}), values(&Patches{PatchOptions: coarse, Power: 1})...)
	for _, power := range []float64{0.5, 0.3} {
		got := values(&Patches{PatchOptions: options, Coarse: 5, Power: power})
		if len(got) != len(want) {
			t.Fatalf("%d values of two scales, expected %d", len(got), len(want))
		}
		for i, v := range got {
			if w := math.Pow(float64(want[i]), power); !(math.Abs(float64(v)-w) <= 1e-6) {
				t.Fatalf("value %d to the power %v is %v, expected %v", i, power, v, w)
			}
		}
	}
}

// fingerprintOf is the fingerprint of pictures in memory, which can always be read.
func fingerprintOf(r Recipe, pictures *data.Split) fingerprint {
	return must(r.fingerprint(pictures.Identity(), pictures.Train.(data.Pictures), pictures.Test.(data.Pictures)))
}

// The fingerprint of rows changes with everything that they follow from, and with nothing else.
func TestFingerprints(t *testing.T) {
	shape := size(12, 12, 1)
	base, train, test := recipes()["patches"], noisy(3, shape), noisy(2, shape)
	with := func(change func(r *Recipe, p *Patches)) Recipe {
		r, p := base, *base.Transform.(*Patches)
		r.Transform = &p
		change(&r, &p)
		return r
	}
	changed := func(n int) *data.Images { set := noisy(n, shape); set.Pixels(1)[5]++; return set }
	relabelled := must(data.NewImages(shape, train.Classes(), []uint8{0, 1, 1}, noisyPixels(3, shape)))
	seen := map[fingerprint]string{}
	for name, c := range map[string]struct {
		recipe      Recipe
		train, test *data.Images
	}{
		"recipe": {base, train, test}, "training pixel": {base, changed(3), test}, "test pixel": {base, train, changed(2)}, "label": {base, relabelled, test},
		"encoder":                  {with(func(r *Recipe, _ *Patches) { r.Encoder = 0.5 }), train, test},
		"seed":                     {with(func(r *Recipe, _ *Patches) { r.Seed++ }), train, test},
		"deskewing":                {with(func(r *Recipe, _ *Patches) { r.Deskew = true }), train, test},
		"directions":               {with(func(r *Recipe, _ *Patches) { r.Directions-- }), train, test},
		"drawn":                    {with(func(r *Recipe, _ *Patches) { r.Drawn = strokes }), train, test},
		"filters":                  {with(func(_ *Recipe, p *Patches) { p.Filters++ }), train, test},
		"number of coarse filters": {with(func(_ *Recipe, p *Patches) { p.Coarse++ }), train, test},
		"power":                    {with(func(_ *Recipe, p *Patches) { p.Power = 0.7 }), train, test},
	} {
		pictures := map[bool]string{true: "of a known set", false: name}[c.train == train && c.test == test]
		for _, f := range []fingerprint{fingerprintOf(c.recipe, &data.Split{Train: c.train, Test: c.test}), c.recipe.published(pictures)} {
			if seen[f] != "" {
				t.Errorf("another %s has the fingerprint of another %s", name, seen[f])
			}
			seen[f] = name
		}
	}
	if f := fingerprintOf(with(func(*Recipe, *Patches) {}), &data.Split{Train: noisy(3, shape), Test: noisy(2, shape)}); seen[f] != "recipe" {
		t.Error("the same recipe and pictures have another fingerprint")
	}
}

// Rows that are kept are not computed again, unless a file stands in the place of the other one,
// whose fingerprint it has.
func TestKeptRowsAreTaken(t *testing.T) {
	shape := size(12, 12, 1)
	base := recipes()["patches"]
	split := &data.Split{Train: noisy(3, shape), Test: noisy(2, shape)}
	computed := 0
	q := Request{Cache: t.TempDir(), Computed: func(int, int) { computed++ }}
	first := must(Compute(base, split, q))
	before := computed
	kept := must(Compute(base, split, q))
	checkEqual(t, kept.Train.(*data.Features), first.Train.(*data.Features))
	checkEqual(t, kept.Test.(*data.Features), first.Test.(*data.Features))
	if before == 0 || computed != before {
		t.Errorf("computed %d times and then %d times, expected once", before, computed-before)
	}
	train, test := paths(q.Cache, fingerprintOf(base, split))
	check(t, os.Rename(train, test))
	check(t, os.WriteFile(train, must(os.ReadFile(test)), 0o600))
	again, err := Compute(base, split, q)
	if err != nil || computed == before || again.Test.Len() != split.Test.Len() || again.Train.Len() != split.Train.Len() {
		t.Errorf("found %d training and %d test rows (%v), expected %d and %d", again.Train.Len(), again.Test.Len(), err, split.Train.Len(), split.Test.Len())
	}
}

// A mean that is subtracted leaves rows of unit norm, and each row follows from itself and the
// mean.
func TestCentred(t *testing.T) {
	shape := size(12, 12, 1)
	split := &data.Split{Train: noisy(20, shape), Test: noisy(1, shape)}
	again := func() *data.Features {
		rows := must(Compute(recipes()["scattering"], split, Request{}))
		return rows.Train.(*data.Features)
	}
	before := again()
	width := before.Shape().Values()
	mean := make([]float32, width)
	for j := range mean {
		mean[j] = float32(j%5) * 1e-3
	}
	after := again()
	check(t, Centre(after, mean, nil))
	x, y := make([]float32, width), make([]float32, width)
	for i := range before.Len() {
		kernel.FromHalves(x, before.Halves(i))
		square := 0.0
		for j := range x {
			x[j] -= mean[j]
			square += float64(x[j]) * float64(x[j])
		}
		kernel.FromHalves(y, after.Halves(i))
		for j := range x {
			if want := float64(x[j]) / math.Sqrt(square); !(math.Abs(float64(y[j])-want) <= 1e-3*math.Abs(want)+1e-6) {
				t.Fatalf("row %d, column %d: found %v, expected %v", i, j, y[j], want)
			}
		}
		if after.Label(i) != before.Label(i) {
			t.Errorf("row %d has another label", i)
		}
	}
	same := again()
	if err := Centre(same, make([]float32, width), nil); err != nil || !(math.Abs(norm(same, 3)-1) <= 1e-3) {
		t.Errorf("without a mean: norm %v (%v)", norm(same, 3), err)
	}
}

// A cache holds the recipes that were used last.
func TestCacheLetsGoOfTheOldest(t *testing.T) {
	shape := size(12, 12, 1)
	split := &data.Split{Train: noisy(3, shape), Test: noisy(2, shape)}
	cache, first := t.TempDir(), fingerprint{} // the rows of which are used all the time
	for seed := range kept + 2 {
		r := recipes()["patches"]
		r.Seed = uint64(seed)
		must(Compute(r, split, Request{Cache: cache}))
		if f := must(r.fingerprint(split.Identity(), noisy(3, shape), noisy(2, shape))); seed == 0 {
			first = f
		} else if cached("", cache, f, 3, 2) == nil || cached("", cache, first, 3, 2) == nil {
			t.Errorf("the rows of seed %d or 0 are not kept", seed)
		}
	}
	files, err := os.ReadDir(cache)
	if err != nil || len(files) != 2*kept {
		t.Errorf("found %d files (%v), expected %d", len(files), err, 2*kept)
	}
}

// Mistakes are told in one line, before anything is computed.
func TestRefused(t *testing.T) {
	pictures := noisy(3, size(10, 12, 1))
	split := &data.Split{Train: pictures, Test: pictures}
	many := recipes()["patches"]
	many.Directions = many.Pictures
	odd := recipes()["scattering"]
	odd.Transform = &Scattering{Groups: 7}
	for want, recipe := range map[string]Recipe{
		"multiples of 4":                      recipes()["scattering"],
		"expected 0 to 29":                    many,
		"has 7 groups, expected a divisor of": odd,
	} {
		_, err := Compute(recipe, split, Request{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("found %v, expected %q", err, want)
		}
	}
	rows := &data.Split{Train: features(t, 3, 2), Test: features(t, 3, 2)}
	if _, err := Compute(many, rows, Request{}); err == nil || !strings.Contains(err.Error(), "patches are computed of pictures, found rows of 2 columns") {
		t.Errorf("found %v, expected an error that says what was found", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
