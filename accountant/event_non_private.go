package accountant

// NonPrivate is a release without any guarantee: every accountant answers ε = +Inf for a ledger
// that holds one.
type NonPrivate struct{}

func (NonPrivate) String() string { return "NonPrivate" }

func (e NonPrivate) simplest() (Event, error) { return e, nil }

func (e NonPrivate) seenBy(int) (Event, error) { return e, nil }

func (*NonPrivate) parameters() []parameter { return nil }
