package tinyrun

import (
	"fmt"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"testing"

	"dpsgd/configs"
	"dpsgd/internal/random"
	"dpsgd/internal/tiny"
	"dpsgd/internal/train"
)

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
