package data

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"dpsgd/data/vectors"
)

// ReadTexts calls visit with the texts of a file, whose classes may be missing: the text of every
// record of a .csv or .parquet file or of every object of a .jsonl file, by the declared column or key
// or else the first one, and every line of any other file. It ends with an error of visit.
func ReadTexts(s Spec, path string, visit func(text string) error) error {
	file, err := openFile(path)
	if err != nil {
		return err
	}
	defer file.Close()
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv":
		err = readTextTable(s, path, file, visit)
	case ".parquet":
		err = readTextParquet(s, file, visit)
	case ".jsonl":
		err = eachLine(path, file, func(line []byte) error { return s.visitLine(line, visit) })
	default:
		err = eachLine(path, file, func(line []byte) error { return visit(string(line)) })
	}
	if err != nil {
		err = fmt.Errorf("data: %w: %w", ErrInvalid, err)
	}
	return err
}

func readTextTable(s Spec, path string, file io.Reader, visit func(string) error) error {
	r, err := vectors.NewRecordReader(path, file)
	if err != nil {
		return err
	}
	text, err := s.textColumn(r.Header, r.Find)
	if err != nil {
		return err
	}
	_, err = r.Each(func(record []string) error { return visit(strings.Clone(record[text])) })
	return err
}

func readTextParquet(s Spec, file *os.File, visit func(string) error) error {
	t, err := vectors.OpenParquetTexts(file)
	if err != nil {
		return err
	}
	text, err := s.textColumn(t.Header, func(name string) (int, error) { return placeOf("column", name, t.Header) })
	if err != nil {
		return err
	}
	_, err = t.Each(text, -1, s.declared(), func(text string, _ uint8) error { return visit(text) })
	return err
}

// textColumn returns the place of the text among columns, of which that of the class may be missing:
// the declared one, or as twoColumns finds it, or the first.
func (s Spec) textColumn(names []string, find func(string) (int, error)) (text int, err error) {
	if s.Column != "" {
		return find(s.Column)
	}
	if len(names) == 2 {
		text, _, err = s.twoColumns(names, find)
	}
	return text, err
}

// visitLine calls visit with the text of a JSON object.
func (s Spec) visitLine(line []byte, visit func(string) error) error {
	object, err := readObject(line)
	if err != nil || len(object) == 0 {
		return errNoObject
	}
	key := object[0].Key
	if s.Column != "" {
		key = s.Column
	} else if key == s.Label && len(object) > 1 {
		key = object[1].Key
	}
	var text string
	if json.Unmarshal(object.Get(key), &text) != nil {
		return fmt.Errorf("found no text under the key %q, expected one", key)
	}
	return visit(text)
}

// eachLine calls visit with every line that is not empty. Its errors name the line.
func eachLine(path string, file io.Reader, visit func(line []byte) error) error {
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxText)
	n := 1
	for ; lines.Scan(); n++ {
		if len(strings.TrimSpace(lines.Text())) == 0 {
			continue
		}
		if err := visit(lines.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("%s:%d: found a line of more than %d bytes, expected at most so many", path, n, maxText)
	}
	return lines.Err()
}
