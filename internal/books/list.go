package books

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/internal/disk"
	"dpsgd/internal/folder"
	"dpsgd/internal/spelling"
)

// Listed is one run of a folder of runs.
type Listed struct {
	Dir     string
	Sweep   string // the folder of the sweep that it is a trial of; "" for a run of its own
	Member  checkpoints.Member
	Problem error // why its ledger cannot be believed, or that its folder is gone; nil in most cases
	Lost    bool  // what it released, if anything, is not known
}

// Members returns the runs that released something. Of copies of one run, it returns the longest.
func Members(list []Listed) (members []checkpoints.Member) {
	for _, l := range list {
		at := slices.IndexFunc(members, func(m checkpoints.Member) bool { return m.Run == l.Member.Run })
		switch {
		case l.Member.Entries == 0:
		case at < 0:
			members = append(members, l.Member)
		case members[at].Entries < l.Member.Entries: // than a copy of it
			members[at] = l.Member
		}
	}
	return members
}

// Gone reports whether the run's folder is gone, but what it released is known.
func (l Listed) Gone() bool { return l.Member.Entries > 0 && errors.Is(l.Problem, errGone) }

// errGone: the folder of a run is gone, but its releases count.
var errGone = fmt.Errorf("what it released still counts: %w", fs.ErrNotExist)

// List reads the ledgers of all runs and trials of a folder, in the order of their names. What is
// wrong with one run is its Problem, and no error. Nothing is changed, so runs may be going on.
func List(dir string) ([]Listed, error) { return list(dir, "") }

// Trials lists, as List does, the trials of the sweep in that folder.
func Trials(sweep string) ([]Listed, error) {
	sweep = filepath.Clean(sweep)
	return list(filepath.Dir(sweep), sweep)
}

// list does what List does. If only is not "", it lists only the trials of the sweep in that
// folder.
func list(dir, only string) ([]Listed, error) {
	found, info, err := readFolder(dir)
	if err != nil {
		return nil, err
	}
	all := []Listed{}
	for _, run := range found.runs {
		if only != "" && filepath.Dir(run) != only {
			continue
		}
		l := listed(run, info)
		if l.Sweep = sweepOf(dir, l.Member.Path); !there(l.Sweep) && slices.Contains(found.sweeps, filepath.Dir(run)) {
			l.Sweep = filepath.Dir(run)
		}
		all = append(all, l)
	}
	for _, m := range info.Members {
		path := filepath.Join(dir, filepath.FromSlash(m.Path))
		if m.Entries == 0 || only != "" && sweepOf(dir, m.Path) != only || slices.ContainsFunc(all, func(l Listed) bool { return l.Member.Run == m.Run }) {
			continue
		}
		all = append(all, Listed{Dir: path, Sweep: sweepOf(dir, m.Path), Member: m, Problem: fmt.Errorf("train: %s: found no folder, expected that of a run in the ledger of the data: %w", path, errGone)})
	}
	for _, sweep := range found.sweeps {
		if only == "" || sweep == only {
			all = append(all, lostTrials(sweep, all)...)
		}
	}
	slices.SortStableFunc(all, func(a, b Listed) int {
		return cmp.Or(spelling.InOrder(cmp.Or(a.Sweep, a.Dir), cmp.Or(b.Sweep, b.Dir)), spelling.InOrder(a.Dir, b.Dir))
	})
	return all, nil
}

// sweepOf returns the folder of the sweep in which the run registered at path is a trial; "" if in
// none. The run stays a trial if its folder is gone, or lies elsewhere now.
func sweepOf(registry, path string) string {
	if sweep, _, ok := strings.Cut(path, "/"); ok && sweep != ".." {
		return filepath.Join(registry, sweep)
	}
	return ""
}

// lostTrials returns the trials that the table of a sweep has and list has not: what they released
// is not known. Sweeps of the first version can have such. An unreadable table is one entry.
func lostTrials(sweep string, list []Listed) (lost []Listed) {
	results, err := ReadRows(sweep)
	if err != nil {
		lost = append(lost, Listed{Dir: sweep, Sweep: sweep, Problem: err, Lost: true})
	}
	for _, r := range results {
		path := filepath.Join(sweep, r.Trial)
		if !slices.ContainsFunc(list, func(l Listed) bool {
			return l.Dir == path || filepath.Join(sweep, filepath.Base(l.Member.Path)) == path && l.Sweep == sweep
		}) {
			lost = append(lost, Listed{Dir: path, Sweep: sweep, Problem: fmt.Errorf("train: %s: found no folder, expected that of a trial with a row in %s; nothing tells what it released: %w", path, folder.Rows, fs.ErrNotExist), Lost: true})
		}
	}
	return lost
}

// listed reads one run. If its ledger is refused, Member is what the ledger of the data knows.
func listed(run string, info Known) Listed {
	l := Listed{Dir: run}
	found, warning, err := readMember(run, info)
	switch {
	case err != nil:
		l.Problem = err
	case found == nil:
		l.Problem = withoutLedger(run, fs.ErrNotExist)
	case warning != "":
		l.Problem = errors.New(warning)
	}
	path, unnamed := pathFrom(info.dir, run)
	switch {
	case found != nil:
		l.Member = *found
	case err != nil && unnamed == nil:
		for _, m := range info.Members { // the last one of that name: what the ledger of the data knows still counts
			if m.Path == path {
				l.Member = m
			}
		}
	}
	return l
}

