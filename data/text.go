package data

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/data/vectors"
	"dpsgd/internal/strictjson"
)

// loadText reads texts and their classes from <text>/train.csv, train.jsonl or train.parquet, or from
// the files <text>/train/<class>/*.txt, and the same of test. Errors name the place of a mistake and never
// what stands there.
func loadText(spec Spec) (*Split, error) {
	tokenizer, err := spec.Tokens()
	if err != nil {
		return nil, err
	}
	return splitOf(filepath.Base(filepath.Clean(spec.Text)), func(part int) (*Texts, error) {
		var labels []uint8
		var texts []string
		_, err := eachText(spec, parts[part], func(text string, label uint8) {
			labels, texts = append(labels, label), append(texts, strings.Clone(text))
		})
		if err != nil {
			return nil, err
		}
		return NewTexts(tokenizer, spec.Length, spec.Classes, labels, texts)
	})
}

// textFiles lists how texts may lie in a folder, and what reads them.
var textFiles = []struct {
	ending string
	read   func(s Spec, path string, visit func(text string, label uint8)) (int, error)
}{{".csv", eachTextOfTable}, {".jsonl", eachTextOfLines}, {".parquet", eachTextOfParquet}, {"", eachTextOfFolder}}

// eachText calls visit with every text of part, "train" or "test", and its class, and returns their
// number.
func eachText(spec Spec, part string, visit func(text string, label uint8)) (int, error) {
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
		if err != nil && !errors.Is(err, ErrMissing) && !errors.Is(err, ErrInvalid) {
			err = fmt.Errorf("data: %w: %w", ErrInvalid, err)
		}
		return n, err
	}
	return 0, fmt.Errorf("data: %w: found both %s%s and %s%s, expected one of them", ErrInvalid, path, textFiles[found[0]].ending, path, textFiles[found[1]].ending)
}

// twoColumns returns the places of text and class among names: those that are declared, or else,
// where there are two names, the first and the second. find returns the place of a name.
func (s Spec) twoColumns(names []string, find func(string) (int, error)) (text, label int, err error) {
	if len(names) != 2 && (s.Column == "" || s.Label == "") {
		return 0, 0, fmt.Errorf("found %d columns, expected two, or data.column and data.label with the names of text and class", len(names))
	}
	text, label = 0, 1
	if s.Column != "" {
		if text, err = find(s.Column); err != nil {
			return 0, 0, err
		}
		label = 1 - text
	}
	if s.Label != "" {
		if label, err = find(s.Label); err != nil {
			return 0, 0, err
		}
		if s.Column == "" {
			text = 1 - label
		}
	}
	if text == label {
		return 0, 0, errors.New("found one column for text and class, expected two")
	}
	return text, label, nil
}

func (s Spec) declared() vectors.Declared { return vectors.Declared{Classes: s.Classes} }

func eachTextOfTable(s Spec, path string, visit func(string, uint8)) (int, error) {
	file, err := openFile(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	r, err := vectors.NewRecordReader(path, file)
	if err != nil {
		return 0, err
	}
	text, label, err := s.twoColumns(r.Header, r.Find)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return r.Each(func(record []string) error {
		class, known := s.declared().Class(record[label])
		if !known {
			return r.Wrong(label, "found a label that has no class", s.declared().Names())
		}
		visit(record[text], class)
		return nil
	})
}

// maxText is how long a text, or a line with one, may be in bytes.
const maxText = 1 << 20

func eachTextOfLines(s Spec, path string, visit func(string, uint8)) (n int, err error) {
	file, err := openFile(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	err = eachLine(path, file, func(line []byte) (err error) {
		if n++; n == 1 && (s.Column == "" || s.Label == "") {
			if s, err = s.namedBy(line); err != nil {
				return err
			}
		}
		text, label, err := s.textOfLine(line)
		if err == nil {
			visit(text, label)
		}
		return err
	})
	return n, err
}

// namedBy returns s with the names of text and class by the keys of the first line.
func (s Spec) namedBy(line []byte) (Spec, error) {
	object, err := readObject(line)
	if err != nil {
		return s, err
	}
	var names []string
	for _, f := range object {
		names = append(names, f.Key)
	}
	text, label, err := s.twoColumns(names, func(name string) (int, error) {
		return placeOf("key", name, names)
	})
	if err == nil {
		s.Column, s.Label = names[text], names[label]
	}
	return s, err
}

// placeOf returns the place of a name, of a column or key, among others.
func placeOf(what, name string, names []string) (int, error) {
	at := slices.Index(names, name)
	if at < 0 {
		return 0, fmt.Errorf("found no %s %q, expected it among the %d", what, name, len(names))
	}
	return at, nil
}

func eachTextOfParquet(s Spec, path string, visit func(string, uint8)) (int, error) {
	file, err := openFile(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	t, err := vectors.OpenParquetTexts(file)
	if err != nil {
		return 0, err
	}
	text, label, err := s.twoColumns(t.Header, func(name string) (int, error) { return placeOf("column", name, t.Header) })
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return t.Each(text, label, s.declared(), func(text string, class uint8) error { visit(text, class); return nil })
}

var errNoObject = errors.New("found no JSON object with keys that differ, expected one in each line")

// readObject returns the JSON object of a line, whose keys all differ.
func readObject(line []byte) (strictjson.Object, error) {
	object, err := strictjson.Read(line)
	if err != nil || object.Distinct() != nil {
		return nil, errNoObject
	}
	return object, nil
}

// textOfLine returns text and class of a JSON object: a text, and a text or a whole number.
func (s Spec) textOfLine(line []byte) (text string, label uint8, err error) {
	object, err := readObject(line)
	if err != nil {
		return "", 0, err
	}
	if json.Unmarshal(object.Get(s.Column), &text) != nil {
		return "", 0, fmt.Errorf("found no text under the key %q, expected one", s.Column)
	}
	var class string
	value := object.Get(s.Label)
	if json.Unmarshal(value, &class) != nil {
		class = string(value)
	}
	label, known := s.declared().Class(class)
	if !known {
		return "", 0, fmt.Errorf("found a label that has no class under the key %q, expected %s", s.Label, s.declared().Names())
	}
	return text, label, nil
}

func eachTextOfFolder(s Spec, path string, visit func(string, uint8)) (n int, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if _, known := s.declared().Class(e.Name()); !known && !strings.HasPrefix(e.Name(), ".") {
			return 0, fmt.Errorf("%s is not one of the declared classes %q", filepath.Join(path, e.Name()), s.Classes)
		}
	}
	for label, class := range s.Classes {
		files, err := os.ReadDir(filepath.Join(path, class))
		if err != nil {
			return 0, fmt.Errorf("%w; expected a folder for each class", err)
		}
		for _, e := range files {
			if strings.HasPrefix(e.Name(), ".") {
				continue
			}
			text, err := readText(filepath.Join(path, class, e.Name()))
			if err != nil {
				return 0, err
			}
			visit(text, uint8(label))
			n++
		}
	}
	return n, nil
}

// readText reads a file with one text, whose name ends in .txt.
func readText(path string) (string, error) {
	if !strings.EqualFold(filepath.Ext(path), ".txt") {
		return "", fmt.Errorf("found %s, expected files .txt alone", path)
	}
	file, err := openFile(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.Size() > maxText {
		return "", fmt.Errorf("%s is longer than %d bytes, expected at most so many (%v)", path, maxText, err)
	}
	content, err := os.ReadFile(path)
	return string(content), err
}
