package trained

import (
	"fmt"
	"path/filepath"

	"dpsgd/accountant"
)

// Fact is one thing that an exported model says about itself.
type Fact struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Training returns a few words on how private the training was.
func (m *Model) Training() string {
	if !m.Statement.Private() {
		return "WITHOUT PRIVACY"
	}
	return "with differential privacy of " + m.Statement.Unit
}

// Provenance returns the facts that go with the model wherever it goes: where it comes from, and
// its privacy guarantee. All of it stands in the privacy statement of the run; none of it is
// private.
func (m *Model) Provenance() []Fact {
	s := m.Statement
	facts := []Fact{{"privacy", "NOT PRIVATE: trained without privacy, no guarantee"}}
	if s.Private() {
		facts = []Fact{
			{"privacy.epsilon", accountant.RoundUp(s.Epsilon, 3)},
			{"privacy.delta", fmt.Sprint(s.Delta)},
			{"privacy.accountant", s.Accountant},
			{"privacy.unit", s.Unit},
			{"privacy.relation", s.Relation},
			{"privacy.mechanism", s.Mechanisms()},
		}
	}
	if s.Hidden {
		facts = append(facts, Fact{"not_to_be_published", "one trial of a sweep that drew how many points there are"})
	}
	if s.InitialWeights != "" {
		facts = append(facts, Fact{"privacy.initial_weights", s.InitialWeights})
	}
	if s.Trained != "" {
		facts = append(facts, Fact{"parameters", s.Trained})
	}
	if total := s.DatasetTotal(); total != "" {
		facts = append(facts, Fact{"privacy.all_runs", "on this data with this unit: " + total})
	}
	facts = append(facts, Fact{"data", fmt.Sprintf("%s, %d examples of %s%s", s.Data, s.Examples, s.Shape, s.Learnt())})
	if m.Config.Model.Name != "" {
		facts = append(facts, Fact{"network", m.Config.Model.Name})
	}
	facts = append(facts, Fact{"run", filepath.Base(s.Run)})
	if s.LedgerHead != "" {
		facts = append(facts, Fact{"ledger_head", s.LedgerHead})
	}
	if s.ModelSHA256 != "" {
		facts = append(facts, Fact{"model_sha256", s.ModelSHA256})
	}
	return facts
}
