package configs

import (
	"slices"
	"strings"
)

// synonyms are names that other libraries and papers use, with ours.
var synonyms = map[string]string{
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
	"betas":               "beta1",
	"prv":                 "pld",
	"renyi":               "rdp",
	"moments":             "rdp",
	"dataset":             "name",
	"num_epochs":          "epochs",
	"max_steps":           "steps",
	"workers":             "threads",
	"materialize":         "materialise",
	"dense":               "linear",
	"fc":                  "linear",
	"conv":                "conv2d",
	"swish":               "silu",
	"adaptive_avg_pool2d": "global_avg_pool2d",
	"global_average_pool": "global_avg_pool2d",
	"filters":             "out_channels",
	"units":               "out_features",
	"groups":              "num_groups",
	"skip":                "shortcut",
	"downsample":          "shortcut",
	"image_size":          "size",
	"path":                "folder",
	"dir":                 "folder",
	"eval_every":          "evaluate_every",
	"network":             "model",
	"optimiser":           "optimizer",
}

// nearest returns the known name that was probably meant, or "".
func nearest(found string, known []string) string {
	if s := synonym(found); slices.Contains(known, s) {
		return s
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

// synonym returns our name for another library's, however it is spelled, or "".
func synonym(found string) string {
	for theirs, ours := range synonyms {
		if squash(theirs) == squash(found) {
			return ours
		}
	}
	return datasetAlias(found)
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
