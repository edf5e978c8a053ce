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

// Spec says which examples to load. One of Name, Folder, Table, Vectors and Text is set. Everything here
// is public: it is declared, never computed from the training examples.
type Spec struct {
	Name    string // one of [Names]; "" for a person's own data
	Folder  string // of pictures, <folder>/train/<class>/ and <folder>/test/<class>/, or train-….tar and test-….tar, as package pictures lists them
	Table   string // folder with train.csv and test.csv
	Text    string // folder with texts, in train.csv, train.jsonl, train.parquet or train/<class>/*.txt
	Vectors string // folder with features that another program computed, in files that package vectors reads: train.npy, train.csv and so on

	Classes  []string     // in label order: of pictures the names of the class folders, of a table the values of Label
	Size     setting.Size // of the pictures of a folder, in pixels
	Channels int          // of the pictures of a folder: 1 is grey, 3 is colour
	Column   string       // of texts in files with columns or keys, the one with the text; "" where there are two: the first, or the one that is not Label
	Length   int          // of texts: the greatest number of tokens; what is longer is cut
	// Of texts: the tokenizer.json that cuts them, "" for bytes, and the number of its tokens.
	Tokenizer  string
	Vocabulary int
	Columns    []string  // of a table: those with the numbers that the network sees, in its order
	Label      string    // the column with the class: of a table, or of vectors in a .csv or .parquet file, where "" is the last one
	Labels     []string  // of a table: columns of 0 and 1, which say of each label whether a record has it; in place of Label and Classes
	Bounds     []float64 // of the numbers in column Label, low and high, which are learnt in place of a class
	Group      string    // for [Owners]: of a table, the column that says whose a record is; of a folder, "prefix"
	Width      int       // of vectors: numbers in each
	Seed       uint64    // from which a set is drawn that is nobody's: see [Dataset]

	// Dir holds the files of the named sets; [DefaultDir] when empty.
	Dir string
	// Memory returns how many bytes of a folder's pictures may stay in memory, given the numbers of
	// pictures in both parts. Others are decoded whenever they are needed. nil keeps all in memory.
	Memory func(train, test int) int64
}

// Shape returns the declared shape of the examples. It reads nothing.
func (s Spec) Shape() Shape {
	switch known := Find(s.Name); {
	case known != nil:
		return known.Shape
	case s.Table != "":
		return Row(len(s.Columns))
	case s.Vectors != "":
		return Row(s.Width)
	case s.Text != "":
		return Sequence(s.Length, s.vocabulary())
	}
	return Shape{s.Size.Height, s.Size.Width, s.Channels}
}

// Learnt returns the names of what is learnt, one for each output of a network: the classes, in the
// order of their labels, the columns of labels, or the one of the number.
func (s Spec) Learnt() []string {
	if known := Find(s.Name); known != nil {
		return known.Classes
	}
	switch s.Task() {
	case Labels:
		return s.Labels
	case Number:
		return []string{s.Label}
	}
	return s.Classes
}

// Own returns the folder of a person's own data; "" for a set that has a name.
func (s Spec) Own() string { return cmp.Or(s.Folder, s.Table, s.Vectors, s.Text) }

// OwnName returns the name of that folder, without where it lies, also for "." and "..".
func (s Spec) OwnName() string {
	absolute, _ := filepath.Abs(s.Own()) // "" where there is no working folder
	return filepath.Base(cmp.Or(absolute, s.Own()))
}

// Count returns the number of examples in the part "train" or "test" of a person's own data. It
// reads file names or headers of shards, lines of a table or .csv file, headers of other vectors.
func Count(s Spec, part string) (int, error) {
	switch {
	case s.Table != "":
		return eachRecord(s, part, func(*tableReader, []string) error { return nil })
	case s.Text != "":
		return eachText(s, part, func(string, uint8) error { return nil })
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
	Warning     string // about files passed over, or pictures that memory cannot hold; "" in most cases

	identity string
	verified [2]Set // the training and the test set that identity belongs to
}

// Identity returns [Dataset.Identity] of the named set as which [Load] read the examples. It is ""
// for other splits, and for one whose training or test set was exchanged since.
func (s *Split) Identity() string {
	if s.verified != [2]Set{s.Train, s.Test} {
		return ""
	}
	return s.identity
}

// parts are the names of the two sets of a split.
var parts = [2]string{"train", "test"}

// splitOf returns a split of the sets that read returns for part 0, training, and part 1, test.
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

// DefaultDir returns the folder of named sets when nobody names another: $DPSGD_DATA, else dpsgd
// below the user's cache folder, else the folder "datasets".
func DefaultDir() string {
	if dir := os.Getenv(DirVariable); dir != "" {
		return dir
	}
	if cache, err := os.UserCacheDir(); err == nil {
		return filepath.Join(cache, "dpsgd")
	}
	return "datasets"
}

// Load reads the examples that spec describes, into memory if spec.Memory allows it. The error is
// one line. It matches [ErrMissing] if files are missing and [ErrInvalid] if they are wrong.
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
	case spec.Text != "":
		return loadText(spec)
	}
	set := Find(spec.Name)
	if set == nil {
		return nil, fmt.Errorf("data: unknown set %q, expected %s, or a folder of your own", spec.Name, strings.Join(Names(), ", "))
	}
	return set.load(cmp.Or(spec.Dir, DefaultDir()), spec.Seed)
}

// check refuses more than one source of examples, and a person's own data whose declared classes
// are not distinct, fewer than 2 or more than 256.
func (s Spec) check() error {
	var given []string
	classes := ""
	for _, from := range []struct{ kind, what, classes string }{
		{"set", s.Name, ""}, {"folder", s.Folder, "the names of the folders in train/ and test/"},
		{"table", s.Table, "the values of the label column"}, {"vectors", s.Vectors, "label 0 is the first"}, {"texts", s.Text, "the values of their column, or the names of the folders"},
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
	switch {
	case s.Task() != Class && s.Table == "":
		return fmt.Errorf("data: %w: %s holds no labels or numbers to learn, expected a table, or classes", ErrInvalid, given[0])
	case s.Task() == Labels && (len(s.Classes) > 0 || len(s.Bounds) > 0 || s.Label != ""):
		return fmt.Errorf("data: %w: labels are declared, and classes, bounds or a label column too, expected labels alone", ErrInvalid)
	case s.Task() == Labels:
		return checkDistinct("label", s.Labels)
	case s.Task() == Number && (len(s.Bounds) != 2 || !(s.Bounds[0] < s.Bounds[1]) || len(s.Classes) > 0):
		return fmt.Errorf("data: %w: the bounds %v and %d classes declared, expected two bounds, the lower one first, and no classes", ErrInvalid, s.Bounds, len(s.Classes))
	case s.Task() == Number:
		return nil
	case len(s.Classes) < 2 || len(s.Classes) > maxClasses:
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

// missing returns an error that says where a named set was looked for, and two ways to provide it.
func missing(set, path string) error {
	given := ""
	if dir := filepath.Dir(filepath.Dir(path)); dir != filepath.Clean(DefaultDir()) {
		given = " --data-dir " + spelling.Argument(dir)
	}
	return fmt.Errorf("data: %w: %s is not at %s; run `train data fetch %s%s`, or name the folder that holds %s%c with --data-dir DIR or %s",
		ErrMissing, set, path, set, given, set, filepath.Separator, DirVariable)
}
