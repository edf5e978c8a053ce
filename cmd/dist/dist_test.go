package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"dpsgd/internal/tiny"
)

func TestVersions(t *testing.T) {
	for module, want := range map[string]struct{ archive, python, debian string }{
		"v0.2.0":                               {"0.2.0", "0.2.0", "0.2.0"},
		"v1.12.3-rc.1":                         {"1.12.3-rc.1", "1.12.3rc1", "1.12.3~rc.1"},
		"v0.0.0-20260102030405-0123456789ab":   {"0.0.0-20260102030405-0123456789ab", "0.0.0.dev20260102030405+g0123456789ab", "0.0.0~20260102030405.0123456789ab"},
		"v0.2.1-0.20260102030405-0123456789ab": {"0.2.1-0.20260102030405-0123456789ab", "0.2.1.dev20260102030405+g0123456789ab", "0.2.1~20260102030405.0123456789ab"},
	} {
		v, err := parseVersion(module, time.Time{})
		if err != nil || v.String() != want.archive || v.python() != want.python || v.debian() != want.debian {
			t.Errorf("%s: found %s, %s, %s, %v", module, v, v.python(), v.debian(), err)
		}
	}
	for _, module := range []string{"", "(devel)", "v1", "v0.2.0+dirty", "v0.2.0-next"} {
		if _, err := parseVersion(module, time.Time{}); err == nil {
			t.Errorf("%q: found no error", module)
		}
	}
}

// contents are those of a made-up version, in no order.
func contents(t *testing.T, platform string) Contents {
	t.Helper()
	p := tiny.Must(parsePlatforms(platform))(t)[0]
	v := tiny.Must(parseVersion("v0.2.0", time.Date(2026, 1, 2, 3, 4, 6, 0, time.FixedZone("", 3600))))(t)
	var mpi []byte
	if p.MPI() {
		mpi = []byte("another")
	}
	return Contents{
		Platform: p, Version: v, MPI: mpi,
		Program: []byte("a program"), Licence: []byte("Apache"), Licences: []byte("BSD"), Readme: []byte("# dpsgd"),
		Completions: []file{{Name: "train.bash"}, {Name: "_train", Content: []byte("#compdef train")}, {Name: "train.fish"}, {Name: "train.ps1"}},
		Manual:      []file{{Name: "train.1", Content: []byte(".TH")}, {Name: "train-run.1"}},
		Python:      []file{{Name: "py.typed"}, {Name: "__init__.py", Content: []byte("pass\n")}},
		PythonGuide: []byte("# From Python\n"),
	}
}

// entry is what is read back of one entry of a package.
type entry struct {
	mode    string
	content string
}

func readTar(t *testing.T, compressed []byte) map[string]entry {
	t.Helper()
	r := tiny.Must(gzip.NewReader(bytes.NewReader(compressed)))(t)
	entries := map[string]entry{}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if err == io.EOF {
			return entries
		}
		tiny.Check(t, err)
		content := tiny.Must(io.ReadAll(archive))(t)
		if h.ModTime.Unix() != 1767319446 || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s: found time %v of user %d, group %d", h.Name, h.ModTime, h.Uid, h.Gid)
		}
		entries[h.Name] = entry{h.FileInfo().Mode().String(), string(content) + h.Linkname}
	}
}

func readZip(t *testing.T, content []byte) map[string]entry {
	t.Helper()
	r := tiny.Must(zip.NewReader(bytes.NewReader(content), int64(len(content))))(t)
	entries := map[string]entry{}
	for _, f := range r.File {
		in := tiny.Must(f.Open())(t)
		content := tiny.Must(io.ReadAll(in))(t)
		if f.Modified.Unix() != 1767319446 {
			t.Errorf("%s: found time %v", f.Name, f.Modified)
		}
		entries[f.Name] = entry{f.Mode().String(), string(content)}
	}
	return entries
}

