// Package places finds where a configuration says what only its data shows to be wrong.
package places

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"dpsgd/configs/internal/source"
	"dpsgd/model"
)

// layersKey is where a configuration has its layers.
const layersKey = "model.layers"

// OfLayer puts the place of a layer before an error about it, such as one about its shape: file, line
// and column, or the override. Other errors, and those about a ready network, stay as they are.
func OfLayer(err error, file string, overrides []string) error {
	var about *model.LayerError
	if !errors.As(err, &about) {
		return err
	}
	first, _, _ := strings.Cut(about.Layer, ".") // within a block, that of the block
	i, notANumber := strconv.Atoi(first)
	if notANumber != nil {
		return err
	}
	key := fmt.Sprintf("%s[%d]", layersKey, i)
	for _, o := range overrides {
		if name, _, _ := strings.Cut(o, "="); strings.TrimSpace(name) == layersKey {
			return placed{"--set " + key, about, err}
		}
	}
	content, unreadable := os.ReadFile(file)
	if unreadable != nil {
		return err // a preset
	}
	layers := find(source.Read(new(source.Report), source.Start(file), content), strings.Split(layersKey, "."))
	if layers == nil || i >= len(layers.Items) {
		return err
	}
	at := layers.Items[i].At
	return placed{fmt.Sprintf("%s:%d:%d: %s", at.File, at.Line, at.Column, key), about, err}
}

// placed is what is wrong with a layer, and where that stands. It matches the whole error.
type placed struct {
	where string
	about *model.LayerError
	whole error
}

func (p placed) Error() string { return p.where + ": " + p.about.Error() }
func (p placed) Unwrap() error { return p.whole }

// find is the value of a key; nil where there is none.
func find(n *source.Node, path []string) *source.Node {
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
