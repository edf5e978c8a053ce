package data

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"dpsgd/data/vectors"
)

// loadVectors reads the vectors in <vectors>/train.* and <vectors>/test.*, one for each example,
// scaled to length 1. Row i depends on vector i alone.
func loadVectors(spec Spec) (*Split, error) {
	if spec.Width < 1 || spec.Width > MaxFeatures {
		return nil, fmt.Errorf("data: %w: vectors of width %d declared, expected 1 to %d", ErrInvalid, spec.Width, MaxFeatures)
	}
	return splitOf(filepath.Base(filepath.Clean(spec.Vectors)), func(part int) (*Features, error) {
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
