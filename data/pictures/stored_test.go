package pictures

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"dpsgd/internal/slow"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// grey is a PNG of 2 by 2 pixels of one value.
func grey(t testing.TB, value uint8) string {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, 2, 2))
	for i := range m.Pix {
		m.Pix[i] = value
	}
	var b bytes.Buffer
	check(t, png.Encode(&b, m))
	return b.String()
}

// member is a file of a tar file.
type member struct{ name, content string }

// packTar is a tar file of these members.
func packTar(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: 0o600, Size: int64(len(m.content))}
		if strings.HasSuffix(m.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		check(t, w.WriteHeader(h))
		if _, err := io.WriteString(w, m.content); err != nil {
			t.Fatal(err)
		}
	}
	check(t, w.Close())
	return b.Bytes()
}

func write(t testing.TB, content []byte, path ...string) string {
	t.Helper()
	to := filepath.Join(path...)
	check(t, os.MkdirAll(filepath.Dir(to), 0o700))
	check(t, os.WriteFile(to, content, 0o600))
	return to
}

var pets = []string{"cat", "dog"}

func part(dir string) Part { return Part{Folder: dir, Name: "train", Classes: pets} }

var size = Size{Height: 2, Width: 2, Channels: 1}

// values are the first pixels of all pictures.
func values(t testing.TB, x *Index) []uint8 {
	t.Helper()
	found := make([]uint8, x.Len())
	for i := range found {
		var pixels [4]uint8
		check(t, x.Read(pixels[:], i, size))
		found[i] = pixels[0]
	}
	return found
}

// Shards are read in the order of their names, and examples in the order in which they stand there.
// Classes are names or numbers; what else belongs to an example is counted and passed over, folders
// and hidden files are not looked at.
func TestShards(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("a/long/way/", 12) + "ann_7" // more than a header of a tar file holds
	write(t, packTar(t, member{"ann_2.jpg.png", grey(t, 50)}, member{"ann_2.cls", "dog\n"}, member{long + ".cls", "1"}, member{long + ".PNG", grey(t, 60)}), dir, "train-10.tar")
	write(t, packTar(t, member{"here/", ""}, member{"here/._bob_1.png", "not a picture"}, member{"here/bob_1.json", "{}"}, member{"here/bob_1.output.cls", "0"}, member{"here/bob_1.png", grey(t, 40)}), dir, "train-09.tar")
	write(t, packTar(t, member{"1.png", grey(t, 90)}, member{"1.cls", "cat"}), dir, "test.tar")
	write(t, nil, dir, "notes.txt")
	others := Others{}
	asked := part(dir)
	asked.Names = true
	x := must(List(asked, others))
	if found := values(t, x); !slices.Equal(found, []uint8{40, 50, 60}) || !slices.Equal(x.Labels(), []uint8{0, 1, 1}) {
		t.Errorf("found %v of the classes %v", found, x.Labels())
	}
	if want := []string{"bob_1.png", "ann_2.jpg.png", "ann_7.PNG"}; !slices.Equal(x.Names(), want) {
		t.Errorf("found the names %q, expected %q", x.Names(), want)
	}
	if others.String() != "1 file (1 .json)" {
		t.Errorf("found %v beside the pictures", others)
	}
	if where := x.Where(1); !strings.HasPrefix(where, "ann_2.jpg.png in shard "+filepath.Join(dir, "train-10.tar")+", at byte 512") {
		t.Errorf("found %s", where)
	}
}

