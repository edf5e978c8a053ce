package data

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wantError checks that err is one line of this package, matches the sentinel and
// says all of the words.
func wantError(t testing.TB, err, sentinel error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, expected one that says %q", words)
	}
	text := err.Error()
	if sentinel != nil && !errors.Is(err, sentinel) {
		t.Errorf("error %q does not match %q", text, sentinel)
	}
	if strings.Contains(text, "\n") || !strings.HasPrefix(text, "data: ") {
		t.Errorf("error %q is not one line that starts with the package", text)
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("error %q does not say %q", text, w)
		}
	}
}

// sum returns the SHA-256 of content as the manifest writes it.
func sum(content []byte) string {
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}

// idx builds an IDX file of bytes.
func idx(magic uint32, dims []uint32, values []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, magic)
	for _, d := range dims {
		b = binary.BigEndian.AppendUint32(b, d)
	}
	return append(b, values...)
}

// pack compresses with gzip.
func pack(content []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(content)
	w.Close()
	return b.Bytes()
}

// write makes a file and the folders above it.
func write(t testing.TB, content []byte, elements ...string) string {
	t.Helper()
	name := filepath.Join(elements...)
	check(t, os.MkdirAll(filepath.Dir(name), 0o755))
	check(t, os.WriteFile(name, content, 0o644))
	return name
}

// idxFixture is a set of the MNIST family, and its files.
type idxFixture struct {
	*Dataset
	*idxFiles
}

// newIDXFixture declares the set that four unpacked files hold: pictures of 2 by 2
// pixels in two classes.
func newIDXFixture(contents [][]byte) idxFixture {
	s := idxFixture{&Dataset{Name: "tiny", Classes: []string{"a", "b"}, Shape: Shape{2, 2, 1}}, &idxFiles{}}
	s.Load = s.idxFiles.load
	s.Train, s.Test = len(contents[1])-8, len(contents[3])-8 // after the header, a byte for each label
	for i := range s.idxFiles {
		name := []string{"train-images", "train-labels", "test-images", "test-labels"}[i]
		s.idxFiles[i] = File{name, int64(len(contents[i])), sum(contents[i])}
		packed := pack(contents[i])
		s.Files = append(s.Files, File{name + ".gz", int64(len(packed)), sum(packed)})
	}
	return s
}

// tiny is a set of the MNIST family with three training pictures and one test
// picture of 2 by 2 pixels, and its four unpacked files in order.
func tiny() (idxFixture, [][]byte) {
	contents := [][]byte{
		idx(0x803, []uint32{3, 2, 2}, []byte{0, 1, 2, 3, 10, 11, 12, 13, 252, 253, 254, 255}),
		idx(0x801, []uint32{3}, []byte{1, 0, 1}),
		idx(0x803, []uint32{1, 2, 2}, []byte{5, 6, 7, 8}),
		idx(0x801, []uint32{1}, []byte{0}),
	}
	return newIDXFixture(contents), contents
}

// tinyFolder has the files of [tiny] in a folder.
func tinyFolder(t *testing.T) (set idxFixture, contents [][]byte, dir string) {
	t.Helper()
	set, contents = tiny()
	dir = t.TempDir()
	for i, f := range set.idxFiles {
		write(t, contents[i], dir, "tiny", f.Name)
	}
	return set, contents, dir
}

// panics reports whether a call panics.
func panics(call func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	call()
	return
}

// whole returns a batch of all examples, in their order.
func whole(t *testing.T, s Set, n Normalisation) ([]float32, []float32) {
	t.Helper()
	x, labels, all := make([]float32, s.Len()*s.Shape().Values()), make([]float32, s.Len()), make([]int, s.Len())
	for i := range all {
		all[i] = i
	}
	check(t, must(NewBatcher(s, n)).Fill(x, labels, all))
	return x, labels
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
