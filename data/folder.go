package data

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// loadFolder reads <folder>/train/<class>/ and <folder>/test/<class>/. The class folders must be
// exactly the declared classes. In each, files with the extension .png, .jpg or .jpeg (in any case)
// are pictures; names that start with a dot and other extensions are passed over. The order is that
// of the classes, then of the file names, so it does not depend on the machine.
//
// Links are followed inside the folder and refused when they lead out of it.
func loadFolder(spec Spec) (*Split, error) {
	shape := Shape{spec.Height, spec.Width, spec.Channels}
	if err := checkShape(shape); err != nil {
		return nil, err
	}
	if err := checkClasses(spec.Classes); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(spec.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("data: %w: there is no folder %s", ErrMissing, spec.Folder)
	}
	if err != nil {
		return nil, fmt.Errorf("data: folder of pictures: %w", err)
	}
	defer root.Close()
	// Both parts are listed before a picture is decoded: mistakes show at once.
	var listed [2][]picture
	for i, part := range parts {
		if listed[i], err = listPart(root, part, spec.Classes); err != nil {
			return nil, err
		}
	}
	return splitOf(filepath.Base(filepath.Clean(spec.Folder)), func(part int) (*Images, error) {
		return readPictures(root, listed[part], shape, spec.Classes)
	})
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
	path  string // inside the folder, with slashes
	label uint8
}

// listPart lists the pictures of "train" or "test".
func listPart(root *os.Root, part string, classes []string) ([]picture, error) {
	where := filepath.Join(root.Name(), part)
	entries, err := readDir(root, part)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("data: %w: there is no folder %s (expected train and test, each with a folder for each class)", ErrMissing, where)
	}
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", where, err)
	}
	for _, e := range entries {
		if e.IsDir() && !slices.Contains(classes, e.Name()) {
			return nil, fmt.Errorf("data: %w: folder %s is not one of the declared classes %s", ErrInvalid, filepath.Join(where, e.Name()), quoted(classes))
		}
	}
	var pictures []picture
	for label, class := range classes {
		found, err := listClass(root, path.Join(part, class), uint8(label))
		if err != nil {
			return nil, err
		}
		pictures = append(pictures, found...)
	}
	return pictures, nil
}

// listClass lists the pictures of one class folder; there must be one at least.
func listClass(root *os.Root, folder string, label uint8) ([]picture, error) {
	where := filepath.Join(root.Name(), filepath.FromSlash(folder))
	entries, err := readDir(root, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("data: %w: there is no folder %s for the declared class", ErrMissing, where)
	}
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", where, err)
	}
	var pictures []picture
	for _, e := range entries {
		if e.IsDir() {
			return nil, fmt.Errorf("data: %w: folder %s lies inside a class, expected pictures only", ErrInvalid, filepath.Join(where, e.Name()))
		}
		if !slices.Contains([]string{".png", ".jpg", ".jpeg"}, strings.ToLower(path.Ext(e.Name()))) {
			continue
		}
		if !e.Mode().IsRegular() {
			return nil, fmt.Errorf("data: %w: %s is %s, expected a picture", ErrInvalid, filepath.Join(where, e.Name()), kind(e.Mode()))
		}
		pictures = append(pictures, picture{path: path.Join(folder, e.Name()), label: label})
	}
	if len(pictures) == 0 {
		return nil, fmt.Errorf("data: %w: folder %s holds no .png, .jpg or .jpeg file", ErrMissing, where)
	}
	return pictures, nil
}

// readDir lists a folder in byte order of the names, without hidden entries. Links are described as
// what they point to.
func readDir(root *os.Root, folder string) ([]fs.FileInfo, error) {
	f, err := root.Open(folder)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	found, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	entries := make([]fs.FileInfo, 0, len(found))
	for _, e := range found {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		// Stat through the root follows links and refuses those that lead out.
		info, err := root.Stat(path.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		entries = append(entries, info)
	}
	slices.SortFunc(entries, func(a, b fs.FileInfo) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

func quoted(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(q, ", ")
}
