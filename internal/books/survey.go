package books

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"dpsgd/checkpoints"
	"dpsgd/internal/folder"
)

// A survey is everything that a folder of runs says about what was released.
type survey struct {
	folders folders
	info    Known
	// baselines are runs that are NOT PRIVATE and so have no ledger.
	baselines []string
	members   []checkpoints.Member // registered or not, as the longest of their ledgers knows them
	found     map[string]string    // the folders of runs, by the identifiers of these
	problems  []error              // in the order in which they were found
}

// surveyRuns reads all runs and sweeps of a folder. It changes nothing, so runs may be going on.
// What is wrong with one run is a problem of the survey, not its end.
func surveyRuns(dir string) (*survey, error) {
	s := &survey{found: map[string]string{}}
	var err error
	if s.folders, s.info, err = readFolder(dir); err != nil {
		return nil, err
	}
	if s.info.ID == "" && len(s.folders.runs)+len(s.folders.sweeps)+len(s.folders.apart) == 0 {
		return nil, fmt.Errorf("%w: %s holds no %s and no run, expected a folder of runs", folder.ErrNoRun, dir, folder.Datasets)
	}
	s.add(s.folders.refuseRegistered(dir, s.info.ID))
	s.members = slices.Clone(s.info.Members)
	for _, run := range s.folders.runs {
		s.add(s.run(run))
	}
	for _, sweep := range s.folders.sweeps {
		s.add(s.sweep(sweep))
	}
	return s, nil
}

// readFolder lists the runs and sweeps of a folder, and reads all ledgers.
func readFolder(dir string) (f folders, k Known, err error) {
	if err = folder.Check(dir, "a folder of runs"); err != nil {
		return f, k, err
	}
	if f, err = foldersBelow(dir); err == nil {
		k, err = readKnown(dir)
	}
	k.addOwn(f.runs)
	return f, k, err
}

// add adds a problem that is not known yet; nil is none.
func (s *survey) add(problem error) {
	if problem != nil && !slices.ContainsFunc(s.problems, func(known error) bool { return known.Error() == problem.Error() }) {
		s.problems = append(s.problems, problem)
	}
}

// run adds the run in dir to the members, or to the baselines, or returns what is wrong with it.
func (s *survey) run(dir string) error {
	found, warning, err := readMember(dir, s.info)
	switch {
	case err != nil:
		return err
	case found == nil:
		if notPrivate(dir) {
			s.baselines = append(s.baselines, folder.Name(dir))
		}
		return nil
	case warning != "":
		return fmt.Errorf("train: %s: %w", warning, checkpoints.ErrRollback)
	}
	s.found[found.Run] = dir
	if i := slices.IndexFunc(s.members, func(m checkpoints.Member) bool { return m.Run == found.Run }); i >= 0 {
		s.members[i] = *found
		return nil
	}
	s.add(s.info.keepsLimit(dir, found.Data.Subject()))
	s.members = append(s.members, *found)
	return nil
}

// sweep adds a problem for each trial of a sweep whose ledger is missing or is another run's. It
// accepts a trial without a folder if the ledger of the data knows its releases.
func (s *survey) sweep(dir string) error {
	var names []string
	results, err := ReadRows(dir)
	if err != nil {
		return err
	}
	for _, r := range results {
		names = append(names, r.Trial)
	}
	record, err := ReadSweep(dir)
	s.add(err)
	for _, t := range record.Trials {
		names = append(names, t.Name)
	}
	for _, name := range names {
		gone, err := s.info.isGone(filepath.Join(dir, name))
		if !gone && err == nil {
			_, err = InspectTrial(filepath.Join(dir, name), s.info)
		}
		s.add(err)
	}
	return nil
}

// gone lists the runs and trials that released something, as the ledger of the data knows, and have
// no folder below this one: deleted, or moved out of it. Another run may have its name by now.
func (s *survey) gone() (paths []string) {
	dirs := slices.Collect(maps.Values(s.found))
	for _, m := range s.info.Members {
		dir := filepath.Join(s.info.dir, filepath.FromSlash(m.Path))
		if m.Entries > 0 && s.found[m.Run] == "" && (!there(dir) || slices.Contains(dirs, dir)) {
			paths = append(paths, m.Path)
		}
	}
	return paths
}

