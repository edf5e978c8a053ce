package tinyrun

import (
	"fmt"
	"path/filepath"
	"testing"

	"dpsgd/configs"
	"dpsgd/internal/tiny"
)

// OnTexts trains on a few names of two classes, of up to 6 bytes, and returns the folder of the run.
func OnTexts(t testing.TB, overrides ...string) (run string) {
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
	o := Options(t)
	o.Given = nil // it reads them
	return Fit(t, Create(t, c, o)).Run
}