// An archive unpacks into one folder, with the program executable, and is the same each time.
func TestArchive(t *testing.T) {
	for platform, want := range map[string]struct {
		name, program string
		read          func(*testing.T, []byte) map[string]entry
	}{
		"linux/amd64":   {"dpsgd_0.2.0_linux_amd64.tar.gz", "dpsgd_0.2.0_linux_amd64/train", readTar},
		"windows/amd64": {"dpsgd_0.2.0_windows_amd64.zip", "dpsgd_0.2.0_windows_amd64/train.exe", readZip},
	} {
		c := contents(t, platform)
		archive, err := c.Archive()
		if err != nil || c.ArchiveName() != want.name {
			t.Fatalf("found %s, %v", c.ArchiveName(), err)
		}
		entries := want.read(t, archive)
		if entries[want.program] != (entry{"-rwxr-xr-x", "a program"}) {
			t.Errorf("%s: found the program %v", platform, entries[want.program])
		}
		folder := strings.TrimSuffix(want.program, c.Platform.Program())
		if other, found := entries[folder+"train-mpi"]; found != c.Platform.MPI() || found && other != (entry{"-rwxr-xr-x", "another"}) {
			t.Errorf("%s: found the other program %v", platform, other)
		}
		for _, file := range []string{"LICENSE", "THIRD_PARTY_LICENSES", "README.md", "completions/_train", "man/train.1"} {
			if entries[folder+file].mode != "-rw-r--r--" {
				t.Errorf("%s: found %s %v among %q", platform, file, entries[folder+file], slices.Sorted(maps.Keys(entries)))
			}
		}
		for name := range entries {
			if !strings.HasPrefix(name, folder) {
				t.Errorf("%s: found %s outside of the folder %s", platform, name, folder)
			}
		}
		again, err := contents(t, platform).Archive()
		if err != nil || !bytes.Equal(archive, again) {
			t.Errorf("%s: found other bytes the second time (%v)", platform, err)
		}
	}
}

// RECORD has the hash and size of every other file (PEP 376), and the program keeps its permission.
func TestWheel(t *testing.T) {
	c := contents(t, "linux/arm64")
	if want := "dpsgd-0.2.0-py3-none-manylinux2014_aarch64.manylinux_2_17_aarch64.musllinux_1_1_aarch64.whl"; c.WheelName() != want {
		t.Errorf("found %s, expected %s", c.WheelName(), want)
	}
	wheel := tiny.Must(c.Wheel())(t)
	entries := readZip(t, wheel)
	if entries["dpsgd/bin/train"] != (entry{"-rwxr-xr-x", "a program"}) {
		t.Errorf("found the program %v", entries["dpsgd/bin/train"])
	}
	if _, ok := entries["dpsgd/py.typed"]; !ok {
		t.Errorf("found no dpsgd/py.typed among %q", slices.Sorted(maps.Keys(entries)))
	}
	rows, err := csv.NewReader(strings.NewReader(entries["dpsgd-0.2.0.dist-info/RECORD"].content)).ReadAll()
	if err != nil || len(rows) != len(entries) {
		t.Fatalf("found %d rows for %d files, %v", len(rows), len(entries), err)
	}
	for _, row := range rows {
		e, ok := entries[row[0]]
		hash := sha256.Sum256([]byte(e.content))
		hashed := "sha256="+base64.RawURLEncoding.EncodeToString(hash[:]) == row[1] && fmt.Sprint(len(e.content)) == row[2]
		if !ok || !hashed && row[0] != "dpsgd-0.2.0.dist-info/RECORD" {
			t.Errorf("found the row %q about %q", row, e.content)
		}
	}
	if got := entries["dpsgd-0.2.0.dist-info/WHEEL"].content; strings.Count(got, "Tag: py3-none-") != 3 {
		t.Errorf("found the tags\n%s", got)
	}
}

