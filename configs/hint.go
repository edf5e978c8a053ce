package configs

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"dpsgd/data"
	"dpsgd/internal/setting"
	"dpsgd/internal/spelling"
)

// hint returns a few words about why format f refused the value n, or "" if it has nothing to add.
func hint(f setting.Scalar, n *node) string {
	if n.Kind != scalarNode {
		return ""
	}
	if but, ok := f.(choiceBut); ok && but.Refused[n.Text] != "" {
		return but.Refused[n.Text]
	}
	switch f := f.(type) {
	case setting.Number:
		if _, err := strconv.ParseFloat(n.Text, 64); err != nil && !n.Quoted && setting.IsNumber(n.Text) {
			return "too large for a number"
		}
		if !n.Quoted && setting.IsNumber(n.Text) && setting.Underflows(n.Text) {
			return "too small for a number"
		}
		return n.SpellingHint()
	case setting.Integer:
		return n.IntegerHint()
	case oneOf:
		return n.SpellingHint()
	case setting.Boolean:
		switch strings.ToLower(n.Text) {
		case "yes", "on", "true":
			return "write true"
		case "no", "off", "false":
			return "write false"
		}
	case freeText:
		if !n.Quoted && ambiguous(n.Text) {
			return "put it in quotes if it is meant as text"
		}
	case interface{ Names() []string }:
		if names := f.Names(); len(names) > 1 {
			return spelling.DidYouMean(nearest(n.Text, names))
		}
	}
	return ""
}

// otherKeys maps names of keys and values in other libraries and papers to ours. Other names of
// layers and update rules are in the tables of these (Also).
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
	return spelling.Nearest(found, known)
}

// synonyms returns our names for another library's name, whatever its case and separators.
func synonyms(found string) (ours []string) {
	note := func(name string, also []string) {
		if slices.ContainsFunc(also, func(theirs string) bool { return spelling.Squash(theirs) == spelling.Squash(found) }) {
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
	for _, a := range setting.Arguments(data.NoAugmentation()) {
		note(a.Name, a.Also)
	}
	for _, d := range data.Datasets() {
		note(d.Name, d.Aliases)
	}
	return ours
}

// unknown reports the entry e, whose key is not among the known keys of its section. elsewhere is
// the full path of a key of this name in another section, or "".
func unknown(r *report, e entry, section string, known []string, elsewhere string) {
	expected := "no keys here"
	if len(known) > 0 {
		expected = "one of " + strings.Join(known, ", ")
	}
	meant := spelling.DidYouMean(cmp.Or(nearest(e.Key, known), elsewhere))
	r.Addf(e.At, joinKey(section, e.Key), "found an unknown key, expected %s", hinted(expected, meant))
}