// Sum adds up what some runs cost, for each data set that they were trained on: the guarantee for
// somebody who sees these runs and no other.
func Sum(dirs []string) ([]Total, error) {
	var members []checkpoints.Member
	for _, dir := range dirs {
		i, err := Inspect(dir)
		if err != nil {
			return nil, err
		}
		if at := slices.IndexFunc(members, func(m checkpoints.Member) bool { return m.Run == i.Run }); at >= 0 {
			return nil, fmt.Errorf("%w: found %s and %s, which are one run or a copy of it; expected different runs", ErrSame, members[at].Path, dir)
		}
		if err := i.known.register(dir, &i.Member); err != nil {
			return nil, err
		}
		i.Path = dir
		members = append(members, i.Member)
	}
	return (&survey{members: members}).totals()
}

// ErrSame: two runs that are to be added up are one.
var ErrSame = errors.New("train: not several runs")

// inspectMember is InspectTrial for any run. m has no registration but Path and Planned; it is nil
// if nothing was released. warning says that the ledger of the run's data was not found.
func inspectMember(dir string, info Known) (m *checkpoints.Member, warning string, err error) {
	path, err := pathFrom(info.dir, dir)
	if err != nil {
		return nil, "", err
	}
	i, err := inspectIn(dir, func(dir string, header checkpoints.JournalInfo) (Known, error) {
		// A long ledger is read once for all runs; only a run that is registered elsewhere is
		// looked up.
		if _, known := info.Member(header.Run); known || header.Datasets == info.ID {
			return info, nil
		}
		return registryOf(dir, header)
	})
	if errors.Is(err, folder.ErrNoRun) || errors.Is(err, ErrNotPrivate) || errors.Is(err, checkpoints.ErrUnfinished) {
		return nil, "", info.refuseLost(dir, path)
	}
	if err != nil {
		return nil, "", err
	}
	i.Path = path
	return &i.Member, i.Warning, nil
}

// readMember is inspectMember with the registration. If that cannot be had, it returns m and the
// error.
func readMember(dir string, info Known) (m *checkpoints.Member, warning string, err error) {
	m, warning, err = inspectMember(dir, info)
	if err == nil && m != nil {
		err = info.register(dir, m)
	}
	return m, warning, err
}

// register fills in the registration of m, the run in dir: the one in the ledgers of the data, or
// the one that the run would get there. The unit and the plan, where these lack them, are those of
// the run's folder.
func (k Known) register(dir string, m *checkpoints.Member) (err error) {
	known, ok := k.Member(m.Run)
	planned := m.Planned
	if m.Registration = known.Registration; !ok {
		m.Registration, err = adopted(k.dir, dir)
	}
	m.Data, m.Planned = withUnit(dir, m.Data), cmp.Or(m.Planned, planned)
	return err
}

// refuseLost returns an error if anything shows that a run without a ledger has released something.
func (k Known) refuseLost(dir, path string) error {
	who := ""
	for _, m := range k.Members {
		if m.Path == path && m.Entries > 0 {
			who = k.Where(m.Run)
		}
	}
	row, err := resultOf(dir)
	if err != nil {
		return err
	}
	if row != nil {
		who = filepath.Join(dir, "..", folder.Rows)
	}
	later, err := afterLedger(dir)
	if err != nil {
		return err
	}
	if later != "" && !notPrivate(dir) {
		who = filepath.Join(dir, later)
	}
	if who == "" {
		return nil
	}
	return fmt.Errorf("train: %s: found no whole %s, expected that of a run that has released something, as %s says; put it back from a copy, or choose another name: %w",
		dir, folder.Ledger, who, checkpoints.ErrRollback)
}

// afterLedger names something in a folder that a run makes only when it has a ledger; "" if there
// is nothing.
func afterLedger(dir string) (string, error) {
	entries, err := disk.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("train: %w", err)
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == folder.Config, name == folder.Statistics, name == folder.Ledger:
		case strings.HasPrefix(name, "."+folder.Config), strings.HasPrefix(name, "."+folder.Statistics):
		default:
			return name, nil
		}
	}
	return "", nil
}

// isGone reports whether a trial has no folder, and the ledger of the data knows all its releases.
func (k Known) isGone(dir string) (bool, error) {
	path, err := pathFrom(k.dir, dir)
	if err != nil || there(dir) {
		return false, err
	}
	row, err := resultOf(dir)
	return slices.ContainsFunc(k.Members, func(m checkpoints.Member) bool {
		return m.Path == path && m.Entries > 0 && (row == nil || row.LedgerEntries <= m.Entries)
	}), err
}

// InspectTrial reads the ledger of a trial and checks it as [Inspect] does. It also refuses a
// ledger of another run than the one that released something in this folder: a new run may take the
// name of one that is gone. It returns nil for a trial that was not started, or was killed before
// it had a ledger: nothing was released from it. A trial whose ledger is gone is refused.
func InspectTrial(dir string, info Known) (*checkpoints.Member, error) {
	found, _, err := inspectMember(dir, info)
	if err != nil || found == nil {
		return nil, err
	}
	for _, m := range info.Members {
		if m.Path == found.Path && m.Entries > 0 && m.Run != found.Run {
			return nil, fmt.Errorf("train: %s: found the ledger of run %s, expected that of run %s, which made %d releases there as %s says: %w",
				filepath.Join(info.dir, found.Path), found.Run, m.Run, m.Entries, info.Where(m.Run), checkpoints.ErrRollback)
		}
	}
	return found, nil
}
