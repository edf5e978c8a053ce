package configs

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"dpsgd/internal/setting"
	"dpsgd/model"
)

// composite is the format of a value that is no single word or number, or fills several Go fields.
// Its methods do for it what the functions decode and encode do.
type composite interface {
	setting.Format
	decode(r *report, n *node, key string, into any) bool
	encode(from any) string
}

// decode stores the value of n in *into and returns true, or reports under the key what is wrong
// with it and returns false. into is a pointer of the type that f stores.
func decode(f setting.Format, r *report, n *node, key string, into any) bool {
	switch f := f.(type) {
	case model.List:
		return decodeLayers(f, r, n, key, into.(*model.Sequential))
	case model.ReadyFormat:
		return decodeReady(r, n, key, into.(*model.Ready))
	case setting.Sizes:
		return decodeSize(f, r, n, key, into.(*Size))
	case composite:
		return f.decode(r, n, key, into)
	case setting.Scalar:
		if n.Kind == scalarNode && f.Parse(n.Text, n.Quoted, into) {
			return true
		}
		return r.Expected(n, key, f.Expected(), hint(f, n))
	}
	panic(fmt.Sprintf("configs: values of %s have the format %T, which cannot be read", key, f))
}

func decodeReady(r *report, n *node, key string, into *model.Ready) bool {
	names := setting.Choice(Networks())
	if n.Kind == scalarNode && n.Quoted && n.Text == "" {
		*into = model.Ready{}
		return true
	}
	if n.Kind != scalarNode || !slices.Contains(names, n.Text) {
		return r.Expected(n, key, names.Expected(), hint(names, n))
	}
	layers, err := Network(n.Text)
	*into = model.Ready{Name: n.Text, Layers: layers}
	return err == nil
}

// encode returns *from as YAML in one line. from is a pointer of the type that f stores.
func encode(f setting.Format, from any) string {
	switch f := f.(type) {
	case model.List:
		return encodeLayers(*from.(*model.Sequential))
	case model.ReadyFormat:
		return cmp.Or(from.(*model.Ready).Name, `""`)
	case setting.Sizes:
		return encodeSize(f, *from.(*Size))
	case composite:
		return f.encode(from)
	case setting.Scalar:
		return f.Encode(from)
	}
	panic(fmt.Sprintf("configs: the format %T cannot be written", f))
}

// form is the format of a T with its own functions for decode and encode. A file leaves out a value
// for which write returns "".
type form[T any] struct {
	schema object
	read   func(into *T, r *report, n *node, key string) bool
	write  func(from *T) string
}

func (f form[T]) decode(r *report, n *node, key string, into any) bool {
	return f.read(into.(*T), r, n, key)
}
func (f form[T]) encode(from any) string { return f.write(from.(*T)) }
func (f form[T]) Expected() string       { return "" }
func (f form[T]) Schema() object         { return slices.Clone(f.schema) }

// encodeArguments returns "name: value, …" for the arguments, without those whose value is "".
func encodeArguments(arguments []setting.Argument) string {
	var parts []string
	for _, a := range arguments {
		if text := encode(a.Format, a.Value); text != "" {
			parts = append(parts, a.Name+": "+text)
		}
	}
	return strings.Join(parts, ", ")
}

// written returns the arguments that a file has. It leaves out those that are marked Later and
// whose value is zero or that of the same argument in defaults.
func written(arguments, defaults []setting.Argument) []setting.Argument {
	return slices.DeleteFunc(arguments, func(a setting.Argument) bool {
		given, otherwise := reflect.ValueOf(a.Value).Elem(), setting.Find(defaults, a.Name)
		return a.Later && otherwise != nil && (given.IsZero() || reflect.DeepEqual(a.Value, otherwise.Value))
	})
}
