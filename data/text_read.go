package data

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/data/vectors"
	"dpsgd/internal/strictjson"
)

func (s Spec) declared() vectors.Declared { return vectors.Declared{Classes: s.Classes} }

// classOf returns the class of a name; 0 where no classes are declared.
func (s Spec) classOf(name string) (class uint8, known bool) {
	if len(s.Classes) == 0 {
		return 0, true
	}
	return s.declared().Class(name)
}

func eachTextOfTable(s Spec, path string, visit func(string, uint8) error) (int, error) {
	file, err := OpenFile(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	r, err := vectors.NewRecordReader(path, file)
	if err != nil {
		return 0, err
	}
	text, label, err := s.textColumns(r.Header, "column")
	if err != nil {
		return 0, fmt.Errorf("%s:1:1: %w", path, err)
	}
	// A first line with a class is a record that would be passed over. The names 0, 1, … are of pandas.
	if _, class := s.classOf(r.Header[max(label, 0)]); class && label >= 0 && s.Column+s.Label == "" && r.Header[text] != "0" {
		return 0, r.WrongHeader("found a class for the name of a column", "the names of the columns, or this one in data.label")
	}
	r.KeepSpaces() // of texts; those of a class are no part of it
	return r.Each(func(record []string) error {
		class, known := s.classOf(strings.TrimLeft(record[max(label, 0)], " "))
		if !known {
			return r.Wrong(label, "found a label that has no class", s.declared().Names())
		}
		return visit(strings.Clone(record[text]), class)
	})
}

func eachTextOfParquet(s Spec, path string, visit func(string, uint8) error) (int, error) {
	file, err := OpenFile(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	t, err := vectors.OpenParquetTexts(file)
	if err != nil {
		return 0, err
	}
	text, label, err := s.textColumns(t.Header, "column")
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return t.Each(text, label, s.declared(), visit)
}

// maxText is how long a text, or a line with one, may be in bytes.
const maxText = 1 << 20

// eachTextOfLines reads JSON objects, one in each line. The keys of the first one say where text and
// class stand in all.
func eachTextOfLines(s Spec, path string, visit func(string, uint8) error) (int, error) {
	text, label := "", ""
	return eachLine(path, func(line []byte) error {
		object, err := strictjson.Read(line)
		var syntax *json.SyntaxError
		switch {
		case err != nil && errors.As(json.Unmarshal(line, new(json.RawMessage)), &syntax):
			return fmt.Errorf("found JSON that is wrong at byte %d, expected an object in each line", syntax.Offset)
		case err != nil || len(object) == 0:
			return errors.New("found no JSON object with a key, expected one in each line")
		case object.Distinct() != nil:
			return errors.New("found a key twice in the JSON object, expected keys that differ")
		}
		if text == "" {
			if text, label, err = s.keysOf(object); err != nil {
				return err
			}
		}
		return s.visitObject(object, text, label, visit)
	})
}

// keysOf returns the keys of text and class in an object.
func (s Spec) keysOf(object strictjson.Object) (text, label string, err error) {
	if s.Column != "" && s.Label != "" {
		return s.Column, s.Label, nil
	}
	var names []string
	for _, f := range object {
		names = append(names, f.Key)
	}
	at, of, err := s.textColumns(names, "key")
	if err != nil {
		return "", "", err
	}
	return names[at], names[max(of, 0)], nil
}

// visitObject calls visit with text and class of an object: a text, and a text or a whole number.
func (s Spec) visitObject(object strictjson.Object, text, label string, visit func(string, uint8) error) error {
	class := ""
	content, ok := strictjson.Text(object.Get(text))
	if !ok {
		return fmt.Errorf("found no text under the key %q, expected one", text)
	}
	value := object.Get(label)
	if json.Unmarshal(value, &class) != nil {
		class = string(value)
	}
	c, known := s.classOf(class)
	if !known {
		return fmt.Errorf("found a label that has no class under the key %q, expected %s", label, s.declared().Names())
	}
	return visit(content, c)
}

// eachLineOfFile takes every line for a text.
func eachLineOfFile(_ Spec, path string, visit func(string, uint8) error) (int, error) {
	return eachLine(path, func(line []byte) error {
		if bytes.IndexByte(line, 0) >= 0 {
			return errors.New("found a byte 0, expected a text in each line")
		}
		return visit(string(line), 0)
	})
}

// eachLine calls visit with every line that is not empty, and counts them. Its errors name the line.
func eachLine(path string, visit func(line []byte) error) (count int, err error) {
	file, err := OpenFile(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	lines := bufio.NewScanner(vectors.WithoutMark(file))
	lines.Buffer(nil, maxText)
	n := 1
	for ; lines.Scan(); n++ {
		if len(strings.TrimSpace(lines.Text())) == 0 {
			continue
		}
		if err := visit(lines.Bytes()); err != nil {
			return 0, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		count++
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return 0, fmt.Errorf("%s:%d: found a line of more than %d bytes, expected at most so many", path, n, maxText)
	}
	return count, lines.Err()
}

func eachTextOfFolder(s Spec, path string, visit func(string, uint8) error) (n int, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if !slices.Contains(s.Classes, e.Name()) && !strings.HasPrefix(e.Name(), ".") {
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
			if err := visit(text, uint8(label)); err != nil {
				return 0, err
			}
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
	file, err := OpenFile(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(vectors.WithoutMark(file), maxText+1))
	if len(content) > maxText {
		err = fmt.Errorf("%s is longer than %d bytes, expected at most so many", path, maxText)
	}
	return string(content), err
}
