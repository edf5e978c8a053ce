package books

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/internal/folder"
)

// inspectMember is InspectTrial for any run. The member has no registration but its path.
func inspectMember(registry, dir string, info Known) (m *checkpoints.Member, warning string, err error) {
	path, err := pathFrom(registry, dir)
	if err != nil {
		return nil, "", err
	}
	i, err := inspectIn(dir, func(header checkpoints.JournalInfo) (home, error) {
		// A long ledger is read once for all runs; only a run that is registered elsewhere is
		// looked up.
		if _, known := info.Member(header.Run); known || header.Datasets == info.ID {
			return home{dir: registry, info: info}, nil
		}
		return registryOf(dir, header)
	})
	if errors.Is(err, folder.ErrNoRun) || errors.Is(err, ErrNotPrivate) || errors.Is(err, checkpoints.ErrUnfinished) {
		return nil, "", refuseLost(registry, dir, path, info)
	}
	if err != nil {
		return nil, "", err
	}
	m = &checkpoints.Member{Run: i.Info.Run, Entries: i.Info.Entries, Hash: i.Info.Hash, Ledger: i.Ledger}
	m.Path = path
	return m, i.Warning, nil
}

// refuseLost returns an error if anything shows that a run without a ledger has released something.
func refuseLost(registry, dir, path string, info Known) error {
	who := ""
	for _, m := range info.Members {
		if m.Path == path && m.Entries > 0 {
			who = info.Where(registry, m.Run)
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
	entries, err := os.ReadDir(dir)
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

// isGone says whether a trial has no folder, and the ledger of the data knows all that it released.
func isGone(registry, dir string, info Known) (bool, error) {
	path, err := pathFrom(registry, dir)
	if err != nil || there(dir) {
		return false, err
	}
	row, err := resultOf(dir)
	return slices.ContainsFunc(info.Members, func(m checkpoints.Member) bool {
		return m.Path == path && m.Entries > 0 && (row == nil || row.Entries <= m.Entries)
	}), err
}

// InspectTrial reads the ledger of a trial and holds it against everything that speaks of it, as
// [Inspect] does for a run, and makes sure that it is the run that released something in its folder:
// other runs may take the name of one that is gone. It returns nil for a trial that was not started,
// or was killed before it had a ledger: nothing was released from it. A trial whose ledger is gone is
// refused.
func InspectTrial(registry, dir string, info Known) (*checkpoints.Member, error) {
	found, _, err := inspectMember(registry, dir, info)
	if err != nil || found == nil {
		return nil, err
	}
	for _, m := range info.Members {
		if m.Path == found.Path && m.Entries > 0 && m.Run != found.Run {
			return nil, fmt.Errorf("train: %s: found the ledger of run %s, expected that of run %s, which made %d releases there as %s says: %w",
				filepath.Join(registry, found.Path), found.Run, m.Run, m.Entries, info.Where(registry, m.Run), checkpoints.ErrRollback)
		}
	}
	return found, nil
}
