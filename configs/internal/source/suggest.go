package source

import (
	"strings"

	"dpsgd/internal/spelling"
)

// Nearest returns the known name that was probably meant, or "".
func Nearest(found string, known []string) string {
	// A third of a name may be wrong, and in a short one two swapped letters.
	best, limit := "", max(2, min(len(found), 30)/3)
	if len(found) < 4 {
		limit = 1
	}
	bestDistance := limit + 1
	for _, name := range known {
		if d := spelling.Distance(Squash(found), Squash(name)); d < bestDistance {
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
