package configs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dpsgd/data"
	"dpsgd/internal/setting"
	"dpsgd/internal/spelling"
)

// ErrInvalid is matched, with errors.Is, by every error about what a configuration says. Its text
// begins with the name of this package.
var ErrInvalid = errors.New("configs: invalid configuration")

// Position is a place in a file, or an override.
type Position struct {
	File         string // "" for an override
	Line, Column int    // from 1; 0 for an override
	Override     string // the key of the --set override, "" for a file
}

func startOf(file string) Position { return Position{File: file, Line: 1, Column: 1} }

// Problem is one thing that is wrong with a configuration, and where.
type Problem struct {
	Position
	Key     string // full path of the key, such as privacy.delta; may be ""
	Message string // what was found and what was expected
}

// String returns the problem in one line, "file:line:column: key: message", or
// "--set key: message" for an override.
func (p Problem) String() string {
	where := "--set " + p.Override
	if p.Override == "" {
		where = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
	if p.Key == "" || p.Key == p.Override {
		return where + ": " + p.Message
	}
	return where + ": " + p.Key + ": " + p.Message
}

// Problems is everything that is wrong with a configuration: files in reading order first, then
// overrides. It matches ErrInvalid.
type Problems []Problem

// maxShown is how many problems an error message shows; a reader fixes the first ones first.
const maxShown = 50

// Error returns one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, 0, min(len(ps), maxShown)+1)
	for i, p := range ps {
		if i == maxShown {
			lines = append(lines, fmt.Sprintf("and %d more problems", len(ps)-maxShown))
			break
		}
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// Is makes errors.Is(ps, ErrInvalid) true.
func (ps Problems) Is(target error) bool { return target == ErrInvalid }

// ofPreset returns err with the problems in the file of a preset moved to place, such as that of
// the overrides, and with the name of the preset added: nobody has that file. file is what [Open]
// returned for name. If name is a path, err stays as it is.
func ofPreset(err error, file, name string, place Position) error {
	var problems Problems
	if file != name && errors.As(err, &problems) {
		for i, p := range problems {
			if p.File == file {
				problems[i].Position = place
				problems[i].Message += " (with the preset " + name + ")"
			}
		}
	}
	return err
}

// given returns a position that stands for several overrides "key=value": all their keys.
func given(overrides []string) Position {
	keys := make([]string, len(overrides))
	for i, o := range overrides {
		keys[i], _, _ = strings.Cut(o, "=")
	}
	return Position{Override: strings.Join(keys, ", ")}
}

// report collects problems; the zero value is empty.
type report struct {
	problems Problems
	ofRun    bool // see ParseRun
}

// Addf adds a problem. It always returns false, so that a function that returns whether it could
// read a value can return that.
func (r *report) Addf(at Position, key, format string, args ...any) (ok bool) {
	r.problems = append(r.problems, Problem{at, key, fmt.Sprintf(format, args...)})
	return false
}

// Refuse adds a problem if wrong is true.
func (r *report) Refuse(wrong bool, at Position, key, format string, args ...any) {
	if wrong {
		r.Addf(at, key, format, args...)
	}
}

// Expected adds the problem that n was found in place of what was expected. It adds none for a
// broken node, which has been reported. The hint may be empty. It returns false, as Addf does.
func (r *report) Expected(n *node, key, expected, hint string) (ok bool) {
	found := n.Describe()
	if key == "" && n.Kind == scalarNode {
		found = "text" // whole, which may be examples that were given in place of a configuration
	}
	return n.Kind != brokenNode && r.Addf(n.At, key, "found %s, expected %s", found, hinted(expected, hint))
}

// Err returns the problems in reading order as [Problems], or nil when there are none.
func (r *report) Err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Override, b.Override),
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column))
	})
	return r.problems
}

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
	"noise":               "noise_multiplier",
	"num_workers":         "threads",
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