// What is wrong with a shard is found when it is listed, by one line that names file, member and
// place.
func TestBrokenShards(t *testing.T) {
	picture := grey(t, 9)
	good := []member{{"1.png", picture}, {"1.cls", "cat"}}
	whole := packTar(t, good...)
	zipped := func() []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, err1 := w.Write(whole)
		check(t, errors.Join(err1, w.Close()))
		return b.Bytes()
	}()
	linked := func() []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		check(t, errors.Join(w.WriteHeader(&tar.Header{Name: "1.png", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}), w.Close()))
		return b.Bytes()
	}()
	for name, c := range map[string]struct {
		file    string
		content []byte
		match   error
		says    []string
	}{
		"no class":         {"train-1.tar", packTar(t, member{"1.png", picture}, member{"2.cls", "cat"}, member{"2.png", picture}), ErrInvalid, []string{"train-1.tar", "picture 1.png has no class, expected the member 1.cls beside it"}},
		"no class at end":  {"train-1.tar", packTar(t, append(good, member{"a/2.png", picture})...), ErrInvalid, []string{"picture a/2.png has no class, expected the member a/2.cls"}},
		"no picture":       {"train-1.tar", packTar(t, member{"1.cls", "cat"}), ErrInvalid, []string{"class 1.cls has no picture, expected a member 1 with the ending .bmp"}},
		"two pictures":     {"train-1.tar", packTar(t, append(good, member{"1.left.jpg", picture})...), ErrInvalid, []string{"member 1.left.jpg at byte", "the key 1 has a second picture, beside 1.png"}},
		"two classes":      {"train-1.tar", packTar(t, append(good, member{"1.cls", "cat"})...), ErrInvalid, []string{"the key 1 has a second class"}},
		"key comes back":   {"train-1.tar", packTar(t, append(append(good, member{"2.png", picture}, member{"2.cls", "1"}), good...)...), ErrInvalid, []string{"the key 1 has been before"}},
		"apart":            {"train-1.tar", packTar(t, member{"1.png", picture}, member{"2.png", picture}, member{"1.cls", "0"}, member{"2.cls", "0"}), ErrInvalid, []string{"picture 1.png has no class"}},
		"unknown class":    {"train-1.tar", packTar(t, member{"1.cls", "secret"}, member{"1.png", picture}), ErrInvalid, []string{"member 1.cls at byte 512: found no declared class"}},
		"number too large": {"train-1.tar", packTar(t, member{"1.cls", "2"}, member{"1.png", picture}), ErrInvalid, []string{"found no declared class"}},
		"class too long":   {"train-1.tar", packTar(t, member{"1.cls", "cat" + strings.Repeat(" ", 1000)}, member{"1.png", picture}), ErrInvalid, []string{"found no declared class"}},
		"cut in a member":  {"train-1.tar", whole[:530], ErrInvalid, []string{"member 1.png at byte 512 has", "the shard ends at byte 530: it was cut off"}},
		"cut in a header":  {"train-1.tar", whole[:1200], ErrInvalid, []string{"it ends within a member, at byte 1200: it was cut off"}},
		"cut in between":   {"train-1.tar", whole[:2048], ErrInvalid, []string{"it ends at byte 2048 without the block of zeros"}},
		"empty":            {"train-1.tar", nil, ErrInvalid, []string{"it ends at byte 0 without the block of zeros"}},
		"no examples":      {"train-1.tar", packTar(t), ErrMissing, []string{"hold no picture"}},
		"no tar file":      {"train-1.tar", []byte(strings.Repeat("text ", 300)), ErrInvalid, []string{"at byte 512: found no header of a member"}},
		"packed":           {"train-1.tar", zipped, ErrInvalid, []string{"it is packed, expected a plain tar file"}},
		"called packed":    {"train-1.tar.gz", zipped, ErrInvalid, []string{"train-1.tar.gz is packed, expected a plain .tar"}},
		"called tgz":       {"train-1.TGZ", zipped, ErrInvalid, []string{"is packed"}},
		"link":             {"train-1.tar", linked, ErrInvalid, []string{"member 1.png at byte 512 is a link, a special or a sparse file"}},
		"other part":       {"val-1.tar", whole, ErrInvalid, []string{"found the shard", "val-1.tar", "expected names that begin with train or test"}},
		"no training part": {"test-1.tar", whole, ErrMissing, []string{"has no shard of the part train, expected train-….tar"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, c.content, dir, c.file)
			_, err := List(part(dir), Others{})
			if !errors.Is(err, c.match) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "secret") {
				t.Fatalf("found %v, expected one line that matches %v", err, c.match)
			}
			for _, words := range append(c.says, c.file) {
				if c.match == ErrInvalid && !strings.Contains(err.Error(), words) {
					t.Errorf("found %v, expected %q", err, words)
				}
			}
		})
	}
	t.Run("both", func(t *testing.T) {
		dir := t.TempDir()
		write(t, whole, dir, "train-1.tar")
		write(t, []byte(picture), dir, "train", "cat", "1.png")
		if _, err := List(part(dir), Others{}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "has both tar files and the folder") {
			t.Errorf("found %v", err)
		}
	})
	t.Run("names that are numbers", func(t *testing.T) {
		dir := t.TempDir()
		write(t, whole, dir, "train-1.tar")
		if _, err := List(Part{Folder: dir, Name: "train", Classes: []string{"1", "0"}}, Others{}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), `the class "1" is declared as number 0`) {
			t.Errorf("found %v", err)
		}
	})
}

