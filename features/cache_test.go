package features

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"dpsgd/data"
)

// somebody is a fingerprint.
var somebody = fingerprint{1, 2, 3}

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
	return must(data.NewFeatures(columns, []string{"a", "b", "ö\n"}, labels, values))
}

func save1(t testing.TB, path string, set *data.Features) {
	t.Helper()
	check(t, saveRows(path, somebody, set))
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

// What was saved is opened: no rows, one, pieces that are full or not, rows longer than a piece.
func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows")
	for _, size := range [][2]int{{0, 5}, {1, 1}, {1000, 7}, {64, 8192}, {65, 8192}, {300, 5000}, {3, data.MaxFeatures}} {
		set := features(t, size[0], size[1])
		save1(t, path, set)
		got := must(openRows(path, somebody))
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
func checkRefused(t *testing.T, path string, content []byte) {
	t.Helper()
	check(t, os.WriteFile(path, content, 0o600))
	if _, err := openRows(path, somebody); !errors.Is(err, errStale) {
		t.Errorf("found %v, expected that the rows have to be computed again", err)
	}
}

// A file that is cut anywhere, or longer, is reported.
func TestCutFiles(t *testing.T) {
	path, whole := saved(t, 130, 8000) // three pieces
	ends := []int{len(whole) - 1, len(whole) - 4, len(whole) - 5, len(whole) / 2, len(whole) / 3, 1 << 20, 1<<20 + 200}
	for i := range 400 { // magic, header, labels, and the first values
		ends = append(ends, i)
	}
	for _, end := range ends {
		checkRefused(t, path, whole[:end])
	}
	checkRefused(t, path, append(whole, 0))
}

// Any bit that is flipped is reported: every one of a small file, and one in each piece of another.
func TestFlippedBits(t *testing.T) {
	flip := func(path string, whole []byte, bit int) {
		t.Helper()
		whole[bit/8] ^= 1 << (bit % 8)
		checkRefused(t, path, whole)
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
	checkRefused(t, path, slices.Concat(whole[:at], whole[at+piece:], whole[at:at+piece]))
}

func TestForeignFiles(t *testing.T) {
	path, _ := saved(t, 5, 3)
	for _, c := range []struct {
		path string
		of   fingerprint
		want error
	}{{path + "x", somebody, fs.ErrNotExist}, {filepath.Dir(path), somebody, errStale}, {path, fingerprint{1, 2, 3, 31: 1}, errStale}} {
		if _, err := openRows(c.path, c.of); !errors.Is(err, c.want) {
			t.Errorf("%s of %x: found %v, expected %v", c.path, c.of[:1], err, c.want)
		}
	}
	for _, content := range []string{
		strings.Repeat("x", 100),
		strings.Replace(magic, "1", "2", 1) + strings.Repeat("x", 100),
		magic + "\xff\xff\xff\xff",
		magic + "\x02\x00\x00\x00[]",
		magic + "\x02\x00\x00\x00{}",
		magic + "\x2c\x00\x00\x00" + `{"rows":9000000000000000000,"columns":65536}`,
	} {
		checkRefused(t, path, []byte(content))
	}
}

// A killed save leaves the old file, and a temporary one that the next save removes; one that fails
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
	if saveRows(filepath.Join(dir, "folder"), somebody, set) == nil {
		t.Error("a file takes the place of a folder")
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

// A cache and its files are their owner's alone, also where they were not.
func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits")
	}
	dir, set := filepath.Join(t.TempDir(), "folder"), features(t, 5, 3)
	path, _ := paths(dir, somebody)
	for range 2 {
		keep(dir, somebody, set, set)
		for name, want := range map[string]fs.FileMode{dir: 0o700 | fs.ModeDir, path: 0o600} {
			if info := must(os.Stat(name)); info.Mode() != want {
				t.Errorf("%s has mode %v, expected %v", name, info.Mode(), want)
			}
		}
		check(t, errors.Join(os.Chmod(dir, 0o755), os.Chmod(path, 0o644)))
	}
}

// BenchmarkOpen opens the features of a large set: 60,000 rows of 6,912, 830 MB.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "rows")
	save1(b, path, features(b, 60000, 6912))
	b.SetBytes(60000 * 6912 * 2)
	for b.Loop() {
		if _, err := openRows(path, somebody); err != nil {
			b.Fatal(err)
		}
	}
}

// What features write about a picture has nothing of the others in it: with other training pictures,
// the file of the test pictures holds the same rows, and what rows are computed with is the same.
func TestFilesHaveNothingOfOtherPictures(t *testing.T) {
	shape := size(12, 16, 3)
	test := noisy(5, shape)
	for name, recipe := range recipes() {
		var rows []*data.Features
		var definitions []Definition
		for _, pictures := range []*data.Images{noisy(20, shape), inverted(t, noisy(20, shape))} {
			cache := t.TempDir()
			must(Compute(recipe, &data.Split{Train: pictures, Test: test}, Request{Cache: cache}))
			f := must(recipe.fingerprint("", pictures, test))
			_, path := paths(cache, f)
			rows = append(rows, must(openRows(path, f)))
			files := must(os.ReadDir(cache))
			if len(files) != 2 {
				t.Errorf("%s: found the files %v, expected one of training rows and one of test rows", name, files)
			}
			d, _ := must(recipe.Prepare(shape, nil)).Definition()
			definitions = append(definitions, d)
		}
		for i := range test.Len() {
			if !slices.Equal(rows[0].Halves(i), rows[1].Halves(i)) {
				t.Errorf("%s: row %d of the test pictures depends on the training pictures", name, i)
			}
		}
		if !reflect.DeepEqual(definitions[0], definitions[1]) {
			t.Errorf("%s: what rows are computed with depends on the training pictures", name)
		}
	}
}

// inverted returns other pictures with the same labels.
func inverted(t *testing.T, p *data.Images) *data.Images {
	labels, pixels := make([]uint8, p.Len()), []uint8(nil)
	for i := range labels {
		labels[i] = uint8(p.Label(i))
		if err := p.View(i, func(one []uint8) {
			for _, v := range one {
				pixels = append(pixels, 255-v)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	return must(data.NewImages(p.Shape(), p.Classes(), labels, pixels))
}
