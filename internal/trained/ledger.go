package trained

import (
	"fmt"
	"path/filepath"
	"slices"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
)

// checkStatement refuses a statement, which goes wherever the model goes, that promises more than
// the ledger of the run gives. It brings the claim of an earlier version up to date. It accepts any
// guarantee in a folder without a ledger.
func checkStatement(dir string, c *configs.Config, s *statement.Statement) error {
	if err := refuseOtherUnit(dir, c, *s); err != nil || !folder.HoldsAny(dir, folder.Ledger) {
		return err
	}
	i, err := books.Inspect(dir) // which holds the statement's entries and hash against the ledger
	if err != nil {
		return err
	}
	refuse := func(found, expected string) error {
		return fmt.Errorf("train: %s: found %s, expected %s of its %d entries in %s; `train resume %s` writes it again: %w",
			filepath.Join(dir, folder.StatementData), found, expected, s.LedgerEntries, folder.Ledger, folder.Argument(dir), checkpoints.ErrCorrupt)
	}
	if s.Delta != c.Privacy.Delta {
		return refuse(fmt.Sprintf("δ = %g", s.Delta), fmt.Sprintf("%g, that of %s,", c.Privacy.Delta, folder.Config))
	}
	// A resumed run may have more entries than its model.
	if i.Ledger, err = account.Beginning(i.Ledger, s.LedgerEntries); err != nil {
		return err
	}
	claim, err := i.Claim(c)
	if err != nil {
		return err
	}
	// Earlier versions claimed what a stopped run had released.
	if now := claim.Released; now != nil && s.ClaimedEntries == 0 && !s.Understates(now.Epsilon) {
		s.Answer, s.Released = claim.Answer(), now
		s.ClaimedEntries = claim.Ledger.Count() - account.Choices(claim.Ledger)
	}
	if s.Understates(claim.Epsilon) {
		err = refuse(fmt.Sprintf("ε = %g", s.Epsilon), "ε = "+accountant.RoundUp(claim.Epsilon, 3))
	}
	return err
}

// refuseOtherUnit refuses a statement that protects another unit than the configuration says, or
// that gives any guarantee where it says privacy.none.
func refuseOtherUnit(dir string, c *configs.Config, s statement.Statement) error {
	found, expected := s.Unit, setup.UnitOf(c)
	switch {
	case c.Privacy.None && s.Private():
		found, expected = "a guarantee", "none, for privacy.none"
	case c.Privacy.None || expected == "" || s.Unit == expected && (s.System != "" || expected != setup.Label):
		return nil
	}
	return fmt.Errorf("train: %s: found %s, expected %s in %s: %w", filepath.Join(dir, folder.StatementData), found, expected, folder.Config, checkpoints.ErrCorrupt)
}

// selected does nothing unless the run is a trial of a sweep of which nobody may learn how many
// points there were. It gives the model of the best point the statement that is to be published
// with it, and marks the model of any other point.
func (m *Model) selected() {
	if !m.Statement.Hidden && !folder.OfHiddenNumber(m.Dir) {
		return
	}
	own := m.Statement
	s, err := statement.ReadSelected(filepath.Join(m.Dir, ".."))
	if err != nil || !slices.Contains(s.Models, own.ModelSHA256) {
		m.Statement.Hidden, m.Statement.Together = true, statement.Together{}
		return
	}
	s.ModelSHA256, s.Steps, s.Features, s.InitialWeights = own.ModelSHA256, own.Steps, own.Features, own.InitialWeights
	m.Statement = s
}