// A shard that was cut off anywhere before its end is refused.
func TestShardsThatWereCutOff(t *testing.T) {
	whole := packTar(t, member{"1.png", grey(t, 1)}, member{"1.cls", "0"}, member{"2.png", grey(t, 2)}, member{"2.cls", "1"})
	for n := range len(whole) - 512 {
		if n%512 != 0 && n%61 != 0 {
			continue
		}
		dir := t.TempDir()
		write(t, whole[:n], dir, "train.tar")
		if _, err := List(part(dir), Others{}); err == nil {
			t.Fatalf("%d of %d bytes were read without an error", n, len(whole))
		}
	}
}

// many are n pictures of different values, in class folders or in shards of 7.
func many(t testing.TB, n int, sharded bool) string {
	t.Helper()
	dir := t.TempDir()
	var members []member
	for i := range n {
		picture := grey(t, uint8(i))
		if !sharded {
			write(t, []byte(picture), dir, "train", pets[i*2/n], fmt.Sprintf("%04d.png", i))
			continue
		}
		members = append(members, member{fmt.Sprintf("%04d.png", i), picture}, member{fmt.Sprintf("%04d.cls", i), pets[i*2/n]})
		if len(members) == 14 || i == n-1 {
			write(t, packTar(t, members...), dir, fmt.Sprintf("train-%04d.tar", i))
			members = nil
		}
	}
	return dir
}

// A cache of any size hands out the pictures as they are, to any number of readers at once.
func TestCacheIsThePictures(t *testing.T) {
	const n = 60
	for _, sharded := range []bool{false, true} {
		x, err := List(part(many(t, n, sharded)), Others{})
		if err != nil || x.Len() != n {
			t.Fatal(err)
		}
		for _, bytes := range []int64{0, 3, 4, 30 * 4, 1 << 20} {
			c := NewCache(x, size, bytes)
			var group sync.WaitGroup
			for reader := range 8 {
				group.Go(func() {
					random := rand.New(rand.NewPCG(1, uint64(reader)))
					for range 300 {
						i := random.IntN(n)
						err := c.View(i, func(pixels []uint8) {
							if !slices.Equal(pixels, []uint8{uint8(i), uint8(i), uint8(i), uint8(i)}) {
								t.Errorf("picture %d is %v", i, pixels)
							}
						})
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			group.Wait()
			if kept := int64(len(c.state)); kept != min(n, bytes/4) {
				t.Errorf("%d pictures are kept in %d bytes", kept, bytes)
			}
		}
	}
}

// A file that changes, vanishes or breaks after it was listed is an error that names it, as long as
// it is not in memory, and no picture is made of it.
func TestFilesThatChange(t *testing.T) {
	other := []byte(grey(t, 200))
	for name, c := range map[string]struct {
		sharded bool
		change  func(path string) error
		says    string
	}{
		"file longer":  {false, func(path string) error { return os.WriteFile(path, append(other, 0), 0o600) }, "it has changed since it was listed"},
		"file other":   {false, func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, other, 0o600)) }, "it has changed since it was listed"},
		"file gone":    {false, os.Remove, "no such file"},
		"shard longer": {true, func(path string) error { return os.Truncate(path, 1<<20) }, "it has changed since it was listed"},
		"shard cut":    {true, func(path string) error { return os.Truncate(path, 600) }, "it has changed since it was listed"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := many(t, 14, c.sharded)
			x := must(List(part(dir), Others{}))
			cache := NewCache(x, size, 4)
			path, use := filepath.Join(dir, "train", "cat", "0001.png"), func([]uint8) { t.Error("a picture was made of it") }
			if c.sharded {
				path = filepath.Join(dir, "train-0006.tar")
			}
			check(t, cache.View(0, func([]uint8) {}))
			check(t, c.change(path))
			if err := cache.View(1, use); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("found %v, expected %s: %s", err, path, c.says)
			}
			if err := cache.View(0, func([]uint8) {}); err != nil {
				t.Errorf("the picture in memory: %v", err)
			}
		})
	}
}

