package configs

import (
	"fmt"
	"strconv"
	"strings"

	"dpsgd/configs/internal/source"
	"dpsgd/internal/setting"
	"dpsgd/model"
)

// composite is the format of a value that YAML writes as a list.
type composite interface {
	setting.Format
	decode(r *source.Report, n *source.Node, key string, into any) bool
	encode(from any) string
}

var (
	_ setting.Scalar = oneOf{}
	_ setting.Scalar = kindOf[named]{}
	_ setting.Scalar = choiceBut{}
	_ setting.Scalar = text{}

	_ composite = listOf[string]{}
	_ composite = sizes{}
)

// decode stores the value of n in *into, or reports why not and returns false. The type of into is
// the format's own.
func decode(f setting.Format, r *source.Report, n *source.Node, key string, into any) bool {
	switch f := f.(type) {
	case model.List:
		return decodeLayers(f, r, n, key, into.(*model.Sequential))
	case composite:
		return f.decode(r, n, key, into)
	case setting.Scalar:
		if n.Kind == source.Scalar && f.Parse(n.Text, n.Quoted, into) {
			return true
		}
		r.Expected(n, key, f.Expected(), hint(f, n))
		return false
	}
	panic(fmt.Sprintf("configs: values of %s have the format %T, which cannot be read", key, f))
}

// encode returns *from as YAML in one line.
func encode(f setting.Format, from any) string {
	switch f := f.(type) {
	case model.List:
		return encodeLayers(*from.(*model.Sequential))
	case composite:
		return f.encode(from)
	case setting.Scalar:
		return f.Encode(from)
	}
	panic(fmt.Sprintf("configs: the format %T cannot be written", f))
}

// oneOf is one of a few whole numbers, stored in a *int.
type oneOf []int

func (f oneOf) Parse(text string, quoted bool, into any) bool {
	for _, v := range f {
		if !quoted && text == strconv.Itoa(v) {
			*into.(*int) = v
			return true
		}
	}
	return false
}

func (f oneOf) Encode(from any) string { return strconv.Itoa(*from.(*int)) }

func (f oneOf) Expected() string {
	names := make([]string, len(f))
	for i, v := range f {
		names[i] = strconv.Itoa(v)
	}
	return strings.Join(names, " or ")
}

func (f oneOf) Schema() setting.Object { return setting.Object{"enum", []int(f)} }