// A Debian package is an ar archive with three members at even places (deb(5), ar(5)).
func TestDebian(t *testing.T) {
	c := contents(t, "linux/amd64")
	if c.DebianName() != "dpsgd_0.2.0_amd64.deb" || contents(t, "darwin/arm64").DebianName() != "" {
		t.Errorf("found %s", c.DebianName())
	}
	c.Readme = []byte("odd") // so that sizes are
	deb := tiny.Must(c.Debian())(t)
	members := readAr(t, deb)
	if string(members["debian-binary"]) != "2.0\n" {
		t.Errorf("found the format %q", members["debian-binary"])
	}
	control := readTar(t, members["control.tar.gz"])
	for _, want := range []string{"Package: dpsgd\n", "Version: 0.2.0\n", "Architecture: amd64\n"} {
		if !strings.Contains(control["control"].content, want) {
			t.Errorf("found no %q in\n%s", want, control["control"].content)
		}
	}
	data := readTar(t, members["data.tar.gz"])
	for name, want := range map[string]entry{
		"usr/bin/":                                {"drwxr-xr-x", ""},
		"usr/bin/train":                           {"-rwxr-xr-x", "a program"},
		"usr/bin/dpsgd":                           {"Lrwxrwxrwx", "train"},
		"usr/bin/train-mpi":                       {"-rwxr-xr-x", "another"},
		"usr/share/man/man1/dpsgd.1.gz":           {"Lrwxrwxrwx", "train.1.gz"},
		"usr/share/doc/dpsgd/copyright":           {"-rw-r--r--", copyright},
		"usr/share/zsh/vendor-completions/_train": {"-rw-r--r--", "#compdef train"},
	} {
		if data[name] != want {
			t.Errorf("%s: found %v, expected %v", name, data[name], want)
		}
	}
}

func readAr(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	rest, ok := bytes.CutPrefix(archive, []byte("!<arch>\n"))
	if !ok {
		t.Fatal("found no ar archive")
	}
	members := map[string][]byte{}
	for len(rest) > 0 {
		var size int
		header := string(rest[:60])
		if _, err := fmt.Sscan(header[48:58], &size); err != nil || header[58:] != "`\n" {
			t.Fatalf("found the header %q", header)
		}
		members[strings.TrimSpace(header[:16])] = rest[60 : 60+size]
		rest = rest[60+size+size%2:]
	}
	return members
}

