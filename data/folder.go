package data

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"dpsgd/data/pictures"
	"dpsgd/data/vectors"
	"dpsgd/internal/kernel"
)

// loadFolder reads the pictures of a folder, which package pictures lists. They are decoded into
// memory or, if spec.Memory allows less than all of them, whenever they are needed.
func loadFolder(spec Spec) (*Split, error) {
	shape := spec.Shape()
	if err := checkShape(shape); err != nil {
		return nil, err
	}
	for _, c := range spec.Classes {
		if !filepath.IsLocal(c) || strings.ContainsAny(c, `/\`) || strings.HasPrefix(c, ".") {
			return nil, fmt.Errorf("data: %w: class %q cannot be the name of a folder", ErrInvalid, c)
		}
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
	share := 1.0 // of all pictures, for which there is memory
	if spec.Memory != nil {
		train, test := listed[0].Len(), listed[1].Len()
		share = float64(spec.Memory(train, test)) / (float64(train+test) * float64(shape.Bytes()))
	}
	if share < 1 {
		read = func(part int) (Set, error) {
			files := listed[part]
			l, err := newLabelled(shape, spec.Classes, files.Labels(), files.Len()*shape.Values())
			bytes := share * float64(files.Len()) * float64(shape.Bytes())
			return &Stored{labelled: l, cache: pictures.NewCache(files, pictures.Size(shape), int64(bytes))}, err
		}
	}
	split, err := splitOf(spec.OwnName(), read)
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

// readPictures returns the pictures, decoded into memory and resized on all processors. The error
// names the first picture, in their order, that cannot be read.
func readPictures(files *pictures.Index, shape Shape, classes []string) (*Images, error) {
	size := shape.Values()
	pixels := make([]uint8, files.Len()*size)
	err := kernel.Each(files.Len(), func(i int) error {
		return files.Read(pixels[i*size:(i+1)*size], i, pictures.Size(shape))
	})
	if err != nil {
		return nil, err
	}
	return NewImages(shape, classes, files.Labels(), pixels)
}

// loadVectors reads the vectors in <vectors>/train.* and <vectors>/test.*, one for each example,
// scaled to length 1. Row i depends on vector i alone.
func loadVectors(spec Spec) (*Split, error) {
	if spec.Width < 1 || spec.Width > MaxFeatures {
		return nil, fmt.Errorf("data: %w: vectors of width %d declared, expected 1 to %d", ErrInvalid, spec.Width, MaxFeatures)
	}
	return splitOf(spec.OwnName(), func(part int) (*Features, error) {
		var labels []uint8
		var halves []uint16
		err := useVectors(spec, parts[part], func(p *vectors.Part) (err error) { labels, halves, err = p.Read(); return err })
		if err != nil {
			return nil, err
		}
		return NewFeatures(spec.Width, spec.Classes, labels, halves)
	})
}

// useVectors opens the part "train" or "test" of spec.Vectors, calls use with it and closes it.
func useVectors(spec Spec, part string, use func(*vectors.Part) error) error {
	p, err := vectors.Open(spec.Vectors, part, vectors.Declared{Width: spec.Width, Classes: spec.Classes, Label: spec.Label})
	if err == nil {
		defer p.Close()
		err = use(p)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("data: %w: %w", ErrMissing, err)
	case err != nil:
		return fmt.Errorf("data: %w: %w", ErrInvalid, err)
	}
	return nil
}
