package data

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"dpsgd/internal/slow"
)

// cifarBatch builds records whose pixel j of plane c has the byte 10·c + j mod 7 + record.
func cifarBatch(labels ...byte) []byte {
	var b []byte
	for i, l := range labels {
		b = append(b, l)
		for c := range 3 {
			for j := range cifarPlane {
				b = append(b, byte(10*c+j%7+i))
			}
		}
	}
	return b
}

// cifarFixture is a set in CIFAR-10's format, and its files.
type cifarFixture struct {
	*Dataset
	*cifarFiles
}

// tinyCIFAR has two training batches and a test batch of two records each.
func tinyCIFAR() (cifarFixture, map[string][]byte) {
	contents := map[string][]byte{"one.bin": cifarBatch(0, 1), "two.bin": cifarBatch(2, 0), "test.bin": cifarBatch(1, 1)}
	entry := func(name string) File { return File{name, int64(len(contents[name])), sum(contents[name])} }
	files := &cifarFiles{folder: "bin", archive: "tiny.tar.gz", labels: 1, others: []string{"batches.meta.txt", "readme.html"}, members: []File{entry("one.bin"), entry("two.bin"), entry("test.bin")}}
	return cifarFixture{&Dataset{
		Name: "tiny", Classes: []string{"a", "b", "c"}, Shape: cifarShape, Train: 4, Test: 2,
		Load: files.load, Unpack: files.unpack, Files: []File{{Name: files.archive}},
	}, files}, contents
}

// archive packs headers with their content.
func archive(t testing.TB, entries ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		h, content := entries[i].(tar.Header), entries[i+1].([]byte)
		h.Size, h.Mode = int64(len(content)), 0o644
		check(t, w.WriteHeader(&h))
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	check(t, w.Close())
	return pack(b.Bytes())
}

func regular(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }

func TestCIFARFromMembersAndFromTheArchive(t *testing.T) {
	set, contents := tinyCIFAR()
	unpacked, packed := t.TempDir(), t.TempDir()
	for name, content := range contents {
		write(t, content, unpacked, "tiny", "bin", name)
	}
	write(t, archive(t,
		tar.Header{Name: "bin/", Typeflag: tar.TypeDir}, []byte{},
		regular("bin/batches.meta.txt"), []byte("a\nb\n"),
		regular("bin/two.bin"), contents["two.bin"], // in any order
		regular("bin/one.bin"), contents["one.bin"],
		regular("bin/readme.html"), []byte("<html>"),
		regular("bin/test.bin"), contents["test.bin"],
	), packed, "tiny", "tiny.tar.gz")
	for _, dir := range []string{unpacked, packed} {
		s := must(set.Dataset.load(dir, 0))
		if !bytes.Equal(s.Train.(*Images).labels, []byte{0, 1, 2, 0}) || !bytes.Equal(s.Test.(*Images).labels, []byte{1, 1}) {
			t.Errorf("labels %v and %v", s.Train.(*Images).labels, s.Test.(*Images).labels)
		}
		for i, got := range s.Train.(*Images).Pixels(3) { // the second record of its batch
			if want := byte(10*(i%3) + i/3%7 + 1); got != want {
				t.Fatalf("position %d, channel %d of picture 3 is %d, expected %d", i/3, i%3, got, want)
			}
		}
	}
}

// Records may begin with two labels, of which the second counts, and members may differ in size.
func TestCIFARWithCoarseLabels(t *testing.T) {
	set, _ := tinyCIFAR()
	set.labels, set.others, set.Train, set.Test = 2, []string{"fine.txt"}, 3, 1
	var records []byte
	for i, label := range []byte{2, 0, 1} {
		records = append(append(records, 9), cifarBatch(label)...)
		records[len(records)-1] = byte(i) // the last blue pixel
	}
	test := append([]byte{9}, cifarBatch(1)...)
	set.members = []File{{"one.bin", int64(len(records)), sum(records)}, {"test.bin", int64(len(test)), sum(test)}}
	dir := t.TempDir()
	write(t, archive(t, regular("bin/test.bin"), test, regular("bin/fine.txt"), []byte("a"), regular("bin/one.bin"), records), dir, "tiny", "tiny.tar.gz")
	s := must(set.Dataset.load(dir, 0))
	train, tested := s.Train.(*Images), s.Test.(*Images)
	if !bytes.Equal(train.labels, []byte{2, 0, 1}) || !bytes.Equal(tested.labels, []byte{1}) {
		t.Errorf("labels %v and %v", train.labels, tested.labels)
	}
	for i := range 3 {
		if pixels := train.Pixels(i); pixels[0] != 0 || pixels[1] != 10 || pixels[3*cifarPlane-1] != byte(i) {
			t.Errorf("picture %d begins with %v and ends with %d", i, pixels[:2], pixels[3*cifarPlane-1])
		}
	}
}

