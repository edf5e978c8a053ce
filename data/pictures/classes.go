package pictures

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"dpsgd/internal/disk"

	"golang.org/x/text/unicode/norm"
)

// listClasses lists <folder>/<part>/<class>/. The class folders must be exactly the declared
// classes. Files in them whose extension is [Known] are pictures. Names that start with a dot are
// passed over, and so are a few other files, which are added to others. Pictures are in the order
// of the classes, then of the file names.
//
// Links are followed, wherever they lead: a folder may be a choice of the files of another one.
func (p Part) listClasses(others Others) (*Index, error) {
	where := filepath.Join(p.Folder, p.Name)
	entries, err := readDir(where, "expected train and test, each with a folder for each class, or train-….tar and test-….tar")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(where, e.Name())
		if mode, _ := follow(path, e); mode.IsDir() && !slices.Contains(p.Classes, e.Name()) {
			spelt := ""
			if !norm.NFC.IsNormalString(e.Name()) { // it looks like the class
				spelt = fmt.Sprintf(" (%+q)", e.Name())
			}
			return nil, fmt.Errorf("data: %w: folder %s%s is not one of the declared classes %s", ErrInvalid, path, spelt, Quoted(p.Classes))
		}
	}
	x, found := &Index{}, &files{}
	for label, class := range p.Classes {
		found.folders = append(found.folders, filepath.Join(where, class))
		if err := found.listClass(uint8(label), others); err != nil {
			return nil, err
		}
		x.labels = append(x.labels, slices.Repeat([]uint8{uint8(label)}, len(found.ends)-len(x.labels))...)
	}
	x.places, found.labels = found, x.labels
	if p.Names {
		x.names = make([]string, x.Len())
		for i := range x.names {
			x.names[i] = found.name(i)
		}
	}
	return x, nil
}

// files are pictures in a folder for each class. There may be millions, so all names are in one
// slice of bytes.
type files struct {
	folders []string // of the classes
	labels  []uint8
	names   []byte   // of all files, one after the other
	ends    []uint32 // where each ends
	sizes   []uint32 // of each file, in bytes, when it was listed
	changed []int64  // when each had last changed by then, in nanoseconds since 1970
}

// listClass adds the pictures of the folder of class label, which must hold at least one.
func (f *files) listClass(label uint8, others Others) error {
	folder, before := f.folders[label], len(f.ends)
	entries, err := readDir(folder, "expected one for each declared class")
	if err != nil {
		return err
	}
	passed := Others{}
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		mode, link := follow(path, e)
		switch known := Known(e.Name()); {
		case mode.IsDir():
			return fmt.Errorf("data: %w: %s lies inside a class and is %sa folder, expected pictures only", ErrInvalid, path, link)
		case !known:
			passed.Add(e.Name())
			continue
		case mode&fs.ModeSymlink != 0:
			return fmt.Errorf("data: %w: %s is a link to nothing, expected a picture or a link to one", ErrInvalid, path)
		case !mode.IsRegular():
			return fmt.Errorf("data: %w: %s is %s%s, expected a picture", ErrInvalid, path, link, disk.Kind(mode))
		}
		if err := f.add(path, e.Name()); err != nil {
			return err
		}
	}
	switch found := len(f.ends) - before; {
	case passed.TooMany(found):
		return fmt.Errorf("data: %w: folder %s holds %s that are not read, expected pictures: %s", ErrInvalid, folder, passed, Extensions())
	case found == 0:
		return fmt.Errorf("data: %w: folder %s holds no picture, expected %s", ErrMissing, folder, Extensions())
	}
	others.Join(passed)
	return nil
}

func (f *files) add(path, name string) error {
	info, err := os.Stat(path)
	if err == nil {
		err = checkSize(info.Size())
	}
	if err == nil && len(f.names)+len(name) > math.MaxUint32 {
		err = fmt.Errorf("the names of all pictures have more than %d bytes, expected shards for so many", math.MaxUint32)
	}
	if err != nil {
		return fmt.Errorf("data: %w: picture %s: %w", ErrInvalid, path, err)
	}
	f.names = append(f.names, name...)
	f.ends = append(f.ends, uint32(len(f.names)))
	f.sizes = append(f.sizes, uint32(info.Size()))
	f.changed = append(f.changed, info.ModTime().UnixNano())
	return nil
}

func (f *files) name(i int) string {
	start := uint32(0)
	if i > 0 {
		start = f.ends[i-1]
	}
	return string(f.names[start:f.ends[i]])
}

func (f *files) where(i int) string { return filepath.Join(f.folders[f.labels[i]], f.name(i)) }

func (f *files) read(buffer []byte, i int) ([]byte, error) {
	file, err := os.Open(f.where(i))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := (stamp{int64(f.sizes[i]), f.changed[i]}).check(file); err != nil {
		return nil, err
	}
	return readAt(file, buffer, 0, int(f.sizes[i]))
}
