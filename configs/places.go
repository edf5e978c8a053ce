package configs

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"dpsgd/model"
)

// KeyError says that the value of one key, which is valid by itself, does not fit the data or the
// other values. [Placed] finds where the key stands.
type KeyError struct {
	Key     string // full path, such as privacy.delta
	Problem string // what was found and what was expected, to be read behind the key
}

func (e *KeyError) Error() string { return e.Key + " " + e.Problem }

// Placed puts a place before the text of an error about a layer or the value of a key: file, line
// and column, or the override. The place of a key that the file leaves out is the file. Placed
// returns other errors, and those about a preset or a ready network, as they are.
func Placed(err error, file string, overrides []string) error {
	var layer *model.LayerError
	var key *KeyError
	path, item, said, label := "model.layers", -1, "", ""
	switch {
	case errors.As(err, &layer):
		first, _, _ := strings.Cut(layer.Layer, ".") // within a block, that of the block
		i, notANumber := strconv.Atoi(first)
		if notANumber != nil {
			return err
		}
		item, said, label = i, layer.Error(), fmt.Sprintf("%s[%d]: ", path, i)
	case errors.As(err, &key):
		path, said = key.Key, key.Error() // which begins with the key
	default:
		return err
	}
	for _, o := range overrides {
		if name, _, _ := strings.Cut(o, "="); strings.TrimSpace(name) == path {
			return placed{"--set " + label + said, err}
		}
	}
	content, unreadable := os.ReadFile(file)
	if unreadable != nil {
		return err // a preset
	}
	n := find(readYAML(new(report), startOf(file), content), strings.Split(path, "."))
	switch {
	case n == nil && item < 0:
		return placed{file + ": " + said + " (the file does not say it)", err}
	case n == nil || item >= len(n.Items):
		return err
	case item >= 0:
		n = n.Items[item]
	}
	return placed{fmt.Sprintf("%s:%d:%d: %s%s", n.At.File, n.At.Line, n.At.Column, label, said), err}
}

// placed is an error whose text has its place. It matches, with errors.Is, what whole matches.
type placed struct {
	text  string
	whole error
}

func (p placed) Error() string { return p.text }
func (p placed) Unwrap() error { return p.whole }

// find returns the value at a path of keys below n: n itself for no keys, nil if there is none.
func find(n *node, path []string) *node {
	if n == nil || len(path) == 0 {
		return n
	}
	for _, e := range n.Entries {
		if e.Key == path[0] {
			return find(e.Value, path[1:])
		}
	}
	return nil
}
