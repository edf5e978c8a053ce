package checkpoints

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"dpsgd/accountant"
)

// The ledger of data sets. Line 1 is the header; a register line says who a run is and what its own
// ledger holds by now, and a release line is a copy of one further line of that ledger:
//
//	{"format":"dpsgd-datasets","version":1,"id":"<32 hex>"}
//	{"register":{"run":"<32 hex>","path":"…","data":{…},…},"previous":"<32 hex>","hash":"<32 hex>"}
//	{"release":{"run":"<32 hex>","line":{"step":1,…}},"previous":"<32 hex>","hash":"<32 hex>"}
//
// previous and hash chain the lines as in the ledger of a run. Lines of runs that are under way at
// the same time lie between each other. A run is registered again to catch up, when its own ledger
// is ahead.
const (
	datasetsStart = `{"format":"dpsgd-datasets","version":1,"id":"`
	registerKey   = `{"register":`
	releaseKey    = `{"release":{"run":"`
	limitKey      = `{"limit":`
	reserveKey    = `{"reserve":`
	firstKey      = `{"first":`
	lineKey       = `","line":`
	releaseEnd    = `}`

	// maxDatasetsLine bounds a line, newline included: a register line lists the different events
	// of a run.
	maxDatasetsLine = 1 << 20
)

// Registration describes a run: its folder, its data, and how it is accounted for.
type Registration struct {
	Path       string  `json:"path"` // of its folder, from the folder of the ledger, with forward slashes
	Data       Data    `json:"data"`
	Delta      float64 `json:"delta"`
	Accountant string  `json:"accountant"` // that the run is accounted for by
	// Planned is nil where nobody knows it: of runs that an earlier version began.
	Planned *Planned `json:"planned,omitempty"`
}

// Planned is everything that a run set out to release, fixed before its first release. Whoever
// stops the run earlier may have looked at results, so its guarantee is about all of it.
type Planned struct {
	Epsilon  float64            `json:"epsilon,omitempty"` // of the budget, which ends the run too; 0 for none
	Releases *accountant.Ledger `json:"releases"`
}

// registerLine is the content of a register line.
type registerLine struct {
	Run string `json:"run"`
	Registration
	Entries  int                `json:"entries"`
	LastStep int                `json:"last_step"`
	Head     string             `json:"head"`
	Released *accountant.Ledger `json:"released"`
}

// A book collects what the lines of a ledger of data sets say, up to some line.
type book struct {
	id      string
	head    digest
	lines   int
	members map[string]*member
	order   []*member // as they were registered first

	limits   []Limit       // the last one for each subject
	reserved []Reservation // reservations that were not given back
	first    []First       // of each subject, if it has one
}

// A member is one registered run: its registration, and what its own ledger was known to hold.
type member struct {
	Registration
	chain chain
	line  []byte // the last line of the run's ledger, if a release line brought it; else nil
}

// NewDatasets returns the content of a ledger of data sets, with a new identifier and no run.
func NewDatasets() []byte { return new(book).formatHeader() }

func (b *book) formatHeader() []byte {
	b.id = publicRandom(runSize)
	line := []byte(datasetsStart + b.id + headerEnd)
	return append(line, '\n')
}

// formatRegister returns the line that registers a run as r. The line lists what the run has
// released up to c, the state of its own ledger. For a run that is registered already, the line
// renews that list alone.
func (b *book) formatRegister(c *chain, r Registration) ([]byte, error) {
	if err := r.Data.Subject().check(); err != nil {
		return nil, err
	}
	line := registerLine{Run: c.run, Registration: r, Entries: c.entries, LastStep: c.lastStep, Head: c.head.String(), Released: &c.ledger}
	object, err := json.Marshal(line)
	if err != nil {
		return nil, err
	}
	return b.link(append([]byte(registerKey), object...))
}

// formatRelease returns the line that holds line, which comes after c in the run's own ledger.
func (b *book) formatRelease(c *chain, line []byte) ([]byte, error) {
	m := b.members[c.run]
	if m == nil {
		return nil, errors.New("found a release of a run that is not registered")
	}
	if m.chain.entries != c.entries || m.chain.head != c.head {
		return nil, fmt.Errorf("found %d entries of %s, expected the %d of its ledger (a copy of the run goes on elsewhere): %w",
			m.chain.entries, m.Path, c.entries, ErrRollback)
	}
	start := append([]byte(releaseKey+c.run+lineKey), bytes.TrimSuffix(line, []byte("\n"))...)
	return b.link(append(start, releaseEnd...))
}

