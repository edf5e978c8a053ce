package configs

import (
	"math"
	"strconv"
	"strings"

	"dpsgd/internal/setting"
)

// byteSize is the format of a size of memory with its unit, such as 8GiB, stored in an *int64.
type byteSize struct{ Word string } // what stands for 0

// units lists the units of a size: powers of two, then powers of ten, the largest of each first.
var units = []struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}}

func (f byteSize) Parse(text string, _ bool, into any) bool {
	if text == f.Word {
		*into.(*int64) = 0
		return true
	}
	for _, u := range units {
		digits, found := strings.CutSuffix(text, u.name)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSuffix(digits, " "), 10, 64)
		if err != nil || n < 1 || n > math.MaxInt64/u.bytes || strings.HasPrefix(digits, "+") {
			return false
		}
		*into.(*int64) = n * u.bytes
		return true
	}
	return false
}

// Encode implements [setting.Scalar]: with the first unit in units that leaves no remainder.
func (f byteSize) Encode(from any) string {
	n := *from.(*int64)
	if n == 0 {
		return f.Word
	}
	for _, u := range units {
		if n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) // of no unit that can be read
}

func (f byteSize) Expected() string { return "a size such as 8GiB or 500MB, or " + f.Word }

func (f byteSize) Schema() setting.Object {
	return setting.Object{"type", "string", "pattern", "^(" + f.Word + "|[1-9][0-9]* ?[KMGT]i?B)$"}
}
