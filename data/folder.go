package data

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/data/pictures"
	"dpsgd/internal/kernel"
)

// loadFolder reads the pictures of a folder, which package stored lists. They are decoded into memory,
// unless spec has not enough of it.
func loadFolder(spec Spec) (*Split, error) {
	shape := spec.Shape()
	if err := checkShape(shape); err != nil {
		return nil, err
	}
	if err := checkClasses(spec.Classes); err != nil {
		return nil, err
	}
	// Both parts are listed before a picture is decoded: mistakes show at once.
	var listed [2]*pictures.Index
	others := pictures.Others{}
	for i, part := range parts {
		var err error
		if listed[i], err = pictures.List(spec.part(part), others); err != nil {
			return nil, err
		}
	}
	read := func(part int) (Set, error) { return readPictures(listed[part], shape, spec.Classes) }
	share := spec.share(listed, shape)
	if share < 1 {
		read = func(part int) (Set, error) {
			bytes := share * float64(listed[part].Len()) * float64(shape.Bytes())
			return newStored(pictures.NewCache(listed[part], pictures.Size(shape), int64(bytes)), shape, spec.Classes)
		}
	}
	split, err := splitOf(filepath.Base(filepath.Clean(spec.Folder)), read)
	if err != nil {
		return nil, err
	}
	var warnings []string
	if others.Len() > 0 {
		warnings = append(warnings, fmt.Sprintf("data: found %s in %s beside the pictures, passed over; read are %s", others, spec.Folder, pictures.Extensions()))
	}
	if share < 1 {
		warnings = append(warnings, fmt.Sprintf("data: %.0f %% of the pictures stay in memory, the others are decoded whenever they are needed", 100*share))
	}
	split.Warning = strings.Join(warnings, "; ")
	return split, nil
}

func (s Spec) part(name string) pictures.Part {
	return pictures.Part{Folder: s.Folder, Name: name, Classes: s.Classes}
}

// share is the share of all pictures that the memory for them holds.
func (s Spec) share(listed [2]*pictures.Index, shape Shape) float64 {
	if s.Memory == nil {
		return 1
	}
	all := float64(listed[0].Len()+listed[1].Len()) * float64(shape.Bytes())
	return float64(s.Memory(listed[0].Len(), listed[1].Len())) / all
}

// countPictures returns how many pictures the part "train" or "test" of a folder has, without reading
// one.
func countPictures(spec Spec, part string) (int, error) {
	found, err := pictures.List(spec.part(part), pictures.Others{})
	if err != nil {
		return 0, err
	}
	return found.Len(), nil
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

// readPictures decodes, resizes and stores pictures on all processors. The error names the first
// picture, in their order, that cannot be read.
func readPictures(files *pictures.Index, shape Shape, classes []string) (*Images, error) {
	total, err := product(files.Len(), shape.Values())
	if err != nil {
		return nil, fmt.Errorf("data: pictures: %w", err)
	}
	pixels, size := make([]uint8, total), shape.Values()
	err = kernel.Each(files.Len(), func(i int) error {
		return files.Read(pixels[i*size:(i+1)*size], i, pictures.Size(shape))
	})
	if err != nil {
		return nil, err
	}
	return NewImages(shape, classes, files.Labels(), pixels)
}

// newStored makes a set of pictures that stay where they are.
func newStored(cache *pictures.Cache, shape Shape, classes []string) (*Stored, error) {
	files := cache.Index()
	total, err := product(files.Len(), shape.Values())
	if err != nil {
		return nil, fmt.Errorf("data: pictures: %w", err)
	}
	l, err := newLabelled(shape, classes, files.Labels(), total)
	return &Stored{labelled: l, cache: cache}, err
}