func TestBrokenCIFARMembers(t *testing.T) {
	set, contents := tinyCIFAR()
	changed := func(at int, value byte) []byte {
		c := bytes.Clone(contents["one.bin"])
		c[at] = value
		return c
	}
	for name, c := range map[string]struct {
		content []byte
		says    string
	}{
		"truncated": {contents["one.bin"][:6000], "one.bin ends after 6000 bytes, expected 6146"},
		"too long":  {append(bytes.Clone(contents["one.bin"]), 0), "one.bin goes on after 6146 bytes"},
		"label":     {changed(1+3*cifarPlane, 3), "one.bin has the SHA-256"},
		"pixel":     {changed(5, 77), "one.bin has the SHA-256"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range contents {
				write(t, content, dir, "tiny", "bin", name)
			}
			write(t, c.content, dir, "tiny", "bin", "one.bin")
			_, err := set.Dataset.load(dir, 0)
			wantError(t, err, ErrInvalid, c.says)
		})
	}
}

// Only regular files with known names come out of an archive.
func TestBrokenCIFARArchives(t *testing.T) {
	set, contents := tinyCIFAR()
	one, two, test := contents["one.bin"], contents["two.bin"], contents["test.bin"]
	for name, c := range map[string]struct {
		content []byte
		says    string
	}{
		"not gzip":      {[]byte("plain"), "tiny.tar.gz is not a gzip file"},
		"not tar":       {pack(bytes.Repeat([]byte{1}, 2000)), "archive"},
		"empty":         {archive(t), "does not hold bin/one.bin"},
		"missing":       {archive(t, regular("bin/one.bin"), one, regular("bin/test.bin"), test), "does not hold bin/two.bin"},
		"twice":         {archive(t, regular("bin/one.bin"), one, regular("bin/one.bin"), one), "holds bin/one.bin twice"},
		"short member":  {archive(t, regular("bin/one.bin"), one[:50]), "one.bin ends after 50 bytes, expected 6146"},
		"long member":   {archive(t, regular("bin/one.bin"), append(bytes.Clone(one), 1)), "one.bin goes on after 6146 bytes"},
		"wrong content": {archive(t, regular("bin/one.bin"), two, regular("bin/two.bin"), two, regular("bin/test.bin"), test), "one.bin has the SHA-256"},
		"climbing out":  {archive(t, regular("bin/../../one.bin"), one), `entry "bin/../../one.bin" of 6146 bytes is not a part of tiny`},
		"absolute":      {archive(t, regular("/bin/one.bin"), one), `entry "/bin/one.bin"`},
		"other file":    {archive(t, regular("bin/run.sh"), []byte("rm")), `entry "bin/run.sh" of 2 bytes is not a part of tiny`},
		"large readme":  {archive(t, regular("bin/readme.html"), make([]byte, 1<<20)), `entry "bin/readme.html" of 1048576 bytes`},
		"link":          {archive(t, tar.Header{Name: "bin/one.bin", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, []byte{}), "expected regular files"},
		"device":        {archive(t, tar.Header{Name: "bin/one.bin", Typeflag: tar.TypeChar}, []byte{}), "expected regular files"},
		"other folder":  {archive(t, tar.Header{Name: "elsewhere/", Typeflag: tar.TypeDir}, []byte{}), "expected regular files"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, c.content, dir, "tiny", "tiny.tar.gz")
			_, err := set.Dataset.load(dir, 0)
			wantError(t, err, ErrInvalid, c.says)
		})
	}
}

func TestUnpackWritesWholeFiles(t *testing.T) {
	set, contents := tinyCIFAR()
	dir := t.TempDir()
	name := write(t, archive(t, regular("bin/one.bin"), contents["one.bin"], regular("bin/two.bin"), contents["two.bin"],
		regular("bin/test.bin"), contents["test.bin"]), dir, "tiny.tar.gz")
	root := must(os.OpenRoot(dir))
	defer root.Close()
	write(t, []byte("left by a crash"), dir, "bin", "one.bin.part")
	check(t, set.unpack(set.Dataset, name, root))
	for name, content := range contents {
		got, err := os.ReadFile(filepath.Join(dir, "bin", name))
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "bin", "*.part")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Whatever an archive or a batch of CIFAR's binary format holds, its records are read whole or
// refused with one line.
func FuzzCIFAR(f *testing.F) {
	set, contents := tinyCIFAR()
	dir := f.TempDir()
	var entries []any
	for _, m := range set.members {
		write(f, contents[m.Name], dir, "tiny", set.folder, m.Name)
		entries = append(entries, regular("bin/"+m.Name), contents[m.Name])
	}
	plain := must(io.ReadAll(must(gzip.NewReader(bytes.NewReader(archive(f, entries...))))))
	slow.Inputs(f, [][]byte{contents["one.bin"], plain, plain[:1000]}, func(t testing.TB, input []byte) int64 {
		packed := write(t, pack(input), dir, "packed.tar.gz")
		if err := set.readArchive("tiny", packed, func(int, []byte) error { return nil }); err != nil {
			wantError(t, err, ErrInvalid)
		}
		set.members[0].SHA256 = sum(input) // as if it were the published file
		write(t, input, dir, "tiny", set.folder, "one.bin")
		s, err := set.Dataset.load(dir, 0)
		if err != nil {
			wantError(t, err, ErrInvalid)
		} else if s.Train.Len() != 4 || s.Train.Label(0) > 2 {
			t.Errorf("found %d pictures, the first with label %d, expected 4 with 0 to 2", s.Train.Len(), s.Train.Label(0))
		}
		set.members[0].SHA256 = sum(contents["one.bin"])
		return 0
	})
}
