// Package tiny has a data set and a configuration that train in milliseconds, for tests.
package tiny

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/disk"
	"dpsgd/internal/folder"
	"dpsgd/internal/random"
)

// Config trains in milliseconds. The name of the data counts for nothing where a source is handed
// in.
const Config = `
data: {name: digits}
model: {name: logistic}
privacy: {noise_multiplier: 1, delta: 1e-4, clip_norm: 0.5, accountant: rdp}
optimizer: {name: momentum, learning_rate: 0.5, momentum: 0.9}
training: {batch_size: 40, physical_batch_size: 16, steps: 12}
performance: {threads: 2, engine: ghost}
run: {checkpoint_every: 5}
`

// Convolutional is an override that spells out a network with every rule: convolution, bias, gain
// and shift, dense.
const Convolutional = "model.layers=[{conv2d: {out_channels: 4, kernel_size: 3, padding: 1}}, {group_norm: {num_groups: 2}}, tanh, flatten, layer_norm, {linear: {out_features: 8}}, relu, {linear: {out_features: classes}}]"

// Examples is the size of the training set that [Config] is meant for.
const Examples = 300

// Parse returns [Config] with overrides.
func Parse(t testing.TB, overrides ...string) *configs.Config {
	t.Helper()
	c, err := configs.Parse("tiny.yaml", []byte(Config), overrides)
	Check(t, err)
	return c
}

// Features are overrides for features of the pictures of [Large], full batches, a private mean and
// a budget that the noise is calibrated to.
var Features = []string{
	"features.name=scattering", "features.drawn=strokes", "features.pictures=24", "features.directions=20",
	"model.layers=[flatten, {linear: {out_features: classes, bias: false}}]", "training.sampling=full", "training.physical_batch_size=64",
	"privacy.epsilon=3", "privacy.noise_multiplier=calibrated", "privacy.accountant=exact", "optimizer.learning_rate=1", "optimizer.schedule.name=linear",
}

// Large returns pictures like those of [Source], with two by two pixels for each: 12x12.
func Large(t testing.TB) *data.Split {
	t.Helper()
	return &data.Split{Name: "stripes", Train: large(t, Examples, 1), Test: large(t, 90, 2)}
}

func large(t testing.TB, n int, seed uint64) *data.Images {
	small := Pictures(t, n, seed)
	shape := data.Shape{Height: 12, Width: 12, Channels: 1}
	labels, pixels := make([]uint8, n), make([]uint8, 0, n*shape.Values())
	for i := range n {
		labels[i] = uint8(small.Label(i))
		for at := range shape.Values() {
			pixels = append(pixels, small.Pixels(i)[at/shape.Width/2*6+at%shape.Width/2])
		}
	}
	set, err := data.NewImages(shape, small.Classes(), labels, pixels)
	Check(t, err)
	return set
}

// Source returns n training and 90 test pictures of 6x6 grey pixels, in three classes by which
// third of the rows is bright. Every pixel has noise.
func Source(t testing.TB, n int) *data.Split {
	t.Helper()
	return &data.Split{Name: "stripes", Train: Pictures(t, n, 1), Test: Pictures(t, 90, 2)}
}

// Pictures returns n pictures like those of [Source], with noise that follows from seed.
func Pictures(t testing.TB, n int, seed uint64) *data.Images {
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
	Check(t, err)
	return m
}

// Snapshot maps every path below dir to a hash of the file's content, or to "folder".
func Snapshot(t testing.TB, dir string) map[string]string {
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
	Check(t, err)
	return files
}

// Read returns the content of a file.
func Read(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	Check(t, err)
	return string(content)
}

// Write writes content to a file, in place of what it held.
func Write(t testing.TB, path, content string) {
	t.Helper()
	Check(t, os.WriteFile(path, []byte(content), 0o600))
}

// Says expects the privacy statement in the folder of a run to hold these texts.
func Says(t testing.TB, dir string, texts ...string) {
	t.Helper()
	said := Read(t, filepath.Join(dir, folder.Statement))
	for _, text := range texts {
		if !strings.Contains(said, text) {
			t.Errorf("the statement does not say %q:\n%s", text, said)
		}
	}
}

