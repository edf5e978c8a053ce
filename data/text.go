package data

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dpsgd/data/vectors"
)

// loadText reads texts and their classes from <text>/train.csv, train.jsonl or train.parquet, or from
// the files <text>/train/<class>/*.txt, and the same of test. Errors name the place of a mistake and never
// what stands there.
func loadText(spec Spec) (*Split, error) {
	tokenizer, err := spec.Tokens()
	if err != nil {
		return nil, err
	}
	return splitOf(spec.OwnName(), func(part int) (*Texts, error) {
		var labels []uint8
		var texts []string
		_, err := eachText(spec, parts[part], func(text string, label uint8) error {
			labels, texts = append(labels, label), append(texts, text)
			return nil
		})
		if err != nil {
			return nil, err
		}
		return NewTexts(tokenizer, spec.Length, spec.Classes, labels, texts)
	})
}

// textReader reads the texts of a file or folder, and calls visit with each and its class: 0 where
// spec declares no classes. It returns their number, and ends with an error of visit.
type textReader func(spec Spec, path string, visit func(text string, label uint8) error) (int, error)

// textFiles lists how texts may lie in a folder, and what reads them.
var textFiles = []struct {
	ending string
	read   textReader
}{{".csv", eachTextOfTable}, {".jsonl", eachTextOfLines}, {".parquet", eachTextOfParquet}, {"", eachTextOfFolder}}

// eachText calls visit with each text of part, "train" or "test", and its class, and counts them.
func eachText(spec Spec, part string, visit func(text string, label uint8) error) (int, error) {
	var found []int
	for i, f := range textFiles {
		if _, err := os.Stat(filepath.Join(spec.Text, part+f.ending)); !errors.Is(err, fs.ErrNotExist) {
			found = append(found, i)
		}
	}
	path := filepath.Join(spec.Text, part)
	switch len(found) {
	case 0:
		return 0, fmt.Errorf("data: %w: there is none of %s.csv, %s.jsonl, %s.parquet and the folder %s", ErrMissing, path, path, path, path)
	case 1:
		f := textFiles[found[0]]
		n, err := f.read(spec, path+f.ending, visit)
		if err == nil && n == 0 {
			err = fmt.Errorf("%s holds no text, expected at least one", path+f.ending)
		}
		return n, invalid(err)
	}
	return 0, fmt.Errorf("data: %w: found both %s%s and %s%s, expected one of them", ErrInvalid, path, textFiles[found[0]].ending, path, textFiles[found[1]].ending)
}

// invalid marks an error that says what is wrong with a file.
func invalid(err error) error {
	if err == nil || errors.Is(err, ErrMissing) || errors.Is(err, ErrInvalid) {
		return err
	}
	return fmt.Errorf("data: %w: %w", ErrInvalid, err)
}

// ReadTexts calls visit with the texts of a file, whose classes may be missing: the text of every
// record of a .csv or .parquet file or of every object of a .jsonl file, by the declared column or key
// or else the first one that is not that of the classes, and every line of any other file. It ends
// with an error of visit.
func ReadTexts(s Spec, path string, visit func(text string) error) error {
	s.Classes = nil
	read := textReader(eachLineOfFile)
	for _, f := range textFiles {
		if f.ending != "" && strings.EqualFold(filepath.Ext(path), f.ending) {
			read = f.read
		}
	}
	_, err := read(s, path, func(text string, _ uint8) error { return visit(text) })
	return invalid(err)
}

// textColumns returns the places of text and class among names of columns or keys, as what says:
// the declared ones, or of two the first and the second. Where no classes are declared, label is -1.
func (s Spec) textColumns(names []string, what string) (text, label int, err error) {
	places := []int{-1, -1}
	for i, name := range []string{s.Column, s.Label} {
		if name == "" || i == 1 && len(s.Classes) == 0 {
			continue
		}
		if places[i], err = vectors.PlaceOf("", what, name, names, "names"); err != nil {
			return 0, 0, err
		}
	}
	switch text, label = places[0], places[1]; {
	case len(s.Classes) == 0 && text < 0 && len(names) == 2 && names[0] == s.Label:
		return 1, -1, nil
	case len(s.Classes) == 0 && (text >= 0 || len(names) < 3):
		return max(text, 0), -1, nil
	case len(names) != 2 && min(text, label) < 0:
		return 0, 0, fmt.Errorf("found %d columns, expected two, or data.column and data.label with the names of text and class", len(names))
	case text < 0 && label < 0:
		return 0, 1, nil
	case text < 0:
		return 1 - label, label, nil
	case label < 0:
		return text, 1 - text, nil
	case text == label:
		return 0, 0, errors.New("found one column for text and class, expected two")
	}
	return text, label, nil
}
