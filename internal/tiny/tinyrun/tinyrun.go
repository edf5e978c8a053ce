// Package tinyrun makes runs of the data set and configuration of package tiny, for tests.
package tinyrun

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"testing"

	"dpsgd/configs"
	"dpsgd/internal/random"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/tiny"
	"dpsgd/internal/train"
)

// Options returns the options of a run on the pictures of [tiny.Source], in a new folder.
func Options(t testing.TB) train.Options {
	return train.Options{Options: run.Options{Request: setup.Request{Given: tiny.Source(t, tiny.Examples)}, RunsDir: filepath.Join(t.TempDir(), "runs"), Name: "tiny"}}
}

// Create calls [train.Create], and closes the run when the test ends.
func Create(t testing.TB, c *configs.Config, o train.Options) *train.Run {
	t.Helper()
	r, err := train.Create(c, o)
	tiny.Check(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// Open calls [train.Open], and closes the run when the test ends.
func Open(t testing.TB, dir string, o train.Options) *train.Run {
	t.Helper()
	r, err := train.Open(dir, o)
	tiny.Check(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// Fit carries a run out and closes it.
func Fit(t testing.TB, r *train.Run) train.Result {
	t.Helper()
	return tiny.Fit(t, context.Background(), r)
}

// Train creates a run and carries it out.
func Train(t testing.TB, o train.Options, overrides ...string) train.Result {
	t.Helper()
	return Fit(t, Create(t, tiny.Parse(t, overrides...), o))
}

// Interrupted creates a run, stops it after so many steps, and returns its result.
func Interrupted(t testing.TB, steps int, o train.Options, overrides ...string) train.Result {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o.Stepped = func(p train.Progress) {
		if p.Step == steps {
			cancel()
		}
	}
	return tiny.Fit(t, ctx, Create(t, tiny.Parse(t, overrides...), o))
}

// Plan returns the plan of a run of [tiny.Config].
func Plan(t testing.TB, overrides ...string) *train.RunPlan {
	t.Helper()
	p, err := train.NewPlan(tiny.Parse(t, overrides...), tiny.Examples)
	tiny.Check(t, err)
	return p
}

// Bands are the classes of [PictureFolder].
var Bands = []string{"top", "middle", "bottom"}

// Picture returns a PNG of about side by side pixels: noise with a bright band, the upper, middle
// or lower third.
func Picture(t testing.TB, band, side int, src *random.Public) []byte {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, side, side+band))
	for y := range m.Rect.Dy() {
		for x := range side {
			v := uint8(src.Uint64() % 160)
			if y*3/m.Rect.Dy() == band {
				v += 80
			}
			m.SetGray(x, y, color.Gray{Y: v})
		}
	}
	return tiny.Encode(t, m)
}

// PictureFolder writes 90 pictures into train and 75 into test, sorted into classes, not all of one
// size.
func PictureFolder(t testing.TB) string {
	t.Helper()
	dir, src := t.TempDir(), random.Seeded(1)
	for part, n := range map[string]int{"train": 30, "test": 25} {
		for band, name := range Bands {
			at := filepath.Join(dir, part, name)
			if err := os.MkdirAll(at, 0o700); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				tiny.Write(t, filepath.Join(at, fmt.Sprintf("%03d.png", i)), string(Picture(t, band, 11+i%3, src)))
			}
		}
	}
	return dir
}

// OnPictures trains on the pictures of [PictureFolder], brought to 12x12, and returns the folder of
// the run with the options that it can be evaluated with.
func OnPictures(t testing.TB, dir string, overrides ...string) (run string, o train.Options) {
	t.Helper()
	c, err := configs.Parse("pictures.yaml", fmt.Appendf(nil, `
data: {folder: %q, classes: [top, middle, bottom], size: 12, channels: 1, mean: [0.4], std: [0.3]}
model: {name: logistic}
privacy: {noise_multiplier: 0.3, delta: 1e-3, clip_norm: 0.5, accountant: rdp}
optimizer: {name: momentum, learning_rate: 0.5, momentum: 0.9}
training: {batch_size: 30, physical_batch_size: 16, steps: 20}
performance: {threads: 2, engine: ghost}
`, dir), overrides)
	tiny.Check(t, err)
	o = Options(t)
	o.Given = nil // it reads them
	return Fit(t, Create(t, c, o)).Run, o
}

// OnTexts trains on [Texts], and returns the folder of the run.
func OnTexts(t testing.TB, overrides ...string) (run string) {
	t.Helper()
	o := Options(t)
	o.Given = nil // it reads them
	return Fit(t, Create(t, Texts(t, overrides...), o)).Run
}

// Texts returns a configuration for a few names of two classes, of up to 6 bytes.
func Texts(t testing.TB, overrides ...string) *configs.Config {
	t.Helper()
	dir := t.TempDir()
	for _, part := range []string{"train", "test"} {
		lines := "name,sex\n"
		for i := range 20 {
			lines += fmt.Sprintf("An%c,f\nBo%c,m\n", 'a'+i, 'a'+i)
		}
		tiny.Write(t, filepath.Join(dir, part+".csv"), lines)
	}
	c, err := configs.Parse("texts.yaml", fmt.Appendf(nil, `
data: {text: %q, classes: [f, m], length: 6}
model: {layers: [embedding: {dim: 4}, mean_over_sequence, linear: {out_features: classes}]}
privacy: {noise_multiplier: 0.3, delta: 1e-3, clip_norm: 0.5, accountant: rdp}
optimizer: {name: momentum, learning_rate: 0.5, momentum: 0.9}
training: {batch_size: 20, physical_batch_size: 16, steps: 3}
performance: {threads: 2}
`, dir), overrides)
	tiny.Check(t, err)
	return c
}