// Unsummed returns a statement as earlier versions wrote it, without the sum that finds every edit.
func Unsummed(statement string) string {
	return regexp.MustCompile(`,\s*"statement_sum": "[0-9a-f]+"`).ReplaceAllString(statement, "")
}

// Ledger returns a ledger of count equal releases e.
func Ledger(t testing.TB, e accountant.Event, count int) *accountant.Ledger {
	t.Helper()
	l, err := new(accountant.Ledger).With(e, count)
	Check(t, err)
	return l
}

// JSON returns v as JSON in one line.
func JSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	Check(t, err)
	return string(b)
}

// Releases counts the entries of a run's ledger.
func Releases(t testing.TB, dir string) int {
	t.Helper()
	l, _, err := checkpoints.ReadJournal(filepath.Join(dir, folder.Ledger))
	Check(t, err)
	return l.Count()
}

// Fit carries a run out, until ctx is done, closes it and returns its result.
func Fit[Result any](t testing.TB, ctx context.Context, run interface {
	Fit(context.Context) (Result, error)
	Close() error
}) Result {
	t.Helper()
	result, err := run.Fit(ctx)
	Check(t, err)
	Check(t, run.Close())
	return result
}

// Must returns a function that returns v, or ends the test if err is not nil: tiny.Must(f())(t).
func Must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Check(t, err)
		return v
	}
}

// Check ends the test if err is not nil.
func Check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Files writes the grey pictures of split as PNG files into folders dir/part/class or, if shards is
// set, with their classes into one tar file for each part.
func Files(t testing.TB, dir string, split *data.Split, shards bool) {
	t.Helper()
	for part, set := range map[string]data.Set{"train": split.Train, "test": split.Test} {
		var shard bytes.Buffer
		w := tar.NewWriter(&shard)
		// Class by class, so that both ways have the same order.
		for label, class := range set.Classes() {
			for i := range set.Len() {
				if set.Label(i) != label {
					continue
				}
				picture, key := PNG(t, set.(*data.Images), i), fmt.Sprintf("p%03d_%04d", i/3, i)
				if !shards {
					writeFile(t, picture, dir, part, class, key+".png")
					continue
				}
				Member(t, w, key+".png", picture)
				Member(t, w, key+".cls", []byte(class))
			}
		}
		if shards {
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			writeFile(t, shard.Bytes(), dir, part+"-000.tar")
		}
	}
}

// Member adds a file to a tar file.
func Member(t testing.TB, w *tar.Writer, name string, content []byte) {
	t.Helper()
	err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content))})
	if err == nil {
		_, err = w.Write(content)
	}
	Check(t, err)
}

// PNG returns picture i of a set of grey pictures as a PNG file.
func PNG(t testing.TB, set *data.Images, i int) []byte {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, set.Shape().Width, set.Shape().Height))
	copy(m.Pix, set.Pixels(i))
	return Encode(t, m)
}

// Encode returns a picture as a PNG file. The buffers of encoders, a megabyte each, are used again.
func Encode(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := (&png.Encoder{BufferPool: (*buffers)(&encoders)}).Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// buffers is a sync.Pool with the methods that a [png.Encoder] asks for.
type buffers sync.Pool

var encoders sync.Pool

func (p *buffers) Get() *png.EncoderBuffer {
	b, _ := (*sync.Pool)(p).Get().(*png.EncoderBuffer)
	return b
}

func (p *buffers) Put(b *png.EncoderBuffer) { (*sync.Pool)(p).Put(b) }

func writeFile(t testing.TB, content []byte, path ...string) {
	t.Helper()
	to := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Tests that import this package write as always, but wait for no disk: a thousand short runs would
// wait for minutes where it is slow. Power losses have disks of their own, see package disktest.
func init() { disk.System = unsynced{} }

// Synced lets a benchmark wait for the disk, as programs do.
func Synced(b *testing.B) {
	disk.System = disk.Real{}
	b.Cleanup(func() { disk.System = unsynced{} })
}

type unsynced struct{ disk.Real }

func (u unsynced) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	f, err := u.Real.OpenFile(name, flag, perm)
	return unsyncedFile{f}, err
}
func (unsynced) SyncDir(string) error { return nil }

type unsyncedFile struct{ disk.File }

func (unsyncedFile) Sync() error { return nil }
