package source

import "strings"

// Nearest returns the known name that was probably meant, or "".
func Nearest(found string, known []string) string {
	// A third of a name may be wrong, and in a short one two swapped letters.
	best, limit := "", max(2, min(len(found), 30)/3)
	if len(found) < 4 {
		limit = 1
	}
	bestDistance := limit + 1
	for _, name := range known {
		if d := distance(Squash(found), Squash(name)); d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

// Squash returns a name without case and separators: MaxPool2d, max-pool2d and max_pool2d are one.
func Squash(s string) string { return separators.Replace(strings.ToLower(s)) }

var separators = strings.NewReplacer("_", "", "-", "", ".", "")

// DidYouMean returns the name as a hint; "" is no hint.
func DidYouMean(name string) string {
	if name == "" {
		return ""
	}
	return "did you mean " + name + "?"
}

// distance is the Levenshtein distance of two strings, in bytes: insertions, deletions and
// substitutions. Long strings are never near a name and are cut short.
func distance(a, b string) int {
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
