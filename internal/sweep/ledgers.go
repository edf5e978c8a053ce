package sweep

import (
	"path/filepath"

	"dpsgd/checkpoints"
	"dpsgd/internal/books"
)

// Inspect reads the ledgers of all trials, holds them against everything that speaks of them, and
// returns those that released something. It writes nothing.
func (s *sweep) inspect() ([]checkpoints.Member, error) {
	info, err := books.ReadDatasets(s.registry)
	if err != nil {
		return nil, err
	}
	s.started = map[string]bool{}
	var members []checkpoints.Member
	for _, t := range s.trials {
		m, err := books.InspectTrial(s.registry, filepath.Join(s.dir, t.Name), info)
		if err != nil {
			return nil, err
		}
		s.started[t.Name] = m != nil
		if m != nil && m.Entries > 0 {
			m.Delta, m.Accountant = t.Config.Privacy.Delta, t.Config.Privacy.Accountant
			members = append(members, *m)
		}
	}
	return members, nil
}
