package configs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrInvalid is matched, with errors.Is, by every error about what a configuration says.
var ErrInvalid = errors.New("configs: invalid configuration")

// Problem is one thing that is wrong with a configuration, and where.
type Problem struct {
	File         string // "" for an override
	Line, Column int    // from 1; 0 for an override
	Override     string // the key of the --set override that is wrong, "" for a file
	Key          string // full path of the key, such as privacy.delta; may be ""
	Message      string // what was found and what was expected
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

// maxShown bounds the length of an error message; a reader fixes the first ones first.
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

// position is a place in a file, or an override.
type position struct {
	file         string
	line, column int
	override     string
}

// report collects problems.
type report struct{ problems Problems }

// addf adds a problem.
func (r *report) addf(at position, key, format string, args ...any) {
	r.problems = append(r.problems, Problem{
		File: at.file, Line: at.line, Column: at.column, Override: at.override,
		Key: key, Message: fmt.Sprintf(format, args...),
	})
}

// expected adds the usual problem: something else was found. The hint may be empty.
func (r *report) expected(n *node, key, expected, hint string) {
	if n.kind == broken {
		return // what is wrong with it has been said already
	}
	if hint != "" {
		hint = " (" + hint + ")"
	}
	r.addf(n.at, key, "found %s, expected %s%s", n.describe(), expected, hint)
}

// unknown reports a key that is not among the known ones of its section. elsewhere is the full path
// of a key of this name in another section, or "".
func (r *report) unknown(e entry, section string, known []string, elsewhere string) {
	suggestion := nearest(e.key, known)
	if suggestion == "" {
		suggestion = elsewhere
	}
	expected := "no keys here"
	if len(known) > 0 {
		expected = "one of " + strings.Join(known, ", ")
	}
	hint := didYouMean(suggestion)
	if hint != "" {
		hint = " (" + hint + ")"
	}
	r.addf(e.at, join(section, e.key), "found an unknown key, expected %s%s", expected, hint)
}

// err returns the problems in reading order, or nil when there are none.
func (r *report) err() error {
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
