package configs

import (
	"dpsgd/configs/internal/source"
	"dpsgd/internal/setting"
)

// hint explains, in a few words, what is wrong with a value that its format refuses. It may be
// empty.
func hint(f setting.Scalar, n *source.Node) string {
	if n.Kind != source.Scalar {
		return ""
	}
	if but, ok := f.(choiceBut); ok && but.refused[n.Text] != "" {
		return but.refused[n.Text]
	}
	switch f := f.(type) {
	case setting.Number:
		return n.NumberHint()
	case setting.Integer:
		return n.IntegerHint()
	case oneOf:
		return n.SpellingHint()
	case setting.Boolean:
		return n.BooleanHint()
	case text:
		return n.TextHint()
	case interface{ Names() []string }:
		if names := f.Names(); len(names) > 1 {
			return source.DidYouMean(nearest(n.Text, names))
		}
	}
	return ""
}
