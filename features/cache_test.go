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
	set, err := data.NewFeatures(columns, []string{"a", "b", "ö\n"}, labels, values)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func save1(t testing.TB, path string, set *data.Features) {
	t.Helper()
	if err := Save(path, somebody, set); err != nil {
		t.Fatal(err)
	}
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
	if !errors.Is(err, ErrStale) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "store: open ") {
		t.Errorf("error %v, expected one line that says %q and matches ErrStale", err, says)
	}
}

// What was saved is opened: no rows, one, pieces that are full or not, rows longer than a piece.
func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "rows")
	for _, size := range [][2]int{{0, 5}, {1, 1}, {1000, 7}, {64, 8192}, {65, 8192}, {300, 5000}, {3, data.MaxFeatures}} {
		set := features(t, size[0], size[1])
		save1(t, path, set)
		got, err := Open(path, somebody)
		if err != nil {
			t.Fatal(err)
		}
		checkEqual(t, got, set)
	}
}

// A file that is cut anywhere, or longer, is reported.
func TestCutFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows")
	save1(t, path, features(t, 130, 8000)) // three pieces
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ends := []int{len(whole) - 1, len(whole) - 4, len(whole) - 5, len(whole) / 2, len(whole) / 3, 1 << 20, 1<<20 + 200}
	for i := range 400 { // magic, header, labels, and the first values
		ends = append(ends, i)
	}
	for _, end := range ends {
		if err := os.WriteFile(path, whole[:end], 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path, somebody)
		checkStale(t, err, "bytes, expected")
	}
	if err := os.WriteFile(path, append(slices.Clone(whole), 0), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(path, somebody)
	checkStale(t, err, "bytes, expected those of 130 rows of 8000 columns")
}

// Any bit that is flipped is reported: every one of a small file, and one in each piece of another.
func TestFlippedBits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows")
	flip := func(whole []byte, bit int) {
		t.Helper()
		whole[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path, somebody)
		checkStale(t, err, "found")
		whole[bit/8] ^= 1 << (bit % 8)
	}
	save1(t, path, features(t, 5, 3))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(whole) {
		flip(whole, bit)
	}
	save1(t, path, features(t, 130, 8000))
	if whole, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{1000, 1 << 20, 2*len(whole)/3 + 7, len(whole) - 1} {
		flip(whole, 8*at+3)
	}
}

// Pieces that change places are reported.
func TestPiecesKeepTheirPlaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows")
	set := features(t, 128, 8192)
	save1(t, path, set)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const piece = pieceBytes + sumSize
	at := len(whole) - 2*piece
	swapped := slices.Concat(whole[:at], whole[at+piece:], whole[at:at+piece])
	if err := os.WriteFile(path, swapped, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(path, somebody)
	checkStale(t, err, "another checksum of rows")
}

func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "rows")
	if _, err := Open(path, somebody); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrStale) {
		t.Errorf("no file: %v", err)
	}
	_, err := Open(dir, somebody)
	checkStale(t, err, "no regular file")
	save1(t, path, features(t, 5, 3))
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
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path, somebody)
		checkStale(t, err, says)
	}
}

// A killed Save leaves the old file, and a temporary one that the next Save removes; one that fails
// leaves nothing of its own.
func TestNothingIsLeft(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "rows")
	set := features(t, 5, 3)
	for _, name := range []string{".rows.tmp-OLD", ".rows2.tmp-OTHERS"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	save1(t, path, set)
	if names := names(t, dir); !slices.Equal(names, []string{".rows2.tmp-OTHERS", "rows"}) {
		t.Errorf("found the files %q", names)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Save(filepath.Join(dir, "folder"), somebody, set); err == nil || !strings.HasPrefix(err.Error(), "store: save ") {
		t.Errorf("a folder in the place of the file: %v", err)
	}
	if names := names(t, dir); !slices.Equal(names, []string{".rows2.tmp-OTHERS", "folder", "rows"}) {
		t.Errorf("found the files %q", names)
	}
}

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
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
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	save1(t, path, features(t, 5, 3))
	for name, want := range map[string]fs.FileMode{dir: 0o700 | fs.ModeDir, path: 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
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
