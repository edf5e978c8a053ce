package configs

import (
	"dpsgd/data"
	"slices"
	"strings"
)

// otherKeys are names of keys and values in other libraries and papers, with ours. Those of layers
// and rules stand with these.
var otherKeys = map[string]string{
	"lr":                  "learning_rate",
	"sigma":               "noise_multiplier",
	"target_epsilon":      "epsilon",
	"target_delta":        "delta",
	"max_grad_norm":       "clip_norm",
	"l2_clip_norm":        "clip_norm",
	"l2_norm_clip":        "clip_norm",
	"clipping_norm":       "clip_norm",
	"logical_batch_size":  "batch_size",
	"expected_batch_size": "batch_size",
	"max_batch_size":      "physical_batch_size",
	"microbatch_size":     "physical_batch_size",
	"prv":                 "pld",
	"renyi":               "rdp",
	"moments":             "rdp",
	"dataset":             "name",
	"num_epochs":          "epochs",
	"max_steps":           "steps",
	"workers":             "threads",
	"materialize":         "materialise",
	"image_size":          "size",
	"path":                "folder",
	"dir":                 "folder",
	"eval_every":          "evaluate_every",
	"network":             "model",
	"optimiser":           "optimizer",
}

// nearest returns the known name that was probably meant, or "".
func nearest(found string, known []string) string {
	for _, s := range synonyms(found) {
		if slices.Contains(known, s) {
			return s
		}
	}
	// A third of a name may be wrong, and in a short one two swapped letters.
	best, limit := "", max(2, min(len(found), 30)/3)
	if len(found) < 4 {
		limit = 1
	}
	bestDistance := limit + 1
	for _, name := range known {
		if d := distance(squash(found), squash(name)); d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

// synonyms returns our names for another library's, however it is spelled.
func synonyms(found string) (ours []string) {
	note := func(name string, also []string) {
		if slices.ContainsFunc(also, func(theirs string) bool { return squash(theirs) == squash(found) }) {
			ours = append(ours, name)
		}
	}
	for theirs, name := range otherKeys {
		note(name, []string{theirs})
	}
	eachName(layerKinds, note)
	for _, f := range fields {
		if kinds, ok := f.format.(interface {
			eachName(func(string, []string))
		}); ok {
			kinds.eachName(note)
		}
	}
	for _, d := range data.Datasets() {
		note(d.Name, d.Aliases)
	}
	return ours
}

// squash makes MaxPool2d, max-pool2d and max_pool2d one.
func squash(s string) string { return separators.Replace(strings.ToLower(s)) }

var separators = strings.NewReplacer("_", "", "-", "", ".", "")

// didYouMean returns the suggestion as a hint, or "".
func didYouMean(name string) string {
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
