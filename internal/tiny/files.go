package tiny

import (
	"archive/tar"
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"dpsgd/data"
)

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
