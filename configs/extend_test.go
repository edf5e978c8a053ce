package configs_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/tiny"
	"dpsgd/internal/train"
	"dpsgd/model"
)

// The tests in extend_kinds_test.go add a kind from outside its package, by one row of a table, and
// take it all the way: it is in the schema and the reference, it parses, it is written again, its
// mistakes are explained, and it trains.

// extended is a configuration that trains in milliseconds, with some keys replaced.
func extended(t *testing.T, overrides ...string) *configs.Config {
	t.Helper()
	c := tiny.Must(configs.Parse("new.yaml", []byte(`
data: {name: digits}
model: {layers: [flatten, linear: {out_features: classes}]}
privacy: {noise_multiplier: 1, delta: 1e-4, accountant: rdp}
training: {batch_size: 10, steps: 4}
run: {name: new}
`), overrides))(t)
	again, err := configs.Parse("again.yaml", c.YAML(), nil)
	if err != nil || !bytes.Equal(again.YAML(), c.YAML()) {
		t.Fatalf("\n%s\nis read back as\n%s\n%v", c.YAML(), again.YAML(), err)
	}
	return c
}

// documented expects all texts in the schema and in the reference.
func documented(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		for name, file := range map[string][]byte{"schema": configs.Schema(), "reference": configs.Reference()} {
			if !strings.Contains(string(file), text) {
				t.Errorf("the %s does not hold %q", name, text)
			}
		}
	}
}

// refused expects one message for a file with this line, and for overrides.
func refused(t *testing.T, line, want string, overrides ...string) {
	t.Helper()
	_, err := configs.Parse("new.yaml", []byte("data: {name: digits}\nprivacy: {epsilon: 3}\n"+line), overrides)
	if want = configs.Filled(want); err == nil || err.Error() != want {
		t.Errorf("%s says\n%v\nexpected\n%s", line, err, want)
	}
}

// trained carries a configuration out on grey pictures and returns the parameters before and after,
// and the learning rate of every step.
func trained(t *testing.T, c *configs.Config) (before, after []float32, learningRates []float64) {
	t.Helper()
	const n, side = 50, 4
	pictures := tiny.Must(data.NewImages(data.Shape{Height: side, Width: side, Channels: 1}, []string{"a", "b", "c"},
		make([]uint8, n), bytes.Repeat([]byte{100}, n*side*side)))(t)
	runs := t.TempDir()
	var o train.Options
	o.Stepped = func(p train.Progress) { learningRates = append(learningRates, p.LearningRate) }
	o.RunsDir, o.Given = runs, &data.Split{Name: "grey", Train: pictures, Test: pictures}
	r := tiny.Must(train.Create(c, o))(t)
	defer r.Close()
	if _, err := r.Fit(context.Background()); err != nil {
		t.Fatal(err)
	}
	m := tiny.Must(model.New(c.Model.Layers, model.Input{Height: side, Width: side, Channels: 1}, 3, c.Training.Seed))(t)
	state, _, err := checkpoints.Latest(filepath.Join(runs, "new", "checkpoints"))
	if err != nil {
		t.Fatal(err)
	}
	return m.Values, state.Parameters, learningRates
}