// totals returns what the members cost on each data set together, in the order of the data's names.
func (s *survey) totals() ([]Total, error) {
	totals := []Total{}
	for _, d := range dataOfAll(s.members) {
		t, err := totalOf(d, onData(s.members, d))
		if err != nil {
			return nil, err
		}
		totals = append(totals, t)
	}
	slices.SortStableFunc(totals, func(a, b Total) int { return cmp.Compare(a.Data.Name, b.Data.Name) })
	return totals, nil
}

// dataOfAll lists the data of which the members released something, each once. Data without a unit
// have a total of their own only where they are part of no other.
func dataOfAll(members []checkpoints.Member) (all []checkpoints.Data) {
	for _, known := range []bool{true, false} {
		for _, m := range members {
			if m.Entries > 0 && m.Data.Unit.Known() == known && !slices.ContainsFunc(all, m.Data.Same) {
				all = append(all, m.Data)
			}
		}
	}
	return all
}

// Totals says what the runs of a folder cost, for each data set.
type Totals struct {
	Ledger   string  `json:"ledger"` // the file
	Head     string  `json:"head"`   // its hash; "" before there is one
	Datasets []Total `json:"datasets"`
	// Uncollected are runs in the totals whose last releases Head does not cover: see Collect.
	Uncollected []string `json:"uncollected,omitempty"`
	// Gone are runs and trials without a folder, which the totals count.
	Gone []string `json:"gone,omitempty"`
	// NotPrivate are the baselines of the folder, which were trained without privacy. If one of
	// them is published, no total describes what is known about its data.
	NotPrivate []string `json:"not_private,omitempty"`
	// Limits of the data, with what is used of each.
	Limits []LimitState `json:"limits,omitempty"`
}

// Show returns what all runs in a folder cost together. It answers only if all files that mention a
// ledger agree with it; an error has a line for each problem.
func Show(dir string) (Totals, error) {
	s, err := surveyRuns(dir)
	if err != nil {
		return Totals{}, err
	}
	if len(s.problems) > 0 {
		return Totals{}, errors.Join(s.problems...)
	}
	used, err := s.info.limits()
	if err != nil {
		return Totals{}, err
	}
	totals, err := s.totals()
	return Totals{Ledger: s.info.path(), Head: s.info.Hash, Datasets: totals, Uncollected: s.info.uncollected(), Gone: s.gone(), NotPrivate: s.baselines, Limits: used}, err
}

// Check is the outcome of a check of all ledgers of a folder.
type Check struct {
	Ledger   string `json:"ledger"`
	Head     string `json:"head"`
	Runs     int    `json:"runs"`
	Sweeps   int    `json:"sweeps"`
	Releases int    `json:"releases"`
	HeadLine int    `json:"head_line,omitempty"` // the line with the hash that was asked for; 0 if none
	// Uncollected are runs whose last releases Head does not cover: see Collect.
	Uncollected []string `json:"uncollected,omitempty"`
	Gone        []string `json:"gone,omitempty"` // runs and trials without a folder, which count
	Problems    []string `json:"problems"`
}

// Verify checks the ledgers of all runs and sweeps in a folder. If head is not "", some line of the
// ledger of data sets must have that hash: that shows a whole folder that was put back to an older
// copy. The same goes for the heads that witnesses keep. The error has a line for each problem.
func Verify(dir, head string, witnesses ...Head) (Check, error) {
	s, err := surveyRuns(dir)
	if err != nil {
		return Check{}, err
	}
	for _, run := range s.folders.runs {
		_, damaged, err := readCheckpoints(run)
		s.add(err)
		for _, problem := range damaged {
			s.add(problem)
		}
	}
	c := Check{Ledger: s.info.path(), Head: s.info.Hash, Uncollected: s.info.uncollected(), Gone: s.gone(), Runs: len(s.folders.runs), Sweeps: len(s.folders.sweeps), Problems: []string{}}
	for _, m := range s.members {
		c.Releases += m.Entries
	}
	if head != "" {
		if c.HeadLine, err = checkpoints.FindHash(s.info.path(), head); err != nil && !absent(err) {
			return Check{}, err
		}
		if c.HeadLine == 0 {
			s.add(fmt.Errorf("train: %s: found no line with the hash %s, expected that of a head that was shown before: %w", s.info.path(), head, checkpoints.ErrRollback))
		}
	}
	for _, w := range witnesses {
		s.add(w.holds(s.info))
	}
	for _, problem := range s.problems {
		c.Problems = append(c.Problems, problem.Error())
	}
	return c, errors.Join(s.problems...)
}
