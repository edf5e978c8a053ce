package data

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Spec says which pictures to load. Either Name or Folder is set.
type Spec struct {
	// Name is one of the sets of [Names].
	Name string

	// Dir holds the files of the named sets; [DefaultDir] when empty.
	Dir string

	// Folder holds a person's own pictures as <folder>/train/<class>/ and
	// <folder>/test/<class>/. Classes, Height, Width and Channels (1 grey or
	// 3 colour) belong to it and must be declared.
	Folder                  string
	Classes                 []string
	Height, Width, Channels int

	// Seed draws other pictures of "digits". It is public.
	Seed uint64
}

// Source is a set of pictures to train on and one to test with, of one shape and
// with the same classes.
type Source struct {
	Name        string
	Train, Test *Images
}

// DirVariable is the environment variable that [DefaultDir] reads.
const DirVariable = "DPSGD_DATA"

// Names returns the names that [Spec] knows, the one that needs no files first.
func Names() []string { return []string{digitsName, mnist.name, fashionMNIST.name, cifar10.name} }

// DefaultDir is where named sets are looked for and downloaded to when nobody
// says otherwise: $DPSGD_DATA, else dpsgd below the user's cache folder, else
// the folder "datasets".
func DefaultDir() string {
	if dir := os.Getenv(DirVariable); dir != "" {
		return dir
	}
	if cache, err := os.UserCacheDir(); err == nil {
		return filepath.Join(cache, "dpsgd")
	}
	return "datasets"
}

// Load reads the pictures that spec describes into memory. The error is one line.
// It matches [ErrMissing] when files are not there and [ErrInvalid] when they are
// not what they should be.
func Load(spec Spec) (*Source, error) {
	if spec.Folder != "" {
		if spec.Name != "" {
			return nil, fmt.Errorf("data: both the set %q and the folder %q are given, expected one", spec.Name, spec.Folder)
		}
		return loadFolder(spec)
	}
	dir := spec.Dir
	if dir == "" {
		dir = DefaultDir()
	}
	switch spec.Name {
	case digitsName:
		return drawDigits(spec.Seed, digitsTrain, digitsTest)
	case mnist.name:
		return mnist.load(dir)
	case fashionMNIST.name:
		return fashionMNIST.load(dir)
	case cifar10.name:
		return cifar10.load(dir)
	}
	return nil, fmt.Errorf("data: unknown set %q, expected %s, or a folder of pictures", spec.Name, strings.Join(Names(), ", "))
}

// missing says where a named set was looked for and the two ways out.
func missing(set, path string) error {
	return fmt.Errorf("data: %w: %s is not at %s; run `train data fetch %s`, or name the folder that holds %s%c with --data-dir DIR or %s",
		ErrMissing, set, path, set, set, filepath.Separator, DirVariable)
}
