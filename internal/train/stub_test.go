package train

import (
	"fmt"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/internal/tiny"
)

// stub is the exact accountant with a counter, and with refusals on demand.
type stub struct {
	accountant.Accountant
	asked   int
	refuses func(l *accountant.Ledger) bool // nil never
}

func newStub(t testing.TB, refuses func(*accountant.Ledger) bool) *stub {
	t.Helper()
	exact := tiny.Must(accountants.New("exact", accountant.ZeroOut))(t)
	return &stub{Accountant: exact, refuses: refuses}
}

func (s *stub) Guarantee(l *accountant.Ledger, delta float64) (accountant.Guarantee, error) {
	s.asked++
	if s.refuses != nil && s.refuses(l) {
		return accountant.Guarantee{}, fmt.Errorf("%w: the stub knows nothing of %d releases", accountant.ErrUncertified, l.Count())
	}
	return s.Accountant.Guarantee(l, delta)
}

func always(*accountant.Ledger) bool { return true }

// stubPlan is a plan that a stub accounts for.
func stubPlan(t testing.TB, s *stub, overrides ...string) *RunPlan {
	t.Helper()
	return tiny.Must(newPlan(tiny.Parse(t, overrides...), tiny.Examples, Options{account: s}, nil, nil))(t)
}

func guarantee(t testing.TB, a accountant.Accountant, l *accountant.Ledger, delta float64) accountant.Guarantee {
	t.Helper()
	return tiny.Must(a.Guarantee(l, delta))(t)
}
