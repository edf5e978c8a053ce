package data

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/data/pictures"
	"dpsgd/data/vectors"
	"dpsgd/internal/setting"
	"dpsgd/internal/spelling"
)

// Spec says which examples to load. One of Name, Folder, Table and Vectors is set. Everything here is
// public: it is declared, never computed from the training examples.
type Spec struct {
	Name    string // one of [Names]; "" for a person's own data
	Folder  string // of pictures, <folder>/train/<class>/ and <folder>/test/<class>/, or train-….tar and test-….tar, as package pictures lists them
	Table   string // folder with train.csv and test.csv
	Vectors string // folder with features that another program computed, in files that package vectors reads: train.npy, train.csv and so on

	Classes  []string     // in label order: of pictures the names of the class folders, of a table the values of Label
	Size     setting.Size // of the pictures of a folder, in pixels
	Channels int          // of the pictures of a folder: 1 is grey, 3 is colour
	Columns  []string     // of a table: those with the numbers that the network sees, in its order
	Label    string       // the column with the class: of a table, or of vectors in a .csv or .parquet file, where "" is the last one
	Group    string       // of a table the column that says whose a record is, for [Owners]; of a folder "prefix"
	Width    int          // of vectors: numbers in each
	Seed     uint64       // draws other pictures of "digits"

	// Dir holds the files of the named sets; [DefaultDir] when empty.
	Dir string
	// Memory says how many bytes of the pictures of a folder may stay in memory, of so many in both
	// parts. Pictures that do not fit are decoded whenever they are needed. nil keeps all.
	Memory func(train, test int) int64
}

// Shape is that of the examples, as declared: nothing is read for it.
func (s Spec) Shape() Shape {
	switch known := Find(s.Name); {
	case known != nil:
		return known.Shape
	case s.Table != "":
		return Row(len(s.Columns))
	case s.Vectors != "":
		return Row(s.Width)
	}
	return Shape{s.Size.Height, s.Size.Width, s.Channels}
}

// Labels are the names of the classes.
func (s Spec) Labels() []string {
	if known := Find(s.Name); known != nil {
		return known.Classes
	}
	return s.Classes
}

// Own is the folder of a person's own data; "" for a set that has a name.
func (s Spec) Own() string { return cmp.Or(s.Folder, s.Table, s.Vectors) }

// Count returns how many examples the part "train" or "test" of a person's own data has, after a look at
// what says so alone: names of files, lines of a table, headers of vectors.
func Count(s Spec, part string) (int, error) {
	switch {
	case s.Table != "":
		return eachRecord(s, part, func(*tableReader, []string) error { return nil })
	case s.Vectors != "":
		n := 0
		err := useVectors(s, part, func(p *vectors.Part) (err error) { n, err = p.Count(); return err })
		return n, err
	}
	listed, err := pictures.List(s.part(part), pictures.Others{})
	if err != nil {
		return 0, err
	}
	return listed.Len(), nil
}

// Split is a set of examples to train on and one to test with, of one shape and
// with the same classes.
type Split struct {
	Name        string
	Train, Test Set
	Warning     string // what was passed over beside them; "" in most cases

	identity string
	verified [2]Set // which examples it is the identity of
}

// Identity returns the identity of the [Dataset] as which the examples were read and verified; ""
// for a split that [Load] did not make, and for one whose training or test set was exchanged since.
func (s *Split) Identity() string {
	if s.verified != [2]Set{s.Train, s.Test} {
		return ""
	}
	return s.identity
}

// parts are the names of the two sets of a split.
var parts = [2]string{"train", "test"}

// splitOf makes a split of what read returns for each of parts.
func splitOf[S Set](name string, read func(part int) (S, error)) (*Split, error) {
	train, err := read(0)
	if err != nil {
		return nil, err
	}
	test, err := read(1)
	if err != nil {
		return nil, err
	}
	return &Split{Name: name, Train: train, Test: test}, nil
}

// DirVariable is the environment variable that [DefaultDir] reads.
const DirVariable = "DPSGD_DATA"

// DefaultDir is the folder of named sets when nobody names another: $DPSGD_DATA, else dpsgd below
// the user's cache folder, else the folder "datasets".
func DefaultDir() string {
	if dir := os.Getenv(DirVariable); dir != "" {
		return dir
	}
	if cache, err := os.UserCacheDir(); err == nil {
		return filepath.Join(cache, "dpsgd")
	}
	return "datasets"
}

// Load reads the examples that spec describes, into memory if not said otherwise. The error is one line. It matches
// [ErrMissing] when files are not there and [ErrInvalid] when they are not what they should be.
func Load(spec Spec) (*Split, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	switch {
	case spec.Folder != "":
		return loadFolder(spec)
	case spec.Table != "":
		return loadTable(spec)
	case spec.Vectors != "":
		return loadVectors(spec)
	}
	set := Find(spec.Name)
	if set == nil {
		return nil, fmt.Errorf("data: unknown set %q, expected %s, or a folder of pictures", spec.Name, strings.Join(Names(), ", "))
	}
	return set.load(cmp.Or(spec.Dir, DefaultDir()), spec.Seed)
}

// check makes sure that the examples come from one place, and that the classes there are declared.
func (s Spec) check() error {
	var given []string
	classes := ""
	for _, from := range []struct{ kind, what, classes string }{
		{"set", s.Name, ""}, {"folder", s.Folder, "the names of the folders in train/ and test/"},
		{"table", s.Table, "the values of the label column"}, {"vectors", s.Vectors, "label 0 is the first"},
	} {
		if from.what != "" {
			given, classes = append(given, fmt.Sprintf("the %s %q", from.kind, from.what)), from.classes
		}
	}
	if len(given) > 1 {
		return fmt.Errorf("data: both %s and %s are given, expected one", given[0], given[1])
	}
	if classes == "" {
		return nil
	}
	if len(s.Classes) < 2 || len(s.Classes) > maxClasses {
		return fmt.Errorf("data: %w: %d classes declared, expected 2 to %d (%s)", ErrInvalid, len(s.Classes), maxClasses, classes)
	}
	return checkDistinct("class", s.Classes)
}

func checkDistinct(what string, names []string) error {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("data: %w: %s %q is declared twice", ErrInvalid, what, name)
		}
	}
	return nil
}

// missing says where a named set was looked for and the two ways out.
func missing(set, path string) error {
	given := ""
	if dir := filepath.Dir(filepath.Dir(path)); dir != filepath.Clean(DefaultDir()) {
		given = " --data-dir " + spelling.Argument(dir)
	}
	return fmt.Errorf("data: %w: %s is not at %s; run `train data fetch %s%s`, or name the folder that holds %s%c with --data-dir DIR or %s",
		ErrMissing, set, path, set, given, set, filepath.Separator, DirVariable)
}
