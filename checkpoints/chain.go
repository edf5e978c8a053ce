package checkpoints

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"dpsgd/accountant"
)

// The ledger file. Line 1 is the header, every further line one released update:
//
//	{"format":"dpsgd-ledger","version":2,"run":"<32 hex>","datasets":"<32 hex>"}
//	{"step":1,"event":{…},"nonce":"<16 hex>","previous":"<32 hex>","hash":"<32 hex>"}
//
// datasets is the identifier of the ledger of data sets that the run is registered in
// (datasets_lines.go). A ledger that stands alone has the header of version 1, which ends after the
// run's identifier.
//
// hash is the SHA-256, shortened to 128 bits, of the line's bytes before `,"hash"`. These contain
// previous, the hash of the line above (for line 2: of the header line), so each hash stands for
// the whole file down to its line. run and nonce are random and public: two runs of one plan, and
// two branches of one run, release the same events, and without them would have the same hashes. A
// line carries no time of day: how long a step takes depends on the real size of its batch, which
// is not public.
const (
	headerAlone      = `{"format":"dpsgd-ledger","version":1,"run":"`
	headerRegistered = `{"format":"dpsgd-ledger","version":2,"run":"`
	headerDatasets   = `","datasets":"`
	headerEnd        = `"}`
	runSize          = 16 // bytes of the identifier of a run, and of a ledger of data sets
	nonceSize        = 8

	stepKey     = `{"step":`
	eventKey    = `,"event":`
	nonceKey    = `,"nonce":"`
	previousKey = `,"previous":"`
	hashKey     = `,"hash":"`
	recordEnd   = `"}`

	// A line ends with parts of fixed length; the event before them is JSON of any length.
	hashPart  = len(hashKey) + 2*digestSize + len(recordEnd)
	linkPart  = len(previousKey) + 2*digestSize + len(`"`) + hashPart
	noncePart = len(nonceKey) + 2*nonceSize + len(`"`)

	// maxLine bounds a line, newline included; real ones have some 250 bytes.
	maxLine = 1 << 16
)

const digestSize = 16

// A digest is a shortened SHA-256.
type digest [digestSize]byte

func digestOf(b []byte) (d digest) {
	sum := sha256.Sum256(b)
	copy(d[:], sum[:])
	return d
}

func (d digest) String() string { return hex.EncodeToString(d[:]) }

// A chain collects what the lines of a ledger file say, up to some line.
type chain struct {
	run      string // the run's identifier
	datasets string // identifier of the ledger of data sets; "" for a ledger that stands alone
	head     digest // hash of the last line
	entries  int
	lastStep int               // step of the last entry, 0 before the first
	ledger   accountant.Ledger // run-length: its size does not grow with the number of equal entries

	// The last event and its JSON, so that equal neighbours are parsed and written once.
	event     accountant.Event
	eventText []byte

	// heads are the hashes after the numbers of entries that somebody asked for before reading.
	heads map[int]digest
}

// A record is one line after the header, without what only checks it.
type record struct {
	step  int
	event accountant.Event
	hash  digest
}

// formatHeader begins a run and returns the header line. datasets is the identifier in it, or "".
func (c *chain) formatHeader(datasets string) []byte {
	c.run, c.datasets = publicRandom(runSize), datasets
	line := headerAlone + c.run + headerEnd
	if datasets != "" {
		line = headerRegistered + c.run + headerDatasets + datasets + headerEnd
	}
	c.head = digestOf([]byte(line))
	return []byte(line + "\n")
}

// format returns the line and the record of the next release, without adding it to the chain.
func (c *chain) format(step int, event accountant.Event) ([]byte, record, error) {
	if err := c.checkStep(step); err != nil {
		return nil, record{}, err
	}
	text := c.eventText
	if text == nil || event != c.event {
		var err error
		if text, err = accountant.MarshalEvent(event); err != nil {
			return nil, record{}, err
		}
		c.event, c.eventText = event, text
	}
	line, hash := link(fmt.Appendf(nil, "%s%d%s%s%s%s\"", stepKey, step, eventKey, text, nonceKey, publicRandom(nonceSize)), c.head)
	return line, record{step, event, hash}, nil
}

// link returns content with the hash previous and its own behind it, as a whole line, and its own.
func link(content []byte, previous digest) (line []byte, hash digest) {
	line = fmt.Appendf(content, "%s%s\"", previousKey, previous)
	hash = digestOf(line)
	return fmt.Appendf(line, "%s%s%s\n", hashKey, hash, recordEnd), hash
}

// checkStep allows the next step and every earlier one: after a resume from an older checkpoint,
// steps are run and counted again. A gap would be an update that nobody recorded.
func (c *chain) checkStep(step int) error {
	if step < 0 || step > c.lastStep+1 {
		return fmt.Errorf("found step %d after step %d, expected 0 to %d (every update has its entry)", step, c.lastStep, c.lastStep+1)
	}
	return nil
}

// add appends a record that format or parse returned.
func (c *chain) add(r record) error {
	if err := c.ledger.Add(r.event, 1); err != nil {
		return err
	}
	c.head, c.lastStep = r.hash, r.step
	c.entries++
	c.note()
	return nil
}

// note keeps the hash after this many entries if heads has a key for that number.
func (c *chain) note() {
	if _, asked := c.heads[c.entries]; asked {
		c.heads[c.entries] = c.head
	}
}
