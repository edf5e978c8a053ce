package configs

import (
	"fmt"

	"dpsgd/internal/setting"
	"dpsgd/model"
)

// composite is the format of a value that YAML writes as a list.
type composite interface {
	setting.Format
	decode(r *report, n *node, key string, into any) bool
	encode(from any) string
}

var (
	_ setting.Scalar = kindOf[named]{}

	_ composite = listOf[string]{}
)

// decode stores the value of n in *into, or reports why not and returns false. The type of into is
// the format's own.
func decode(f setting.Format, r *report, n *node, key string, into any) bool {
	switch f := f.(type) {
	case model.List:
		return decodeLayers(f, r, n, key, into.(*model.Sequential))
	case setting.Sizes:
		return decodeSize(f, r, n, key, into.(*Size))
	case composite:
		return f.decode(r, n, key, into)
	case setting.Scalar:
		if n.Kind == scalarNode && f.Parse(n.Text, n.Quoted, into) {
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
	case setting.Sizes:
		return encodeSize(f, *from.(*Size))
	case composite:
		return f.encode(from)
	case setting.Scalar:
		return f.Encode(from)
	}
	panic(fmt.Sprintf("configs: the format %T cannot be written", f))
}
