package configs

import (
	"fmt"
	"strings"

	"dpsgd/internal/setting"
)

// listOf is the format of a list of values, stored in a *[]T.
type listOf[T any] struct {
	of       setting.Format
	min, max int
	what     string // what messages call the items
	says     string // if not "", what messages expect in place of "a list of …"; they then give no hint
	distinct bool   // items differ in more than case: folders that do not are one folder on some systems
}

func (f listOf[T]) decode(r *report, n *node, key string, into any) bool {
	if n.Kind != listNode || len(n.Items) < f.min || len(n.Items) > f.max {
		hint := n.BracketHint()
		if f.says != "" {
			hint = ""
		}
		return r.Expected(n, key, f.Expected(), hint)
	}
	values, ok := decodeItems[T](r, f.of, n, key)
	if !ok || f.distinct && !f.areDistinct(r, n, key, values) {
		return false
	}
	*into.(*[]T) = values
	return true
}

func (f listOf[T]) areDistinct(r *report, n *node, key string, values []T) bool {
	first := map[string]int{}
	for i := range values {
		text := strings.ToLower(encode(f.of, &values[i]))
		if j, again := first[text]; again {
			return r.Addf(n.Items[i].At, fmt.Sprintf("%s[%d]", key, i), "found %s, expected a name that differs from item %d in more than case", n.Items[i].Describe(), j)
		}
		first[text] = i
	}
	return true
}

func (f listOf[T]) encode(from any) string { return encodeItems(f.of, *from.(*[]T)) }

func (f listOf[T]) Expected() string {
	if f.says != "" {
		return f.says
	}
	count := fmt.Sprintf("%d to %d", f.min, f.max)
	if f.min == f.max {
		count = fmt.Sprint(f.min)
	}
	return fmt.Sprintf("a list of %s %s, each %s", count, f.what, strings.TrimPrefix(f.of.Expected(), "a number "))
}

func (f listOf[T]) Schema() setting.Object {
	s := setting.Object{"type", "array", "items", f.of.Schema(), "minItems", f.min, "maxItems", f.max}
	if f.distinct {
		s = append(s, "uniqueItems", true)
	}
	return s
}

// decodeItems returns the values of a list, and whether all are right. It reports each wrong one.
func decodeItems[T any](r *report, f setting.Format, n *node, key string) ([]T, bool) {
	if len(n.Items) == 0 {
		return nil, true
	}
	values, ok := make([]T, len(n.Items)), true
	for i, item := range n.Items {
		ok = decode(f, r, item, fmt.Sprintf("%s[%d]", key, i), &values[i]) && ok
	}
	return values, ok
}

// encodeItems returns the values as a YAML list in one line.
func encodeItems[T any](f setting.Format, values []T) string {
	return "[" + strings.Join(texts(values, func(v T) string { return encode(f, &v) }), ", ") + "]"
}

// decodeSize stores a list of height and width, or one number for both.
func decodeSize(f setting.Sizes, r *report, n *node, key string, into *Size) bool {
	switch {
	case n.Kind == listNode && len(n.Items) == 2:
		sides, ok := decodeItems[int](r, f.Of, n, key)
		if ok {
			*into = Size{Height: sides[0], Width: sides[1]}
		}
		return ok
	case n.Kind == scalarNode && !n.Quoted && setting.IsInteger(n.Text):
		var side int
		if !decode(f.Of, r, n, key, &side) {
			return false
		}
		*into = Size{Height: side, Width: side}
		return true
	}
	return r.Expected(n, key, f.Expected(), n.IntegerHint())
}

func encodeSize(f setting.Sizes, size Size) string {
	if size.Height == size.Width {
		return f.Of.Encode(&size.Height)
	}
	return encodeItems(f.Of, []int{size.Height, size.Width})
}
