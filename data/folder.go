package data

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/data/pictures"
)

// loadFolder reads <folder>/train/<class>/ and <folder>/test/<class>/. The class folders must be
// exactly the declared classes. In each, files that package pictures knows by their extension are
// pictures. Names that start with a dot are passed over, and so are a few other files, with a
// warning. The order is that of the classes, then of the file names, so it does not depend on the
// machine.
//
// Links are followed, wherever they lead: a folder may be a choice of the files of another one.
func loadFolder(spec Spec) (*Split, error) {
	shape := Shape{spec.Height, spec.Width, spec.Channels}
	if err := checkShape(shape); err != nil {
		return nil, err
	}
	if err := checkClasses(spec.Classes); err != nil {
		return nil, err
	}
	// Both parts are listed before a picture is decoded: mistakes show at once.
	var listed [2][]picture
	others := pictures.Others{}
	for i, part := range parts {
		var err error
		if listed[i], err = listPart(spec, part, others); err != nil {
			return nil, err
		}
	}
	split, err := splitOf(filepath.Base(filepath.Clean(spec.Folder)), func(part int) (*Images, error) {
		return readPictures(listed[part], shape, spec.Classes)
	})
	if err == nil && others.Len() > 0 {
		split.Warning = fmt.Sprintf("data: found %s in %s beside the pictures, passed over; read are %s", others, spec.Folder, pictures.Extensions())
	}
	return split, err
}

// CountPictures returns how many pictures the part "train" or "test" of a folder has, by the names of
// the files alone.
func CountPictures(spec Spec, part string) (int, error) {
	found, err := listPart(spec, part, pictures.Others{})
	return len(found), err
}

// checkClasses makes sure that each class can be the name of one folder.
func checkClasses(classes []string) error {
	if len(classes) < 2 || len(classes) > maxClasses {
		return fmt.Errorf("data: %w: %d classes declared, expected 2 to %d (the names of the folders in train/ and test/)", ErrInvalid, len(classes), maxClasses)
	}
	for i, c := range classes {
		if !filepath.IsLocal(c) || strings.ContainsAny(c, `/\`) || strings.HasPrefix(c, ".") {
			return fmt.Errorf("data: %w: class %q cannot be the name of a folder", ErrInvalid, c)
		}
		if slices.Contains(classes[:i], c) {
			return fmt.Errorf("data: %w: class %q is declared twice", ErrInvalid, c)
		}
	}
	return nil
}

// picture is a file of the folder and its class.
type picture struct {
	path  string
	label uint8
}

// readPictures decodes, resizes and stores pictures on all processors. The error
// names the first picture, in their order, that cannot be read.
func readPictures(files []picture, shape Shape, classes []string) (*Images, error) {
	total, err := product(len(files), shape.Values())
	if err != nil {
		return nil, fmt.Errorf("data: pictures: %w", err)
	}
	labels, pixels := make([]uint8, len(files)), make([]uint8, total)
	size := shape.Values()
	err = parallel(len(files), func(i int) error {
		labels[i] = files[i].label
		if err := pictures.Read(files[i].path, pictures.Size(shape), pixels[i*size:(i+1)*size]); err != nil {
			return fmt.Errorf("data: %w: picture %s: %w", ErrInvalid, files[i].path, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return NewImages(shape, classes, labels, pixels)
}

// listPart lists the pictures of "train" or "test", and adds up the other files that it passes over.
func listPart(spec Spec, part string, others pictures.Others) ([]picture, error) {
	where := filepath.Join(spec.Folder, part)
	if _, err := readDir(spec.Folder, "expected a folder with train and test"); err != nil {
		return nil, err
	}
	entries, err := readDir(where, "expected train and test, each with a folder for each class")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(where, e.Name())
		if mode, _ := follow(path, e); mode.IsDir() && !slices.Contains(spec.Classes, e.Name()) {
			return nil, fmt.Errorf("data: %w: folder %s is not one of the declared classes %s", ErrInvalid, path, quoted(spec.Classes))
		}
	}
	var all []picture
	for label, class := range spec.Classes {
		found, err := listClass(filepath.Join(where, class), uint8(label), others)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// listClass lists the pictures of one class folder; there must be one at least.
func listClass(folder string, label uint8, others pictures.Others) ([]picture, error) {
	entries, err := readDir(folder, "expected one for each declared class")
	if err != nil {
		return nil, err
	}
	var found []picture
	passed := pictures.Others{}
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		mode, link := follow(path, e)
		switch known := pictures.Known(e.Name()); {
		case mode.IsDir():
			return nil, fmt.Errorf("data: %w: %s lies inside a class and is %sa folder, expected pictures only", ErrInvalid, path, link)
		case !known:
			passed.Add(e.Name())
			continue
		case mode&fs.ModeSymlink != 0:
			return nil, fmt.Errorf("data: %w: %s is a link to nothing, expected a picture or a link to one", ErrInvalid, path)
		case !mode.IsRegular():
			return nil, fmt.Errorf("data: %w: %s is %s%s, expected a picture", ErrInvalid, path, link, kind(mode))
		}
		found = append(found, picture{path, label})
	}
	switch {
	case passed.TooMany(len(found)):
		return nil, fmt.Errorf("data: %w: folder %s holds %s that are not read, expected pictures: %s", ErrInvalid, folder, passed, pictures.Extensions())
	case len(found) == 0:
		return nil, fmt.Errorf("data: %w: folder %s holds no picture, expected %s", ErrMissing, folder, pictures.Extensions())
	}
	others.Join(passed)
	return found, nil
}

// follow returns what an entry is, or what the link that it is leads to; a link to nothing stays a
// link. The text tells of the link in messages.
func follow(path string, e fs.DirEntry) (mode fs.FileMode, link string) {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.Type(), ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return e.Type(), ""
	}
	return info.Mode(), "a link to "
}

// readDir lists a folder in byte order of the names, without hidden entries.
func readDir(folder, expected string) ([]fs.DirEntry, error) {
	switch info, err := os.Stat(folder); {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(folder); err == nil {
			return nil, fmt.Errorf("data: %w: %s is a link to nothing (%s)", ErrMissing, folder, expected)
		}
		return nil, fmt.Errorf("data: %w: there is no folder %s (%s)", ErrMissing, folder, expected)
	case err == nil && !info.IsDir():
		return nil, fmt.Errorf("data: %w: %s is no folder (%s)", ErrInvalid, folder, expected)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("data: %w: %w", ErrMissing, err)
	}
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") }), nil
}

func quoted(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(q, ", ")
}
