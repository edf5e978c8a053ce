package configs

import (
	"fmt"
	"strings"

	"dpsgd/internal/setting"
)

// numbers is a list of numbers, stored in a *[]float64.
type numbers struct {
	of  setting.Number
	max int
}

func (f numbers) decode(r *report, n *node, key string, into any) bool {
	if n.kind != list || len(n.items) == 0 || len(n.items) > f.max {
		r.expected(n, key, f.Expected(), listHint(n))
		return false
	}
	values, ok := decodeItems[float64](r, f.of, n, key)
	if ok {
		*into.(*[]float64) = values
	}
	return ok
}

// decodeItems decodes every item of a list and reports all that are wrong.
func decodeItems[T any](r *report, f setting.Scalar, n *node, key string) ([]T, bool) {
	values, ok := make([]T, len(n.items)), true
	for i, item := range n.items {
		ok = decode(f, r, item, fmt.Sprintf("%s[%d]", key, i), &values[i]) && ok
	}
	return values, ok
}

// listHint counts a list that is too short or too long, and brackets a scalar.
func listHint(n *node) string {
	switch n.kind {
	case list:
		return fmt.Sprintf("it has %d", len(n.items))
	case scalar:
		return "write [" + n.describeInList() + "]"
	}
	return ""
}

func (n *node) describeInList() string {
	if n.quoted {
		return formatText(shorten(n.text))
	}
	return printable(n.text)
}

func (f numbers) encode(from any) string { return encodeItems(f.of, *from.(*[]float64)) }

// encodeItems returns a list in flow style.
func encodeItems[T any](f setting.Scalar, values []T) string {
	items := make([]string, len(values))
	for i := range values {
		items[i] = f.Encode(&values[i])
	}
	return "[" + strings.Join(items, ", ") + "]"
}

func (f numbers) Expected() string {
	return fmt.Sprintf("a list of 1 to %d numbers, each %s", f.max, strings.TrimPrefix(f.of.Expected(), "a number "))
}

func (f numbers) Schema() setting.Object {
	return setting.Object{"type", "array", "items", f.of.Schema(), "minItems", 1, "maxItems", f.max}
}

// texts is a list of distinct texts, stored in a *[]string.
type texts struct {
	of       text
	min, max int
}

func (f texts) decode(r *report, n *node, key string, into any) bool {
	if n.kind != list || len(n.items) < f.min || len(n.items) > f.max {
		r.expected(n, key, f.Expected(), listHint(n))
		return false
	}
	values, ok := decodeItems[string](r, f.of, n, key)
	first := map[string]int{}
	for i, v := range values {
		v = strings.ToLower(v) // folders that differ in case only are one folder on some systems
		if j, again := first[v]; again && ok {
			r.addf(n.items[i].at, fmt.Sprintf("%s[%d]", key, i), "found %s, expected a name that differs from item %d in more than case", n.items[i].describe(), j)
			return false
		}
		first[v] = i
	}
	if ok {
		*into.(*[]string) = values
	}
	return ok
}

func (f texts) encode(from any) string { return encodeItems(f.of, *from.(*[]string)) }

func (f texts) Expected() string {
	return fmt.Sprintf("a list of %d to %d names, each %s", f.min, f.max, f.of.Expected())
}

func (f texts) Schema() setting.Object {
	return setting.Object{"type", "array", "items", f.of.Schema(), "minItems", f.min, "maxItems", f.max, "uniqueItems", true}
}

// sizes is a height and a width, or one number for both, stored in a *Size.
type sizes struct{ of setting.Integer }

func (f sizes) decode(r *report, n *node, key string, into any) bool {
	size := into.(*Size)
	switch {
	case n.kind == list && len(n.items) == 2:
		sides, ok := decodeItems[int](r, f.of, n, key)
		if ok {
			*size = Size{Height: sides[0], Width: sides[1]}
		}
		return ok
	case n.kind == scalar && !n.quoted && setting.IsInteger(n.text):
		var side int
		if !decode(f.of, r, n, key, &side) {
			return false
		}
		*size = Size{side, side}
		return true
	}
	r.expected(n, key, f.Expected(), integerHint(n))
	return false
}

func (f sizes) encode(from any) string {
	size := *from.(*Size)
	if size.Height == size.Width {
		return f.of.Encode(&size.Height)
	}
	return encodeItems(f.of, []int{size.Height, size.Width})
}

func (f sizes) Expected() string {
	return f.of.Expected() + ", or [height, width]"
}

func (f sizes) Schema() setting.Object {
	pair := setting.Object{"type", "array", "items", f.of.Schema(), "minItems", 2, "maxItems", 2}
	return setting.Object{"anyOf", []setting.Object{f.of.Schema(), pair}}
}