// link ends a line with its hashes, and refuses one of more than maxDatasetsLine bytes.
func (b *book) link(content []byte) ([]byte, error) {
	line, _ := link(content, b.head)
	if len(line) > maxDatasetsLine {
		return nil, fmt.Errorf("found a line of %d bytes, expected at most %d", len(line), maxDatasetsLine)
	}
	return line, nil
}

// read adds the lines in r, which follow those that the book has.
func (b *book) read(r io.Reader) (extent, error) { return b.readEach(r, func() {}) }

// readEach does what read does, and calls after behind each line.
func (b *book) readEach(r io.Reader, after func()) (extent, error) {
	starts := []string{registerKey, releaseKey, limitKey, reserveKey, firstKey}
	return readLines(r, b.lines+1, maxDatasetsLine, starts, func(number int, line []byte) error {
		defer after()
		return b.addLine(number, line)
	})
}

func (b *book) addLine(number int, line []byte) error {
	if number == 1 {
		id, ok := bytes.CutPrefix(line, []byte(datasetsStart))
		if id, ended := bytes.CutSuffix(id, []byte(headerEnd)); ok && ended && isHex(id, runSize) {
			b.id, b.members, b.head, b.lines = string(id), map[string]*member{}, digestOf(line), 1
			return nil
		}
		return fmt.Errorf("found %.80q, expected the header %s…", line, datasetsStart)
	}
	content, hash, err := unlink(line, b.head)
	if err != nil {
		return err
	}
	if object, ok := bytes.CutPrefix(content, []byte(registerKey)); ok {
		err = b.addRegister(object)
	} else if rest, ok := bytes.CutPrefix(content, []byte(releaseKey)); ok {
		err = b.addRelease(rest)
	} else if bytes.HasPrefix(content, []byte(limitKey)) || bytes.HasPrefix(content, []byte(reserveKey)) || bytes.HasPrefix(content, []byte(firstKey)) {
		err = b.addTerms(content)
	} else {
		err = fmt.Errorf("found %.60q, expected %s… or %s…", line, registerKey, releaseKey)
	}
	if err == nil {
		b.head, b.lines = hash, b.lines+1
	}
	return err
}

func (b *book) addRegister(object []byte) error {
	var line registerLine
	if err := json.Unmarshal(object, &line); err != nil {
		return err
	}
	if !isHex([]byte(line.Run), runSize) || !isHex([]byte(line.Head), digestSize) {
		return fmt.Errorf("found run %.40q and head %.40q, expected %d hexadecimal digits", line.Run, line.Head, 2*digestSize)
	}
	if err := line.Data.Subject().check(); err != nil {
		return err
	}
	c := chain{run: line.Run, entries: line.Entries, lastStep: line.LastStep}
	hex.Decode(c.head[:], []byte(line.Head)) // is hexadecimal
	if line.Released != nil {
		c.ledger = *line.Released
	}
	m := b.members[line.Run]
	if m == nil {
		m = &member{Registration: line.Registration}
		b.members[line.Run], b.order = m, append(b.order, m)
	}
	if n := c.ledger.Count(); n != c.entries || n < m.chain.entries {
		return fmt.Errorf("found %d events in %d entries of %s, expected as many, and at least the %d before", n, c.entries, m.Path, m.chain.entries)
	}
	m.chain, m.line = c, nil
	return nil
}

func (b *book) addRelease(rest []byte) error {
	run, line, cut := bytes.Cut(rest, []byte(lineKey))
	line, ended := bytes.CutSuffix(line, []byte(releaseEnd))
	m := b.members[string(run)]
	if !cut || !ended || m == nil {
		return fmt.Errorf("found a release of run %.40q, expected one that is registered", run)
	}
	r, err := m.chain.parse(line)
	if err != nil {
		return fmt.Errorf("run %s: %w", m.Path, err)
	}
	m.line = bytes.Clone(line)
	return m.chain.add(r)
}
