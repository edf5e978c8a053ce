package checkpoints

import "fmt"

// A Claim is a statement of another file about a run's ledger: it held so many entries, and had
// this hash then. A ledger only grows, so a claim stays true for ever, unless the ledger is
// replaced by an older copy, by another run's ledger, or by another branch of the same run.
type Claim struct {
	Where   string // who says so, as it stands in an error: "the checkpoint at step 12"
	Entries int
	Hash    string // "" where the file says the number alone

	// line is the last of these entries, where the file keeps it: see Member.Claim.
	line []byte
}

// Claim returns the statement of the checkpoint about the ledger. A ledger for which it does not
// hold was replaced by an older copy or by another run's, and going on would forget a spend.
func (s *State) Claim() Claim {
	return Claim{Where: fmt.Sprintf("the checkpoint at step %d", s.Step), Entries: s.LedgerEntries, Hash: s.LedgerHash}
}

// Check compares the ledger with claims. The error matches ErrRollback if a claim does not hold.
// Check writes nothing.
//
// One entry may be missing: the last one of a ledger of data sets. A power loss while both files
// were being synced can leave it there alone. Nothing was released from it, but nobody can tell, so
// it counts from now on, and [Journal.Recover] puts its line back. An entry that a checkpoint or a
// statement knows is not of this kind.
func (j *Journal) Check(claims ...Claim) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.chain.heads = headsOf(claims)
	defer func() { j.chain.heads = nil }()
	past := chain{heads: j.chain.heads}
	if _, err := past.read(content(j.f), j.chain.entries); err != nil {
		return fmt.Errorf("checkpoints: %s: %w", j.path, err)
	}
	j.chain.note()
	missing, err := j.chain.check(claims)
	if err != nil {
		return fmt.Errorf("checkpoints: %s: %w", j.path, err)
	}
	j.missing = append(j.missing, missing...)
	return nil
}

// headsOf returns a map with a key for each number of entries of the claims, for chain.heads.
func headsOf(claims []Claim) map[int]digest {
	heads := map[int]digest{}
	for _, c := range claims {
		heads[c.Entries] = digest{}
	}
	return heads
}

// check returns an error if a claim does not hold for the chain. It adds the one entry that may be
// missing, if a claim has its line, and returns that line with a newline; else missing is nil.
func (c *chain) check(claims []Claim) (missing []byte, err error) {
	var last record
	for _, claim := range claims {
		if claim.Entries <= c.entries {
			if head := c.heads[claim.Entries].String(); claim.Hash != "" && claim.Hash != head {
				return nil, fmt.Errorf("found hash %s after %d entries, expected %.40q of %s: %w", head, claim.Entries, claim.Hash, claim.Where, ErrRollback)
			}
			continue
		}
		if claim.Entries == c.entries+1 && claim.line != nil {
			if r, err := c.parse(claim.line); err == nil {
				last, missing = r, claim.line
				continue
			}
		}
		return nil, fmt.Errorf("found %d ledger entries, expected at least the %d of %s: %w", c.entries, claim.Entries, claim.Where, ErrRollback)
	}
	if missing == nil {
		return nil, nil
	}
	return append(missing[:len(missing):len(missing)], '\n'), c.add(last)
}
