// Package spelling finds the word that was probably meant by an unknown one, puts names in order, and
// writes words for a command line.
package spelling

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// Distance returns the Levenshtein distance of two strings: the least number of bytes to insert,
// delete or substitute. It compares the first 40 bytes: long strings are never near a name.
func Distance(a, b string) int {
	a, b = a[:min(len(a), 40)], b[:min(len(b), 40)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Nearest returns the known name with the fewest wrong letters, or "" if too many are wrong.
func Nearest(found string, known []string) string {
	// A third of a name may be wrong, and in a short one two swapped letters.
	best, limit := "", max(2, min(len(found), 30)/3)
	if len(found) < 4 {
		limit = 1
	}
	bestDistance := limit + 1
	for _, name := range known {
		d := Distance(Squash(found), Squash(name))
		if swapped(Squash(found), Squash(name)) {
			d = 1
		}
		if d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

// swapped reports whether a and b differ in two neighbouring letters alone, which are swapped.
func swapped(a, b string) bool {
	for i := 0; i+1 < len(a) && len(a) == len(b); i++ {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		}
	}
	return false
}

// Squash returns s in small letters, without _, - and points: Max-Pool2d becomes maxpool2d.
func Squash(s string) string { return separators.Replace(strings.ToLower(s)) }

var separators = strings.NewReplacer("_", "", "-", "", ".", "")

// DidYouMean returns the hint "did you mean NAME?", or "" for "".
func DidYouMean(name string) string {
	if name == "" {
		return ""
	}
	return "did you mean " + name + "?"
}

// Hint returns " (did you mean NAME?)" with the nearest known name, or "" if there is none.
func Hint(found string, known []string) string {
	meant := Nearest(found, known)
	if meant == "" {
		return ""
	}
	return " (" + DidYouMean(meant) + ")"
}

// plain matches paths in which no shell reads more than the text.
var plain = regexp.MustCompile(`^[\p{L}\p{N}_./:\\,=+@%-]+$`)

// Argument writes a path for a command line to be copied: in quotes where a shell needs them.
func Argument(path string) string {
	if plain.MatchString(path) && !strings.HasPrefix(path, "-") {
		return path
	}
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

var digits = regexp.MustCompile("[0-9]+")

// InOrder compares names as people count: digits-2 comes before digits-10.
func InOrder(a, b string) int {
	counted := func(name string) string {
		return digits.ReplaceAllStringFunc(name, func(number string) string { return fmt.Sprintf("%020s", number) })
	}
	return cmp.Or(cmp.Compare(counted(a), counted(b)), cmp.Compare(a, b))
}
