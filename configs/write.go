package configs

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"dpsgd/internal/setting"
	"dpsgd/model"
)

// YAML returns the configuration with every key that means something in it, in the order of the
// reference. Keys in later are left out at their default. Parse reads an equal one back.
func (c *Config) YAML() []byte { return c.write(func(*field) bool { return true }) }

// write returns as YAML the fields that meant accepts, of those that belong into the file of c.
func (c *Config) write(meant func(*field) bool) []byte {
	var b bytes.Buffer
	section := ""
	for _, f := range fields {
		if !meant(f) || !f.written(c) {
			continue
		}
		parent, key := f.split()
		if parent != section {
			openSection(&b, section, parent)
			section = parent
		}
		indent := strings.Repeat("  ", strings.Count(f.path, "."))
		switch value := f.at(c).(type) {
		case *model.Sequential:
			fmt.Fprintf(&b, "%s%s:\n", indent, key)
			writeLayers(&b, *value, indent+"  ")
		case *[]string:
			fmt.Fprintf(&b, "%s%s:\n", indent, key)
			for _, s := range *value {
				fmt.Fprintf(&b, "%s  - %s\n", indent, formatText(s))
			}
		default:
			fmt.Fprintf(&b, "%s%s: %s\n", indent, key, encode(f.format, value))
		}
	}
	return b.Bytes()
}

// written reports whether the field belongs into the file of a configuration. A list of names that
// is empty does not.
func (f *field) written(c *Config) bool {
	if list, ok := f.at(c).(*[]string); ok && len(*list) == 0 {
		return false
	}
	return (f.applies(c) || f.kept()) && (len(others(f.path)) == 0 || f.given(c)) && !(slices.Contains(later, f.path) && f.isDefault(c))
}

// kept reports whether files of runs may have the field where it has no effect, as those that earlier
// versions wrote do: without it they would be other plans.
func (f *field) kept() bool { return f.only == withNoise }

func (f *field) isDefault(c *Config) bool {
	defaults := DefaultConfig()
	return encode(f.format, f.at(c)) == encode(f.format, f.at(&defaults))
}

// given reports whether the value of the field in c is not zero. Of keys that exclude each other,
// the value of the one that was given is not zero.
func (f *field) given(c *Config) bool { return !reflect.ValueOf(f.at(c)).Elem().IsZero() }

// split returns the section and the last part of the field's path.
func (f *field) split() (section, key string) {
	dot := strings.LastIndex(f.path, ".")
	return f.path[:dot], f.path[dot+1:]
}

// openSection writes the header lines that lead from one section into the next.
func openSection(b *bytes.Buffer, from, to string) {
	for i, name := range strings.Split(to, ".") {
		if prefix := strings.Join(strings.Split(to, ".")[:i+1], "."); prefix == from || strings.HasPrefix(from, prefix+".") {
			continue // still in it
		}
		if i == 0 && from != "" {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "%s%s:\n", strings.Repeat("  ", i), name)
	}
}

// writeLayers writes one layer a line, and the branches of residual blocks as indented lists.
func writeLayers(b *bytes.Buffer, layers model.Sequential, indent string) {
	isList := func(a setting.Argument) bool { _, ok := a.Format.(model.List); return ok }
	for _, l := range layers {
		arguments := argumentsOf(l)
		if !slices.ContainsFunc(arguments, isList) {
			line := strings.TrimSuffix(strings.TrimPrefix(encodeLayer(l), "{"), "}")
			fmt.Fprintf(b, "%s- %s\n", indent, line)
			continue
		}
		fmt.Fprintf(b, "%s- %s:\n", indent, l.Kind())
		for _, a := range arguments {
			branch, _ := a.Value.(*model.Sequential)
			if branch == nil || len(*branch) == 0 {
				fmt.Fprintf(b, "%s    %s: %s\n", indent, a.Name, encode(a.Format, a.Value))
				continue
			}
			fmt.Fprintf(b, "%s    %s:\n", indent, a.Name)
			writeLayers(b, *branch, indent+"      ")
		}
	}
}

// Identity returns the configuration as YAML, without performance, run, physical_batch_size and
// evaluate_every, which may change when a run goes on, and limit, which the ledger of the data
// keeps.
func (c *Config) Identity() []byte {
	same := *c
	same.Performance, same.Run, same.Data.Limit = Performance{}, Run{}, Limit{}
	same.Training.PhysicalBatchSize, same.Training.EvaluateEvery = 0, 0
	return same.YAML()
}

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
