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
	if len(spec.Classes) < 2 || len(spec.Classes) > maxClasses {
		return nil, fmt.Errorf("data: %w: %d classes declared, expected 2 to %d (label 0 is the first)", ErrInvalid, len(spec.Classes), maxClasses)
	}
	return splitOf(filepath.Base(filepath.Clean(spec.Vectors)), func(part int) (*Features, error) { return readVectors(spec, parts[part]) })
}

// countVectors returns how many vectors "train" or "test" of spec.Vectors has, after a look at the
// headers alone where the format has one that says so.
func countVectors(spec Spec, part string) (int, error) {
	p, err := openVectors(spec, part)
	if err != nil {
		return 0, wrongVectors(err)
	}
	defer p.Close()
	n, err := p.Count()
	if err != nil {
		return 0, wrongVectors(err)
	}
	return n, nil
}

// readVectors reads "train" or "test".
func readVectors(spec Spec, part string) (*Features, error) {
	p, err := openVectors(spec, part)
	if err != nil {
		return nil, wrongVectors(err)
	}
	defer p.Close()
	labels, halves, err := p.Read()
	if err != nil {
		return nil, wrongVectors(err)
	}
	return NewFeatures(spec.Width, spec.Classes, labels, halves)
}

func openVectors(spec Spec, part string) (*vectors.Part, error) {
	return vectors.Open(spec.Vectors, part, vectors.Declared{Width: spec.Width, Classes: spec.Classes, Label: spec.Label})
}

// wrongVectors adds what the errors of this package match.
func wrongVectors(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("data: %w: %w", ErrMissing, err)
	}
	return fmt.Errorf("data: %w: %w", ErrInvalid, err)
}