// A picture that fails once may be there again later: nothing is kept of the failure.
func TestCacheTriesAgain(t *testing.T) {
	dir := many(t, 4, false)
	path := filepath.Join(dir, "train", "cat", "0000.png")
	x := must(List(part(dir), Others{}))
	c := NewCache(x, size, 100)
	check(t, os.Rename(path, path+"x"))
	if err := c.View(0, func([]uint8) {}); err == nil {
		t.Fatal("found a picture that is not there")
	}
	check(t, os.Rename(path+"x", path))
	if err := c.View(0, func(pixels []uint8) {
		if pixels[0] != 0 {
			t.Errorf("found %v", pixels)
		}
	}); err != nil {
		t.Error(err)
	}
}

// Whatever a shard holds, every picture that is found lies within it.
func FuzzShard(f *testing.F) {
	whole := packTar(f, member{"1.png", grey(f, 1)}, member{"1.cls", "0"}, member{"a/2.cls", "dog"}, member{"a/2.jpg", "x"})
	numbers := must(numbersOf(pets))
	slow.Inputs(f, [][]byte{whole, whole[:1000]}, func(t testing.TB, content []byte) int64 {
		s := newShardReader(io.NewSectionReader(&readAhead{ReaderAt: bytes.NewReader(content)}, 0, int64(len(content))), numbers, true)
		err := s.all()
		if err != nil {
			return 0
		}
		for i, offset := range s.list.offsets {
			if end := offset + int64(s.list.sizes[i]); offset < blockSize || end > int64(len(content)) || int(s.list.labels[i]) >= len(pets) || s.list.names[i] == "" {
				t.Errorf("found picture %d of class %d at %d to %d of %d bytes", i, s.list.labels[i], offset, end, len(content))
			}
		}
		return 0
	})
}

// BenchmarkRead reads one picture of 28 by 28 pixels after another, as they lie and from memory.
func BenchmarkRead(b *testing.B) {
	noise := rand.New(rand.NewPCG(1, 2))
	m := image.NewGray(image.Rect(0, 0, 28, 28))
	dir := b.TempDir()
	const n = 100
	var members []member
	for i := range n {
		for j := range m.Pix {
			m.Pix[j] = uint8(noise.Uint32())
		}
		var file bytes.Buffer
		check(b, png.Encode(&file, m))
		write(b, file.Bytes(), dir, "folder", "train", pets[i%2], fmt.Sprintf("%d.png", i))
		members = append(members, member{fmt.Sprintf("%d.png", i), file.String()}, member{fmt.Sprintf("%d.cls", i), pets[i%2]})
	}
	write(b, packTar(b, members...), dir, "shards", "train.tar")
	for _, c := range []struct {
		layout string
		memory int64
	}{{"folder", 0}, {"shards", 0}, {"shards", 1 << 20}} {
		b.Run(fmt.Sprintf("%s/memory=%d", c.layout, c.memory), func(b *testing.B) {
			x := must(List(part(filepath.Join(dir, c.layout)), Others{}))
			cache := NewCache(x, Size{Height: 28, Width: 28, Channels: 1}, c.memory)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				check(b, cache.View(i%n, func([]uint8) {}))
			}
		})
	}
}

