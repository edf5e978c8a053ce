package sweep

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
)

// inspect returns the ledgers that hold releases, of all trials or of a task's own, by the names of
// the trials. It refuses those that other files about them contradict, and writes nothing.
func (s *sweep) inspect() (map[string]checkpoints.Member, error) {
	info, err := books.ReadDatasets(s.registry)
	if err != nil {
		return nil, err
	}
	if err := s.refuseOthers(info); err != nil {
		return nil, err
	}
	members := map[string]checkpoints.Member{}
	for i, t := range s.trials {
		if !s.ours(i) {
			continue
		}
		m, err := books.InspectTrial(filepath.Join(s.dir, t.Name), info)
		if err != nil {
			return nil, err
		}
		if m != nil && m.Entries > 0 {
			m.Delta, m.Accountant = t.Config.Privacy.Delta, t.Config.Privacy.Accountant
			members[t.Name] = *m
		}
	}
	return members, nil
}

// refuseOthers refuses a folder in which another trial released something: a sweep whose folder is
// gone would draw other points, and forget those.
func (s *sweep) refuseOthers(info books.Known) error {
	for _, m := range info.Members {
		name, inside := strings.CutPrefix(m.Path, s.file.Name+"/")
		ours := slices.ContainsFunc(s.trials, func(t configs.Trial) bool { return t.Name == name })
		if inside && m.Entries > 0 && !ours {
			return fmt.Errorf("train: %s: found no such trial in the sweep, expected the one that made %d releases there as %s says; put its folder and %s back from a copy, or choose another name in the sweep file: %w",
				filepath.Join(s.dir, name), m.Entries, info.Where(m.Run), folder.Sweep, checkpoints.ErrRollback)
		}
	}
	return nil
}

// Composed is the cost of all trials of a sweep together: the guarantee for somebody who looks at
// all of them, and so also for publishing the one that looks best. (Papernot and Steinke,
// arXiv:2110.03620, section 1, on why the ε of the best one alone would be wrong.)
type Composed struct {
	account.Answer
	Releases int `json:"releases"` // by now
	// Planned counts the releases that Answer covers, where the sweep stopped before all trials
	// made theirs: who stopped it may have looked. Released covers the releases by now, and holds
	// only if nobody did.
	Planned  int             `json:"planned_releases,omitempty"`
	Released *account.Answer `json:"released,omitempty"`
}

// compose returns the cost of all trials together, also of unfinished ones, at the least of their
// deltas, or nil if nothing was released. members has the ledgers with releases by trial.
func (s *sweep) compose(members map[string]checkpoints.Member) (*Composed, error) {
	if len(members) == 0 {
		return nil, nil
	}
	var released, planned []checkpoints.Member
	var err error
	for i, t := range s.trials {
		m := checkpoints.Member{Ledger: s.plans[i].releases}
		m.Delta, m.Accountant = t.Config.Privacy.Delta, t.Config.Privacy.Accountant
		if own, ok := members[t.Name]; ok {
			released = append(released, own)
			if m.Ledger, err = account.ClaimedBy(m.Accountant, own.Ledger, &checkpoints.Planned{Epsilon: t.Config.Privacy.Epsilon, Releases: m.Ledger}, m.Delta); err != nil {
				return nil, err
			}
		}
		planned = append(planned, m)
	}
	now, releases, err := books.Compose(released)
	if err != nil {
		return nil, err
	}
	all, total, err := books.Compose(planned)
	if err != nil {
		return nil, err
	}
	c := &Composed{Answer: now.Answer(), Releases: releases}
	if all.Epsilon > now.Epsilon {
		answer := now.Answer()
		c.Answer, c.Planned, c.Released = all.Answer(), total, &answer
	}
	return c, nil
}
