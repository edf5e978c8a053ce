package books

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/internal/folder"
)

// Listed is one run of a folder of runs.
type Listed struct {
	Dir     string
	Sweep   string // the folder of the sweep that it is a trial of; "" for a run of its own
	Member  checkpoints.Member
	Problem error // why its ledger cannot be believed, or that its folder is gone; nil in most cases
}

// List reads the ledgers of all runs and trials of a folder, in the order of their names. What is wrong
// with one of them is its own problem. Nothing is changed, so runs may be going on.
func List(dir string) ([]Listed, error) {
	if err := folder.Check(dir, "a folder of runs"); err != nil {
		return nil, err
	}
	found, err := foldersBelow(dir)
	if err != nil {
		return nil, err
	}
	info, err := readKnown(dir)
	if err != nil && !absent(err) {
		return nil, err
	}
	list := []Listed{}
	for _, run := range found.runs {
		l := listed(dir, run, info)
		for _, sweep := range found.sweeps {
			if filepath.Dir(run) == sweep {
				l.Sweep = sweep
			}
		}
		list = append(list, l)
	}
	for _, m := range info.Members {
		path := filepath.Join(dir, filepath.FromSlash(m.Path))
		if m.Entries == 0 || slices.ContainsFunc(list, func(l Listed) bool { return l.Member.Run == m.Run || l.Dir == path }) {
			continue
		}
		list = append(list, Listed{Dir: path, Member: m, Problem: fmt.Errorf("train: %s: found no folder, expected that of a run in the ledger of the data: what it released still counts: %w", path, fs.ErrNotExist)})
	}
	slices.SortStableFunc(list, func(a, b Listed) int { return inOrder(a.Dir, b.Dir) })
	return list, nil
}

// listed reads one run.
func listed(registry, run string, info Known) Listed {
	l := Listed{Dir: run}
	found, warning, err := inspectMember(registry, run, info)
	switch {
	case err != nil:
		l.Problem = err
		if path, err := pathFrom(registry, run); err == nil {
			at := slices.IndexFunc(info.Members, func(m checkpoints.Member) bool { return m.Path == path })
			if at >= 0 {
				l.Member = info.Members[at] // what the ledger of the data knows still counts
			}
		}
		return l
	case found == nil:
		l.Problem = withoutLedger(run, fs.ErrNotExist)
		return l
	case warning != "":
		l.Problem = errors.New(warning)
	}
	l.Member = *found
	if known, ok := info.Member(found.Run); ok {
		l.Member.Registration = known.Registration
	} else if l.Member.Registration, _, err = adopted(registry, run); err != nil {
		l.Problem = err
	}
	return l
}

// inOrder compares names as people count: digits-2 comes before digits-10.
func inOrder(a, b string) int {
	nameA, numberA := numbered(a)
	nameB, numberB := numbered(b)
	return cmp.Or(cmp.Compare(nameA, nameB), cmp.Compare(numberA, numberB), cmp.Compare(a, b))
}

// numbered splits a name from the number at its end.
func numbered(s string) (name string, number int) {
	name = strings.TrimRight(s, "0123456789")
	number, _ = strconv.Atoi(s[len(name):])
	return name, number
}

// Sum is what some runs cost together, for each data set that they were trained on: the guarantee for
// somebody who sees these runs and no other.
func Sum(dirs []string) ([]Total, error) {
	var members []checkpoints.Member
	for _, dir := range dirs {
		i, err := Inspect(dir)
		if err != nil {
			return nil, err
		}
		if at := slices.IndexFunc(members, func(m checkpoints.Member) bool { return m.Run == i.Info.Run }); at >= 0 {
			return nil, fmt.Errorf("%w: found %s and %s, which are one run or a copy of it; expected different runs", ErrSame, members[at].Path, dir)
		}
		home, err := registryOf(dir, i.Info)
		if err != nil {
			return nil, err
		}
		m, known := home.info.Member(i.Info.Run)
		if !known {
			if m.Registration, _, err = adopted(filepath.Join(dir, ".."), dir); err != nil {
				return nil, err
			}
		}
		m.Path, m.Run, m.Entries, m.Hash, m.Ledger = dir, i.Info.Run, i.Info.Entries, i.Info.Hash, i.Ledger
		members = append(members, m)
	}
	return (&survey{members: members}).totals()
}

// ErrSame: two runs that are to be added up are one.
var ErrSame = errors.New("train: not several runs")
