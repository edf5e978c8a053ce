package checkpoints

import (
	"fmt"
	"slices"

	"dpsgd/accountant"
)

// DatasetsInfo describes a ledger of data sets.
type DatasetsInfo struct {
	ID       string // random identifier, 32 hexadecimal digits
	Hash     string // hash of the whole file
	Lines    int
	Members  []Member // in the order of their registration
	Limits   []Limit
	Reserved []Reservation
	First    []First
}

// Member is the ledger's knowledge of one run.
type Member struct {
	Run string // its identifier
	Registration
	Entries int
	Hash    string // of the run's own ledger after these entries
	Ledger  *accountant.Ledger

	line []byte
}

// Claim returns the statement of the ledger of data sets about the run's own ledger.
func (m Member) Claim(where string) Claim {
	return Claim{Where: where, Entries: m.Entries, Hash: m.Hash, line: m.line}
}

// Member returns what is known about a run.
func (i DatasetsInfo) Member(run string) (Member, bool) {
	for _, m := range i.Members {
		if m.Run == run {
			return m, true
		}
	}
	return Member{}, false
}

func (b *book) info() DatasetsInfo {
	i := DatasetsInfo{ID: b.id, Hash: b.head.String(), Lines: b.lines, Limits: slices.Clone(b.limits), Reserved: slices.Clone(b.reserved), First: slices.Clone(b.first)}
	for _, m := range b.order {
		i.Members = append(i.Members, Member{
			Run: m.chain.run, Registration: m.Registration, Entries: m.chain.entries, Hash: m.chain.head.String(),
			Ledger: m.chain.ledger.Clone(), line: m.line,
		})
	}
	return i
}

// ReadDatasets reads a ledger without locking or changing it.
func ReadDatasets(path string) (DatasetsInfo, error) {
	b, err := readBook(path, "")
	return b.info(), err
}

// FindHash returns the number of the line of a ledger of data sets that has a hash; 0 if none has.
func FindHash(path, hash string) (line int, err error) {
	b, err := readBook(path, hash)
	return b.soughtAt, err
}

func readBook(path, sought string) (book, error) {
	b := book{sought: sought}
	f, _, err := openRegular(disk{}, path)
	if err != nil {
		return b, err
	}
	defer f.Close()
	if _, err := b.read(content(f)); err != nil {
		return b, fmt.Errorf("checkpoints: %s: %w", path, err)
	}
	return b, nil
}
