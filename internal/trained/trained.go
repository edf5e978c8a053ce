// Package trained opens the model of a run that has ended without the data of the run: to predict
// with it, to export it, to describe it. Pictures and rows that it predicts are read, resized,
// normalised and turned into features exactly as the training examples were.
package trained

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/features"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/model"
)

// Model is a trained network with everything public that is known about it.
type Model struct {
	Dir         string
	Config      *configs.Config
	Data        setup.Outline // what it was trained on; Shape and Names are those of what it predicts
	Network     *model.Model
	FeatureMean []float32 // subtracted from features; nil where none is
	Statement   statement.Statement
}

// Open reads the model in the folder of a run. It checks the model by the SHA-256 in the run's
// statement, and the statement by the run's ledger.
func Open(dir string) (*Model, error) { return open(dir, false) }

// ToPublish opens a model as Open does. Its statement has what all runs on the data cost together by
// now: that of the run knows of no run that released something after it had ended, such as the other
// trials of its sweep.
func ToPublish(dir string) (*Model, error) { return open(dir, true) }

func open(dir string, published bool) (*Model, error) {
	c, err := folder.ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	m := &Model{Dir: dir, Config: c}
	var tensors []model.Tensor
	if tensors, m.FeatureMean, err = Weights(dir, c); err != nil {
		return nil, err
	}
	m.Statement, err = statement.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, folder.Without(dir, folder.StatementData)
	}
	if err != nil {
		return nil, err
	}
	if err := checkStatement(dir, c, &m.Statement); err != nil {
		return nil, err
	}
	if published && folder.HoldsAny(dir, folder.Ledger) {
		if m.Statement.Together, err = books.TogetherNow(dir, m.Statement.Together); err != nil {
			return nil, err
		}
	}
	m.selected()
	m.Data = setup.Declared(c)
	complete(&m.Statement, m.Data)
	if m.Data.Examples = m.Statement.Examples; m.Data.Shape.String() != m.Statement.Shape || m.Data.Classes != m.Statement.Classes {
		return nil, fmt.Errorf("%w: %s is about %d classes of %s, %s about %d of %v, expected the same", checkpoints.ErrCorrupt,
			filepath.Join(dir, folder.StatementData), m.Statement.Classes, m.Statement.Shape, folder.Config, m.Data.Classes, m.Data.Shape)
	}
	if m.Network, err = setup.Model(c, m.Data.Shape, m.Data.Classes); err != nil {
		return nil, err
	}
	if err := m.Network.Import(tensors); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", filepath.Join(dir, folder.Model), err, checkpoints.ErrCorrupt)
	}
	return m, nil
}

// complete fills in fields that statements of earlier versions lack from fields that they have.
func complete(s *statement.Statement, o setup.Outline) {
	if s.Shape == "" {
		s.Shape, s.Classes = o.Shape.String(), o.Classes
	}
	s.Sampling = cmp.Or(s.Sampling, fmt.Sprintf("%s, q = %v", s.Sampler, s.SamplingProbability))
	s.Bound = cmp.Or(s.Bound, fmt.Sprintf("%s, C = %v", s.Clipping, s.ClipNorm))
	s.Noise = cmp.Or(s.Noise, fmt.Sprintf("%s, σ = %v", s.Mechanism, s.NoiseMultiplier))
}

// Kind says what kind of input a network was trained on.
type Kind int

// What a network can see.
const (
	Pictures Kind = iota
	Rows          // records of a table
	Vectors       // of numbers that another program computed
	Texts
)

// Sees returns what kind of examples the model was trained on, before features are made of them.
func (m *Model) Sees() Kind {
	switch {
	case m.Config.Data.Vectors != "":
		return Vectors
	case m.Data.Shape.IsText():
		return Texts
	case m.Data.Shape.IsRow():
		return Rows
	}
	return Pictures
}

// Features returns the definition of the features that the network sees; nil if it sees examples as
// they are. Features that are learnt from drawn pictures are learnt again, which takes seconds to a
// minute.
func (m *Model) Features() (*features.Definition, error) {
	if !m.Config.Features.Any() {
		return nil, nil
	}
	pool := kernel.NewPool(setup.Threads(m.Config))
	defer pool.Close()
	e, err := m.Config.Features.Prepare(m.Data.Shape, pool)
	if err != nil {
		return nil, err
	}
	d, ok := e.Definition()
	if !ok {
		return nil, fmt.Errorf("train: the network sees the features %s, which cannot be written in another program's words", m.Config.Features.Transform.Name())
	}
	return &d, nil
}

// Normalisation returns the constants by which examples are normalised for the network; none for
// features.
func (m *Model) Normalisation() data.Normalisation {
	return setup.Normalisation(m.Config, m.Data.Shape.Channels)
}

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
	// A resumed run may have more entries than its model. Of no entry a statement costs nothing.
	if i.Ledger, err = account.Beginning(i.Ledger, max(1, s.LedgerEntries)); err != nil {
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
	s, err := statement.ReadSelected(folder.Above(m.Dir))
	if err != nil || !slices.Contains(s.Models, own.ModelSHA256) {
		m.Statement.Hidden, m.Statement.Together = true, statement.Together{}
		return
	}
	s.ModelSHA256, s.Steps, s.Features, s.InitialWeights = own.ModelSHA256, own.Steps, own.Features, own.InitialWeights
	m.Statement = s
}