// BenchmarkList lists shards: the time for each of their pictures, and the memory that stays in use
// for it.
func BenchmarkList(b *testing.B) {
	const n, inShard = 100_000, 10_000
	dir, numbers := b.TempDir(), [2]string{"0", "1"}
	for from := 0; from < n; from += inShard {
		var members []member
		for i := from; i < from+inShard; i++ {
			members = append(members, member{fmt.Sprintf("%08d.png", i), strings.Repeat("x", 700)}, member{fmt.Sprintf("%08d.cls", i), numbers[i%2]})
		}
		write(b, packTar(b, members...), dir, fmt.Sprintf("train-%06d.tar", from))
	}
	var before, after runtime.MemStats
	var x *Index
	var err error
	for b.Loop() {
		x = nil
		runtime.GC()
		runtime.ReadMemStats(&before)
		if x, err = List(part(dir), Others{}); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/picture")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(x.Len()), "B/picture")
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

func TestShrinkingAverages(t *testing.T) {
	// A fine chequerboard shrinks to its mean, not to one of its two colours.
	m := image.NewGray(image.Rect(0, 0, 64, 64))
	for i := range m.Pix {
		m.Pix[i] = uint8((i + i/64) % 2 * 255)
	}
	dst := make([]uint8, 16)
	store(dst, m, Size{4, 4, 1}, 1)
	for i, v := range dst {
		if v < 120 || v > 136 {
			t.Errorf("value %d is %d, expected about 127", i, v)
		}
	}
}

// Files beside pictures are many when they are more than two and more than a tenth of the pictures.
func TestTooManyOthers(t *testing.T) {
	for _, c := range []struct {
		others, pictures int
		want             bool
	}{{0, 0, false}, {2, 1, false}, {3, 1, true}, {3, 39, false}, {4, 39, true}, {100, 1000, false}, {101, 1000, true}} {
		o := Others{".txt": c.others}
		if o.TooMany(c.pictures) != c.want {
			t.Errorf("%v beside %d pictures: found %v, expected %v", o, c.pictures, !c.want, c.want)
		}
	}
	if o := (Others{".a" + strings.Repeat("b", 300): 1}); len(o.String()) > 60 {
		t.Errorf("found %s, expected a line that can be read", o)
	}
}

// Whatever a file of a picture holds, it is decoded or refused. The pixels of a header count as
// declared, with 16 bytes for each.
func FuzzDecode(f *testing.F) {
	m := image.NewNRGBA(image.Rect(0, 0, 9, 7))
	for i := range m.Pix {
		m.Pix[i] = uint8(37 * i)
	}
	var seeds [][]byte
	for _, encode := range []func(w io.Writer) error{
		func(w io.Writer) error { return png.Encode(w, m) },
		func(w io.Writer) error { return jpeg.Encode(w, m, nil) },
		func(w io.Writer) error { return gif.Encode(w, m, nil) },
		func(w io.Writer) error { return bmp.Encode(w, m) },
		func(w io.Writer) error { return tiff.Encode(w, m, &tiff.Options{Compression: tiff.Deflate}) },
	} {
		var b bytes.Buffer
		check(f, encode(&b))
		seeds = append(seeds, b.Bytes())
	}
	// A white pixel without loss, https://developers.google.com/speed/webp/docs/webp_lossless_bitstream_specification.
	seeds = append(seeds, []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\r\x00\x00\x00/\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"))
	const most = 1 << 20
	small := Size{Height: 4, Width: 3, Channels: 3}
	dst := make([]uint8, 36)
	again := struct { // that a TIFF asks for each tile again, a reader can end
		io.ReadSeeker
		io.ReaderAt
	}{bytes.NewReader(seeds[4]), bytes.NewReader(nil)}
	if Decode(again, most, small, dst) == nil {
		f.Error("found the tiles of a TIFF that are not read by ReadAt")
	}
	slow.Inputs(f, seeds, func(t testing.TB, input []byte) int64 {
		config, _, _ := image.DecodeConfig(bytes.NewReader(input))
		if err := Decode(bytes.NewReader(input), most, small, dst); err == nil && config.Width*config.Height > most {
			t.Errorf("%d by %d pixels are decoded, expected at most %d", config.Width, config.Height, most)
		}
		return 16 * most
	})
}

// Whatever the files of a class folder are called, each is listed with its class or passed over.
func FuzzFolder(f *testing.F) {
	slow.Inputs(f, [][]byte{[]byte("1.png\n2.JPG\nnotes.txt\n.hidden.png\n"), []byte("a/1.png\nb/c/2.png\n")}, func(t testing.TB, input []byte) int64 {
		dir := t.TempDir()
		write(t, nil, dir, "train", "dog", "0.png")
		write(t, nil, dir, "train", "cat", "0.png")
		for i, name := range strings.Split(string(input), "\n") {
			to := filepath.Join(dir, "train", "cat", name)
			if i < 8 && filepath.IsLocal(name) && os.MkdirAll(filepath.Dir(to), 0o700) == nil {
				os.WriteFile(to, nil, 0o600) // unless the system has no such name
			}
		}
		x, err := List(part(dir), Others{})
		if err == nil && (x.Len() < 2 || x.Labels()[x.Len()-1] != 1) {
			t.Errorf("found %d pictures with the classes %v, expected at least those of both folders", x.Len(), x.Labels())
		} else if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("found error %q, expected one line", err)
		}
		return 0
	})
}
