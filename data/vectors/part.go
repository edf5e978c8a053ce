package vectors

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dpsgd/checkpoints/safetensors"
	"dpsgd/internal/disk"
)

// Declared describes vectors before they are read.
type Declared struct {
	Width   int      // numbers in each, at least one
	Classes []string // in the order of the labels, at most 256
	Label   string   // the column with the labels, in a file that has columns; "" is the last one
}

// Part is one part of a data set of vectors, "train" or "test", with its files open.
type Part struct {
	declared Declared
	name     string // of the file with the vectors
	rows     rows
	known    int    // number of vectors, where a header says it and the file is large enough; else 0
	labels   *array // (n), integers; nil where the rows have labels of their own
	files    []*os.File
}

// rows reads the vectors of a file.
type rows interface {
	// read calls take with all vectors, some at a time, valid until the next call, and with the
	// class of each, or no classes where labels are in another file. It may be called once.
	read(take func(vectors []float32, labels []uint8) error) error
}

// formats lists what follows the part in names of files, and what opens such a file.
var formats = []struct {
	suffix string
	open   func(p *Part, f *os.File) error
}{
	{".npy", (*Part).openNumPy}, {".safetensors", (*Part).openTensors}, {".csv", (*Part).openCSV}, {".parquet", (*Part).openParquet},
}

// labelsSuffix ends the name of a file with labels alone.
const labelsSuffix = "-labels.npy"

// Open opens the one file of the part that is there:
//
//   - <part>.npy, with <part>-labels.npy;
//   - <part>.safetensors, with the tensors "features" and "labels";
//   - <part>.csv or <part>.parquet, with a column of labels or <part>-labels.npy.
//
// There must be at least one vector, each of the declared width, and one label for each of them.
// The error is one line; it matches [fs.ErrNotExist] when files are not there.
func Open(folder, part string, d Declared) (*Part, error) {
	var found, names []string
	var open func(*Part, *os.File) error
	for _, f := range formats {
		path := filepath.Join(folder, part+f.suffix)
		names = append(names, path)
		if exists(path) {
			found, open = append(found, path), f.open
		}
	}
	switch len(found) {
	case 0:
		return nil, missing("none of " + strings.Join(names, ", ") + " is there, expected one of them")
	case 1:
	default:
		return nil, fmt.Errorf("found both %s and %s, expected one of them", found[0], found[1])
	}
	p := &Part{declared: d, name: found[0]}
	f, err := p.open(p.name)
	if err == nil {
		err = open(p, f)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// missing is an error that says what is not there. It matches [fs.ErrNotExist].
type missing string

func (m missing) Error() string      { return string(m) }
func (missing) Is(target error) bool { return target == fs.ErrNotExist }

// exists reports whether something has this name, be it a file or not.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// openTensors keeps the tensors "features" and "labels" of a safetensors file, and no others.
func (p *Part) openTensors(f *os.File) error {
	size, err := sizeOf(f)
	if err != nil {
		return err
	}
	entries, _, begin, err := safetensors.Read(io.NewSectionReader(f, 0, size), size)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	found := map[string]*array{}
	for _, e := range entries {
		found[e.Name] = &array{
			name: fmt.Sprintf("%s: tensor %q", f.Name(), e.Name), shape: e.Shape,
			element: safetensors.Types[e.Type], content: io.NewSectionReader(f, begin+e.Begin, e.End-e.Begin),
		}
	}
	for _, name := range []string{"features", "labels"} {
		if found[name] == nil {
			return fmt.Errorf("%s: found no tensor %q, expected features and labels", f.Name(), name)
		}
	}
	return p.hold(found["features"], found["labels"])
}

func (p *Part) openNumPy(f *os.File) error {
	features, err := openNPY(f)
	if err != nil {
		return err
	}
	labels, err := p.openLabels()
	if err != nil {
		return err
	}
	return p.hold(features, labels)
}

// openLabels opens the file that holds labels alone and returns its array.
func (p *Part) openLabels() (*array, error) {
	f, err := p.open(p.labelsPath())
	if err != nil {
		return nil, err
	}
	return openNPY(f)
}

func (p *Part) labelsPath() string {
	return strings.TrimSuffix(p.name, filepath.Ext(p.name)) + labelsSuffix
}

// labelColumn returns the place of the column with the labels: the declared one, or else the last.
// If a file holds the labels, it opens that and returns -1; a declared column too is an error.
// where and among are for errors; see [PlaceOf].
func (p *Part) labelColumn(where string, columns []string, among string) (column int, err error) {
	beside := exists(p.labelsPath())
	switch label := p.declared.Label; {
	case beside && label != "":
		return 0, fmt.Errorf("found both %s and the name of a column with labels, %q, expected one of them", p.labelsPath(), label)
	case beside:
		if p.labels, err = p.openLabels(); err == nil {
			err = p.labels.checkLabels()
		}
		return -1, err
	case label != "":
		return PlaceOf(where, "column", label, columns, among)
	}
	return len(columns) - 1, nil
}

// open opens a regular file, which [Part.Close] closes.
func (p *Part) open(path string) (*os.File, error) {
	f, err := disk.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing(path + " is not there")
	}
	if err == nil {
		p.files = append(p.files, f)
	}
	return f, err
}

// hold keeps the features and labels. It refuses shapes and types other than the declared.
func (p *Part) hold(features, labels *array) error {
	if err := features.checkVectors(p.declared.Width); err != nil {
		return err
	}
	if err := labels.checkLabels(); err != nil {
		return err
	}
	p.rows, p.labels, p.known = features, labels, features.shape[0]
	return p.checkNumbers(p.known)
}

// checkNumbers refuses a file of labels that does not hold one label for each of the vectors.
func (p *Part) checkNumbers(vectors int) error {
	if p.labels != nil && p.labels.shape[0] != vectors {
		return fmt.Errorf("%s holds %d labels, expected one for each of the %d vectors of %s", p.labels.name, p.labels.shape[0], vectors, p.name)
	}
	return nil
}

// Close closes the files.
func (p *Part) Close() {
	for _, f := range p.files {
		f.Close()
	}
}

func sizeOf(f *os.File) (int64, error) { return f.Seek(0, io.SeekEnd) }
