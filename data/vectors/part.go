package vectors

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Part is one part of a data set of vectors, "train" or "test", with its files open.
type Part struct {
	features *array // (n, width), floating-point numbers
	labels   *array // (n), integers
	files    []*os.File
}

// Open opens <folder>/<part>.npy with <folder>/<part>-labels.npy, or <folder>/<part>.safetensors
// with the tensors "features" and "labels", whichever of the two is there. There must be at least one
// vector, each of the given width, and one label for each of them. The error is one line; it
// matches [fs.ErrNotExist] when files are not there.
func Open(folder, part string, width int) (*Part, error) {
	numpy, safetensors := filepath.Join(folder, part+".npy"), filepath.Join(folder, part+".safetensors")
	p := new(Part)
	var err error
	switch hasNumPy, hasTensors := exists(numpy), exists(safetensors); {
	case hasNumPy && hasTensors:
		return nil, fmt.Errorf("found both %s and %s, expected one of them", numpy, safetensors)
	case hasTensors:
		err = p.openSafetensors(safetensors)
	case hasNumPy:
		err = p.openNumPy(numpy, filepath.Join(folder, part+"-labels.npy"))
	case exists(filepath.Join(folder, part+".csv")):
		return nil, missing(fmt.Sprintf("neither %s nor %s is there, expected one of them (%s.csv belongs to a table with named columns)", numpy, safetensors, part))
	default:
		return nil, missing(fmt.Sprintf("neither %s nor %s is there, expected one of them", numpy, safetensors))
	}
	if err == nil {
		err = p.check(width)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// missing says what is not there; it matches [fs.ErrNotExist].
type missing string

func (m missing) Error() string      { return string(m) }
func (missing) Is(target error) bool { return target == fs.ErrNotExist }

// exists reports whether something has this name; what it is shows when it is opened.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func (p *Part) openSafetensors(path string) error {
	f, err := p.open(path)
	if err == nil {
		p.features, p.labels, err = openSafetensors(f)
	}
	return err
}

func (p *Part) openNumPy(features, labels string) error {
	for _, array := range []struct {
		path string
		into **array
	}{{features, &p.features}, {labels, &p.labels}} {
		f, err := p.open(array.path)
		if err != nil {
			return err
		}
		if *array.into, err = openNPY(f); err != nil {
			return err
		}
	}
	return nil
}

// open opens a regular file, which [Part.Close] closes.
func (p *Part) open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing(path + " is not there")
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file, expected one", path)
	}
	f, err := os.Open(path)
	if err == nil {
		p.files = append(p.files, f)
	}
	return f, err
}

// Len returns the number of vectors.
func (p *Part) Len() int { return p.features.shape[0] }

// check compares the arrays with what was declared and with each other.
func (p *Part) check(width int) error {
	features, labels := p.features, p.labels
	switch {
	case features.element.floats == nil:
		return fmt.Errorf("%s holds integers, expected floating-point numbers", features.name)
	case labels.element.floats != nil:
		return fmt.Errorf("%s holds floating-point numbers, expected integers", labels.name)
	case len(features.shape) != 2:
		return fmt.Errorf("%s has the shape %v, expected two sizes: vectors and their width", features.name, features.shape)
	case features.shape[1] != width:
		return fmt.Errorf("%s has vectors of width %d, expected the declared %d", features.name, features.shape[1], width)
	case features.shape[0] == 0:
		return fmt.Errorf("%s holds no vector, expected at least one", features.name)
	case len(labels.shape) != 1:
		return fmt.Errorf("%s has the shape %v, expected one size: a label for each vector", labels.name, labels.shape)
	case labels.shape[0] != features.shape[0]:
		return fmt.Errorf("%s holds %d labels, expected one for each of the %d vectors of %s", labels.name, labels.shape[0], features.shape[0], features.name)
	}
	return nil
}

// Close closes the files.
func (p *Part) Close() error {
	var errs []error
	for _, f := range p.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

func sizeOf(f *os.File) (int64, error) {
	return f.Seek(0, io.SeekEnd)
}
