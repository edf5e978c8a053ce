package data

import (
	"fmt"
	"path/filepath"
	"strings"

	"dpsgd/data/pictures"
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
