package data

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/data/pictures"
)

// Dataset declares a data set that has a name: all that the program says about it
// and does with it, from the choice in a configuration to the download.
type Dataset struct {
	Name    string   // also the name of its folder
	Doc     string   // a few words that complete a list, such as "28x28 grey digits"
	Aliases []string // names that people try, to suggest Name; they are not accepted
	Drawn   bool     // whether the program draws the examples, from a public seed: they are nobody's

	// What the set holds, as its authors publish it. Loading anything else is an error, so
	// everything but the examples themselves is known before they are read.
	Shape       Shape
	Classes     []string
	Train, Test int // numbers of examples

	// Words lists the words of a set of texts: the token of each is its place, from 1.
	Words []string

	// Load reads the set from its own folder. seed is public. Only sets that are drawn use it.
	Load func(set *Dataset, folder string, seed uint64) (*Split, error)

	// Verified lists the unpacked files whose checksums Load verifies and from which it makes all
	// examples. It is empty if Load draws the examples or verifies nothing.
	Verified []File

	// Files lists the files to download into the folder, from the first of Mirrors that has them;
	// none when there is nothing to fetch.
	Files   []File
	Mirrors []string
	// Unpack, when not nil, verifies what a downloaded archive holds and unpacks it into the
	// folder. It replaces the checksum of an archive that has none in Files.
	Unpack func(set *Dataset, archive string, folder *os.Root) error
}

// File is a file of known size and content. Checksums of the published
// sets agree with the md5 or sha1 that the authors and independent loaders
// publish; the SHA-256 were taken from files that match those.
type File struct {
	Name   string
	Size   int64  // bytes
	SHA256 string // in hexadecimal
}

// datasets is the one list of data sets that have a name; the one that needs no files comes first.
var datasets = []*Dataset{&drawnDigits, &mnist, &fashionMNIST, &cifar10, &cifar100, &drawnSentences}

// Register adds a named data set, which configurations, commands and messages then know. Call
// Register at the start of a program: nothing else of this package may run at the same time.
func Register(d Dataset) error {
	switch {
	case !filepath.IsLocal(d.Name) || strings.ContainsAny(d.Name, `/\ ,:`) || strings.HasPrefix(d.Name, "."):
		return fmt.Errorf("data: a set has the name %q, expected one that can be the name of a folder", d.Name)
	case Find(d.Name) != nil:
		return fmt.Errorf("data: the set %s is registered twice", d.Name)
	case d.Load == nil || d.Doc == "":
		return fmt.Errorf("data: the set %s has no function to load it or no documentation, expected both", d.Name)
	case d.Shape.Values() < 1 || d.Train < 1 || d.Test < 1 || len(d.Classes) < 2 || len(d.Classes) > maxClasses:
		return fmt.Errorf("data: the set %s has %d training and %d test examples of %v in %d classes, expected at least one of each, and 2 to %d classes",
			d.Name, d.Train, d.Test, d.Shape, len(d.Classes), maxClasses)
	}
	datasets = append(datasets, &d)
	return nil
}

// Datasets returns the data sets that have a name, the one that needs no files
// first. The caller must not change them.
func Datasets() []*Dataset { return slices.Clone(datasets) }

// Names returns the names of [Datasets].
func Names() []string { return namesOf(datasets) }

// Fetchable returns the names of the data sets that [Fetch] can download.
func Fetchable() []string {
	return namesOf(slices.DeleteFunc(Datasets(), func(d *Dataset) bool { return len(d.Files) == 0 }))
}

func namesOf(sets []*Dataset) []string {
	names := make([]string, len(sets))
	for i, d := range sets {
		names[i] = d.Name
	}
	return names
}

// Find returns the data set with this name, or nil.
func Find(name string) *Dataset {
	for _, d := range datasets {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// Identity returns a text that no set with other examples has. It is made of the checksums in
// Verified, so no file is read for it. It is "" if Load verifies none.
func (d *Dataset) Identity() string {
	if len(d.Verified) == 0 {
		return ""
	}
	identity := fmt.Sprintf("%s %v %q", d.Name, d.Shape, d.Classes)
	for _, f := range d.Verified {
		identity += " " + f.SHA256
	}
	return identity
}

// load reads the set from its folder in dir. It refuses one that differs from its declaration.
func (d *Dataset) load(dir string, seed uint64) (*Split, error) {
	s, err := d.Load(d, filepath.Join(dir, d.Name), seed)
	if err != nil {
		return nil, err
	}
	s.Name, s.identity, s.verified = d.Name, d.Identity(), [2]Set{s.Train, s.Test}
	for _, part := range []struct {
		name string
		set  Set
		want int
	}{{"training", s.Train, d.Train}, {"test", s.Test, d.Test}} {
		if part.set.Len() != part.want || part.set.Shape() != d.Shape || !slices.Equal(part.set.Classes(), d.Classes) {
			return nil, fmt.Errorf("data: %w: %s holds %d %s examples of %v in the classes %s, expected %d of %v in %s", ErrInvalid,
				d.Name, part.set.Len(), part.name, part.set.Shape(), pictures.Quoted(part.set.Classes()), part.want, d.Shape, pictures.Quoted(d.Classes))
		}
	}
	return s, nil
}
