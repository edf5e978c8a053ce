package features

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"dpsgd/data"
)

// somebody is a fingerprint.
var somebody = Fingerprint{1, 2, 3}

// features returns a set with values of all kinds.
func features(t testing.TB, rows, columns int) *data.Features {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 0))
	labels, values := make([]uint8, rows), make([]uint16, rows*columns)
	for i := range labels {
		labels[i] = uint8(r.IntN(3))
	}
	for i := range values {
		values[i] = uint16(r.IntN(0x7c00)) | uint16(r.IntN(2))<<15
	}
	set := must(data.NewFeatures(columns, []string{"a", "b", "ö\n"}, labels, values))
	return set
}

func save1(t testing.TB, path string, set *data.Features) {
	t.Helper()
	check(t, Save(path, somebody, set))
}

func checkEqual(t *testing.T, got, want *data.Features) {
	t.Helper()
	if got.Len() != want.Len() || got.Shape() != want.Shape() || !slices.Equal(got.Classes(), want.Classes()) {
		t.Fatalf("found %d rows of %v in classes %q, expected %d of %v in %q",
			got.Len(), got.Shape(), got.Classes(), want.Len(), want.Shape(), want.Classes())
	}
	for i := range want.Len() {
		if got.Label(i) != want.Label(i) || !slices.Equal(got.Halves(i), want.Halves(i)) {
			t.Fatalf("row %d is another one", i)
		}
	}
}

func checkStale(t *testing.T, err error, says string) {
	t.Helper()
	if !errors.Is(err, ErrStale) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "features: open ") {
		t.Errorf("error %v, expected one line that says %q and matches ErrStale", err, says)
	}
}

// What was saved is opened: no rows, one, pieces that are full or not, rows longer than a piece.
func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "rows")
	for _, size := range [][2]int{{0, 5}, {1, 1}, {1000, 7}, {64, 8192}, {65, 8192}, {300, 5000}, {3, data.MaxFeatures}} {
		set := features(t, size[0], size[1])
		save1(t, path, set)
		got := must(Open(path, somebody))
		checkEqual(t, got, set)
	}
}

// saved returns a path and the content of a file there.
func saved(t *testing.T, rows, columns int) (path string, whole []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "rows")
	save1(t, path, features(t, rows, columns))
	return path, must(os.ReadFile(path))
}

// checkRefused wants a file of this content to be refused.
func checkRefused(t *testing.T, path string, content []byte, says string) {
	t.Helper()
	check(t, os.WriteFile(path, content, 0o600))
	_, err := Open(path, somebody)
	checkStale(t, err, says)
}

// A file that is cut anywhere, or longer, is reported.
func TestCutFiles(t *testing.T) {
	path, whole := saved(t, 130, 8000) // three pieces
	ends := []int{len(whole) - 1, len(whole) - 4, len(whole) - 5, len(whole) / 2, len(whole) / 3, 1 << 20, 1<<20 + 200}
	for i := range 400 { // magic, header, labels, and the first values
		ends = append(ends, i)
	}
	for _, end := range ends {
		checkRefused(t, path, whole[:end], "bytes, expected")
	}
	checkRefused(t, path, append(whole, 0), "bytes, expected those of 130 rows of 8000 columns")
}

// Any bit that is flipped is reported: every one of a small file, and one in each piece of another.
func TestFlippedBits(t *testing.T) {
	flip := func(path string, whole []byte, bit int) {
		t.Helper()
		whole[bit/8] ^= 1 << (bit % 8)
		checkRefused(t, path, whole, "found")
		whole[bit/8] ^= 1 << (bit % 8)
	}
	path, whole := saved(t, 5, 3)
	for bit := range 8 * len(whole) {
		flip(path, whole, bit)
	}
	path, whole = saved(t, 130, 8000)
	for _, at := range []int{1000, 1 << 20, 2*len(whole)/3 + 7, len(whole) - 1} {
		flip(path, whole, 8*at+3)
	}
}

// Pieces that change places are reported.
func TestPiecesKeepTheirPlaces(t *testing.T) {
	path, whole := saved(t, 128, 8192)
	const piece = pieceBytes + sumSize
	at := len(whole) - 2*piece
	checkRefused(t, path, slices.Concat(whole[:at], whole[at+piece:], whole[at:at+piece]), "another checksum of rows")
}

func TestForeignFiles(t *testing.T) {
	path, _ := saved(t, 5, 3)
	if _, err := Open(path+"x", somebody); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrStale) {
		t.Errorf("no file: %v", err)
	}
	_, err := Open(filepath.Dir(path), somebody)
	checkStale(t, err, "no regular file")
	_, err = Open(path, Fingerprint{4})
	checkStale(t, err, "found the rows of fingerprint 010203000000")
	for content, says := range map[string]string{
		strings.Repeat("x", 100): `begins with "xxx`,
		strings.Replace(magic, "1", "2", 1) + strings.Repeat("x", 100):              `rows 2\n", expected`,
		magic + "\xff\xff\xff\xff":                                                  "a header of 4294967295 bytes",
		magic + "\x02\x00\x00\x00[]":                                                "no JSON of its fields",
		magic + "\x02\x00\x00\x00{}":                                                "0 rows of 0 columns",
		magic + "\x2c\x00\x00\x00" + `{"rows":9000000000000000000,"columns":65536}`: "bytes, expected those of 9000000000000000000 rows",
	} {
		checkRefused(t, path, []byte(content), says)
	}
}

// A killed Save leaves the old file, and a temporary one that the next Save removes; one that fails
// leaves nothing of its own.
func TestNothingIsLeft(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "rows")
	set := features(t, 5, 3)
	for _, name := range []string{".rows.tmp-OLD", ".rows2.tmp-OTHERS"} {
		check(t, os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600))
	}
	save1(t, path, set)
	if names := names(t, dir); !slices.Equal(names, []string{".rows2.tmp-OTHERS", "rows"}) {
		t.Errorf("found the files %q", names)
	}
	check(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	if err := Save(filepath.Join(dir, "folder"), somebody, set); err == nil || !strings.HasPrefix(err.Error(), "features: save ") {
		t.Errorf("a folder in the place of the file: %v", err)
	}
	if names := names(t, dir); !slices.Equal(names, []string{".rows2.tmp-OTHERS", "folder", "rows"}) {
		t.Errorf("found the files %q", names)
	}
}

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries := must(os.ReadDir(dir))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// The file is its owner's alone, also where it replaces one that was not.
func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits")
	}
	dir := filepath.Join(t.TempDir(), "folder")
	path := filepath.Join(dir, "rows")
	save1(t, path, features(t, 5, 3))
	check(t, os.Chmod(path, 0o644))
	save1(t, path, features(t, 5, 3))
	for name, want := range map[string]fs.FileMode{dir: 0o700 | fs.ModeDir, path: 0o600} {
		info := must(os.Stat(name))
		if info.Mode() != want {
			t.Errorf("%s has mode %v, expected %v", name, info.Mode(), want)
		}
	}
}

// BenchmarkOpen opens the features of a large set: 60,000 rows of 6,912, 830 MB.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "rows")
	save1(b, path, features(b, 60000, 6912))
	b.SetBytes(60000 * 6912 * 2)
	for b.Loop() {
		if _, err := Open(path, somebody); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSave(b *testing.B) {
	path, set := filepath.Join(b.TempDir(), "rows"), features(b, 6000, 6912)
	b.SetBytes(6000 * 6912 * 2)
	for b.Loop() {
		save1(b, path, set)
	}
}
