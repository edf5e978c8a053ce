package train

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/random"
)

// tinyConfig trains in milliseconds. The name of the data counts for nothing where a source is handed in.
const tinyConfig = `
data: {name: digits}
model: {name: logistic}
privacy: {noise_multiplier: 1, delta: 1e-4, clip_norm: 0.5, accountant: rdp}
optimizer: {name: momentum, learning_rate: 0.5, momentum: 0.9}
training: {batch_size: 40, physical_batch_size: 16, steps: 12}
performance: {threads: 2}
run: {checkpoint_every: 5}
`

const tinyExamples = 300

func parse(t testing.TB, overrides ...string) *configs.Config {
	t.Helper()
	c, err := configs.Parse("tiny.yaml", []byte(tinyConfig), overrides)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// tinySource makes pictures of 6x6 grey pixels in three classes: which third of the rows is bright, under noise.
func tinySource(t testing.TB, n int) *data.Source {
	t.Helper()
	return &data.Source{Name: "stripes", Train: stripes(t, n, 1), Test: stripes(t, 90, 2)}
}

func stripes(t testing.TB, n int, seed uint64) *data.Images {
	t.Helper()
	const side = 6
	src := random.Seeded(seed)
	labels, pixels := make([]uint8, n), make([]uint8, 0, n*side*side)
	for i := range labels {
		labels[i] = uint8(i % 3)
		for j := range side * side {
			v := uint8(src.Uint64() % 128)
			if j/side/2 == i%3 {
				v += 128
			}
			pixels = append(pixels, v)
		}
	}
	m, err := data.NewImages(data.Shape{Height: side, Width: side, Channels: 1}, []string{"top", "middle", "bottom"}, labels, pixels)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// hooks is a Watcher made of functions.
type hooks struct {
	silent
	stepped func(Progress)
	warned  func(string)
}

func (h hooks) Stepped(p Progress) {
	if h.stepped != nil {
		h.stepped(p)
	}
}

func (h hooks) Warned(message string) {
	if h.warned != nil {
		h.warned(message)
	}
}

// options are those of a test run in a folder of its own.
func options(t testing.TB) Options {
	return Options{RunsDir: filepath.Join(t.TempDir(), "runs"), Name: "tiny", Source: tinySource(t, tinyExamples)}
}

func create(t testing.TB, c *configs.Config, o Options) *Run {
	t.Helper()
	r, err := Create(c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func open(t testing.TB, dir string, o Options) *Run {
	t.Helper()
	r, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func fit(t testing.TB, r *Run) Result {
	t.Helper()
	result, err := r.Fit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return result
}

// train creates a run and carries it out.
func train(t testing.TB, o Options, overrides ...string) Result {
	t.Helper()
	return fit(t, create(t, parse(t, overrides...), o))
}

// interruptAfter trains until the run holds so many steps, and returns what Fit says then.
func interruptAfter(t testing.TB, steps int, start func(Watcher) *Run) Result {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := start(hooks{stepped: func(p Progress) {
		if p.Step == steps {
			cancel()
		}
	}})
	result, err := r.Fit(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return result
}

// killAfter trains until the run holds so many steps and drops it then, as kill -9 would: nothing more is saved, and the
// system takes back the lock.
func killAfter(t testing.TB, steps int, start func(Watcher) *Run) {
	t.Helper()
	type killed struct{}
	r := start(hooks{stepped: func(p Progress) {
		if p.Step == steps {
			panic(killed{})
		}
	}})
	defer func() {
		if _, ok := recover().(killed); !ok {
			t.Fatalf("the run ended before step %d", steps)
		}
		r.Close()
	}()
	if _, err := r.Fit(context.Background()); err != nil {
		t.Error(err)
	}
}

// releases counts the entries of a run's ledger.
func releases(t testing.TB, dir string) int {
	t.Helper()
	l, _, err := checkpoints.ReadJournal(filepath.Join(dir, ledgerFile))
	if err != nil {
		t.Fatal(err)
	}
	return l.Count()
}

// snapshot maps every path below a folder to a hash of its content.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			files[path] = "folder"
			return err
		}
		content, err := os.ReadFile(path)
		files[path] = fmt.Sprintf("%x", sha256.Sum256(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