// The formula names the archives that Homebrew can install, with their hashes.
func TestFormula(t *testing.T) {
	var downloads []download
	for _, p := range platforms {
		c := contents(t, p.String())
		downloads = append(downloads, download{p, c.ArchiveName(), "hash-of-" + p.OS + "-" + p.Arch})
	}
	text := tiny.Must(Formula(contents(t, "linux/amd64").Version, "https://example.org/dpsgd", downloads))(t)
	for _, want := range []string{
		"class Dpsgd < Formula", `version "0.2.0"`,
		"on_macos do\n    on_intel do\n      url \"https://example.org/dpsgd/dpsgd_0.2.0_darwin_amd64.tar.gz\"\n      sha256 \"hash-of-darwin-amd64\"",
		"on_linux do", "hash-of-linux-arm64",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("found no %q in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "windows") {
		t.Errorf("found Windows in\n%s", text)
	}
}

func TestChecksums(t *testing.T) {
	// The hash of nothing: FIPS 180-4, as sha256sum < /dev/null prints it.
	const nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	got := checksums(map[string]string{"b.zip": shA256(nil), "a.tar.gz": shA256(nil)})
	if want := nothing + "  a.tar.gz\n" + nothing + "  b.zip\n"; string(got) != want {
		t.Errorf("found\n%s", got)
	}
}

func TestParsePlatforms(t *testing.T) {
	if all, err := parsePlatforms(""); err != nil || len(all) != 5 {
		t.Errorf("found %v, %v", all, err)
	}
	if some, err := parsePlatforms("linux/amd64,darwin/arm64"); err != nil || len(some) != 2 || some[1].OS != "darwin" {
		t.Errorf("found %v, %v", some, err)
	}
	for _, wrong := range []string{"linux/amd64,linux", "plan9/amd64"} {
		if _, err := parsePlatforms(wrong); err == nil || !strings.Contains(err.Error(), "darwin/arm64") {
			t.Errorf("%s: found %v, expected an error that lists the platforms", wrong, err)
		}
	}
}

// What is built into the program of every platform has a licence that is passed on.
func TestLicences(t *testing.T) {
	for _, p := range platforms {
		text := tiny.Must(checkout{dir: filepath.Join("..", "..")}.licences(p))(t)
		for _, name := range []string{"Go", "gorgonia.org/tensor v", "gonum.org/v1/gonum v", "github.com/spf13/cobra v"} {
			if !bytes.Contains(text, []byte("==== "+name)) {
				t.Errorf("%s: found no licence of %s", p, name)
			}
		}
		if found := bytes.Contains(text, []byte("==== github.com/ebitengine/purego v")); found != p.MPI() {
			t.Errorf("%s: found the licence of what opens libraries: %v, expected %v", p, found, p.MPI())
		}
		if bytes.Contains(text, []byte("==== dpsgd")) {
			t.Errorf("%s: found the program's own licence", p)
		}
	}
}

func TestModuleWithoutLicence(t *testing.T) {
	err := addLicences(new(bytes.Buffer), "example.org/m v1.0.0", t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "found no licence of example.org/m v1.0.0") {
		t.Errorf("found %v", err)
	}
}

// The list of components names every module, or what replaces it, once, with the checksum of go.sum,
// and Go itself.
func TestComponents(t *testing.T) {
	self, err := os.Executable()
	tiny.Check(t, err)
	c := contents(t, "linux/amd64")
	other := &debug.Module{Path: "gonum.org/v1/gonum", Version: "v0.17.0", Sum: "h1:B"}
	c.Modules = []*debug.Module{{Path: "a.org/a", Version: "v1.0.0", Sum: "h1:A"}, {Path: "b.org/b", Version: "v1.0.0", Replace: other}}
	tiny.Check(t, c.addModules(self)) // which names no modules, as it is a test, and Go
	found := string(tiny.Must(c.Components())(t))
	for _, want := range []string{
		`"bomFormat": "CycloneDX"`, `"specVersion": "1.5"`, `"timestamp": "2026-01-02T02:04:06Z"`, `"version": "0.2.0"`, `"pkg:golang/std@` + strings.TrimPrefix(runtime.Version(), "go") + `"`,
		`"pkg:golang/a.org/a@v1.0.0"`, `"value": "h1:A"`, `"pkg:golang/gonum.org/v1/gonum@v0.17.0"`, `"value": "h1:B"`,
	} {
		if strings.Count(found, want) != 1 {
			t.Errorf("found %s, expected %s in it once", found, want)
		}
	}
	if strings.Contains(found, "b.org") {
		t.Errorf("found a module that is replaced: %s", found)
	}
}

func TestTextIsUTF8(t *testing.T) {
	for text, want := range map[string]string{"é": "é", "\xe9": "é", "": ""} {
		if got := string(utf8Text([]byte(text))); got != want {
			t.Errorf("%q: found %q, expected %q", text, got, want)
		}
	}
}

// What is published is written where it is looked for, with hashes of the packages alone.
func TestFolder(t *testing.T) {
	v := tiny.Must(parseVersion("v0.2.0", version{}.Time))(t)
	f := folder{filepath.Join(t.TempDir(), "dist"), map[string]string{}}
	c := Contents{Platform: platforms[0], Version: v, Program: []byte("a program")}
	tiny.Check(t, f.packages(c))
	tiny.Check(t, f.write("Formula/dpsgd.rb", nil))
	for name, hash := range f.hashes {
		content, err := os.ReadFile(filepath.Join(f.path, name))
		if err != nil || shA256(content) != hash {
			t.Errorf("%s: found another hash, %v", name, err)
		}
	}
	if len(f.hashes) != 4 {
		t.Errorf("found hashes of %d files, expected those of an archive, a wheel, a Debian package and the list of components", len(f.hashes))
	}
}

// What a command and a folder do not give is said.
func TestNothingToPack(t *testing.T) {
	_, noFile := files(t.TempDir(), "*.1")
	_, noCommand := output(".", nil, "go", "no-such-command")
	for want, err := range map[string]error{"found no *.1 in ": noFile, "go no-such-command: exit status 2": noCommand} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, expected %q", err, want)
		}
	}
}
