package configs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// startOf returns the position where a file begins.
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
type report struct{ problems Problems }

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
	return n.Kind != brokenNode && r.Addf(n.At, key, "found %s, expected %s", n.Describe(), hinted(expected, hint))
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
