package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Contents is what every package of a platform is made of.
type Contents struct {
	Platform platform
	Version  version
	Go       string          // the version that the programs are built with
	Modules  []*debug.Module // that are built into them

	Program     []byte
	MPI         []byte // the program that an MPI launcher starts; nil on a platform without one
	Licence     []byte // the text of the program's licence
	Licences    []byte // the texts of the licences of what is built into it
	Readme      []byte
	Completions []file // train.bash, _train, train.fish, train.ps1
	Manual      []file // pages of section 1
	Python      []file // the modules of the package dpsgd
	PythonGuide []byte // the long description of the wheel, in Markdown
}

// mpiProgram is the file name of [Contents.MPI].
const mpiProgram = "train-mpi"

// ArchiveName returns the file name of the platform's archive.
func (c Contents) ArchiveName() string {
	if c.Platform.OS == "windows" {
		return c.folder() + ".zip"
	}
	return c.folder() + ".tar.gz"
}

func (c Contents) folder() string {
	return "dpsgd_" + c.Version.String() + "_" + c.Platform.OS + "_" + c.Platform.Arch
}

// Archive returns a .tar.gz, or a .zip for Windows, with everything in one folder.
func (c Contents) Archive() ([]byte, error) {
	files := []file{
		{Name: c.Platform.Program(), Content: c.Program, Program: true},
		{Name: "LICENSE", Content: c.Licence},
		{Name: "THIRD_PARTY_LICENSES", Content: c.Licences},
		{Name: "README.md", Content: c.Readme},
	}
	if c.MPI != nil {
		files = append(files, file{Name: mpiProgram, Content: c.MPI, Program: true})
	}
	files = append(files, below("completions", c.Completions)...)
	files = below(c.folder(), append(files, below("man", c.Manual)...))
	if c.Platform.OS == "windows" {
		return zipped(files, c.Version.Time)
	}
	return tarred(files, c.Version.Time)
}

// tarred returns a .tar.gz of files and of the folders that they lie in. All belongs to root.
func tarred(files []file, modified time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range slices.Concat(folders(files), sorted(files)) {
		h := tar.Header{
			Name: f.Name, Mode: int64(f.mode()), Size: int64(len(f.Content)), ModTime: modified,
			Uname: "root", Gname: "root", Format: tar.FormatGNU,
		}
		if f.Link != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.Link
		}
		if err := w.WriteHeader(&h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return gzipped(out.Bytes()), err
}

// gzipped returns content compressed by gzip. It compresses in memory, where writing does not fail.
func gzipped(content []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // there is that level
	_, _ = w.Write(content)
	_ = w.Close()
	return out.Bytes()
}

// zipped returns a .zip of files, none of which may be a link.
func zipped(files []file, modified time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(to, flate.BestCompression)
	})
	for _, f := range sorted(files) {
		h := zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: modified}
		h.SetMode(f.mode())
		to, err := w.CreateHeader(&h)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.Content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

type file struct {
	Name    string // with slashes, relative to where the package is unpacked
	Content []byte
	Link    string // the target of a symbolic link, which has no content
	Program bool   // anyone may execute it, or enter it as a folder
}

func (f file) mode() fs.FileMode {
	switch {
	case f.Link != "":
		return 0o777
	case f.Program:
		return 0o755
	}
	return 0o644
}

func below(folder string, files []file) []file {
	moved := slices.Clone(files)
	for i := range moved {
		moved[i].Name = path.Join(folder, moved[i].Name)
	}
	return moved
}

// sorted returns files in the order of their names, which packages keep.
func sorted(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.Name, b.Name) })
}

// folders returns all folders that files lie in, each behind the one that it lies in. Their names
// end with a slash, by which a tar file knows them.
func folders(files []file) (all []file) {
	names := map[string]bool{}
	for _, f := range files {
		for dir := path.Dir(f.Name); dir != "."; dir = path.Dir(dir) {
			names[dir] = true
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(names)) {
		all = append(all, file{Name: dir + "/", Program: true})
	}
	return all
}

// platform is a system and a processor that programs are built for.
type platform struct {
	OS, Arch string // as Go names them

	wheel  []string // the platform tags of a wheel
	debian string   // the architecture of a Debian package; "" if there is none
}

// platforms lists the systems for which there are packages. The program is static, so that its
// wheel runs with the C library of any Linux. The macOS in a tag is the oldest one that Go 1.26
// supports (go.dev/wiki/MinimumRequirements).
var platforms = []platform{
	{"linux", "amd64", []string{"manylinux2014_x86_64", "manylinux_2_17_x86_64", "musllinux_1_1_x86_64"}, "amd64"},
	{"linux", "arm64", []string{"manylinux2014_aarch64", "manylinux_2_17_aarch64", "musllinux_1_1_aarch64"}, "arm64"},
	{"darwin", "amd64", []string{"macosx_12_0_x86_64"}, ""},
	{"darwin", "arm64", []string{"macosx_12_0_arm64"}, ""},
	{"windows", "amd64", []string{"win_amd64"}, ""},
}

// parsePlatforms reads names such as linux/amd64, with commas between them; "" is all platforms.
func parsePlatforms(names string) ([]platform, error) {
	if names == "" {
		return platforms, nil
	}
	byName, known := map[string]platform{}, make([]string, len(platforms))
	for i, p := range platforms {
		known[i], byName[p.String()] = p.String(), p
	}
	var found []platform
	for name := range strings.SplitSeq(names, ",") {
		p, ok := byName[name]
		if !ok {
			return nil, fmt.Errorf("dist: found the platform %q, expected one of %s", name, strings.Join(known, ", "))
		}
		found = append(found, p)
	}
	return found, nil
}

func (p platform) String() string { return p.OS + "/" + p.Arch }

// Program returns the file name of the program.
func (p platform) Program() string {
	if p.OS == "windows" {
		return "train.exe"
	}
	return "train"
}

// MPI reports whether the platform has a program for MPI launchers, which runs on glibc.
func (p platform) MPI() bool { return p.OS == "linux" }
