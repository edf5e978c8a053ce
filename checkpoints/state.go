package checkpoints

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"

	"dpsgd/checkpoints/safetensors"
)

// A State is everything that a stopped run needs to go on, and nothing else.
//
// It holds no state of a random generator and no noise, on purpose. Two runs that went on from one
// checkpoint with the same generator would add the same noise to different sums; the difference of
// their parameters would then be the exact difference of two unprotected gradients. A resumed run
// keys its generators afresh, runs the steps after the checkpoint again with fresh noise, and the
// ledger counts them again.
//
// The parameters and slots are outputs of the mechanism: keeping them costs no privacy.
type State struct {
	Step          int                  // updates that Parameters contain
	Parameters    []float32            // all of the model, in its order
	OptimizerStep int                  // updates that the update rule counts, as Adam does
	Slots         map[string][]float32 // the update rule's own vectors by name, as momentum
	LedgerEntries int                  // Journal.Len when the state was taken, at least Step
	LedgerHash    string               // Journal.Hash when the state was taken
	PlanHash      string               // of what determines the guarantee; callers compare it
	// Unreleased says that steps are no releases: the run trained on what was public or released
	// before, or without privacy. LedgerEntries has nothing to do with Step then.
	Unreleased bool
}

// The file, version 1; integers are little-endian:
//
//	16 bytes  "dpsgd-checkpoint"
//	 4 bytes  version, 1
//	 4 bytes  length of the header
//	          header: the JSON of stateHeader, written in one way only
//	          parameters, then the slots in the order of the header: float32
//	32 bytes  SHA-256 of all bytes before
//
// The SHA-256 detects accidents. Whoever can write the file can also write a matching one:
// tampering is detected only by a copy of the hash kept elsewhere.
const (
	stateMagic     = "dpsgd-checkpoint"
	stateVersion   = 1
	statePrefix    = len(stateMagic) + 4 + 4
	maxStateHeader = 1 << 20
	maxStateString = 1 << 10
)

// stateHeader describes the sections. Its JSON is canonical (these keys, in this order, no spaces):
// a header that reads the same but is written differently was not written by this package.
type stateHeader struct {
	Step          int          `json:"step"`
	Parameters    int          `json:"parameters"`
	OptimizerStep int          `json:"optimizer_step"`
	Slots         []slotHeader `json:"slots"` // in ascending order of their names
	LedgerEntries int          `json:"ledger_entries"`
	LedgerHash    string       `json:"ledger_hash"`
	PlanHash      string       `json:"plan_hash"`
	Seconds       float64      `json:"seconds"` // of older files; 0 now: times tell batch sizes
	Unreleased    bool         `json:"unreleased,omitempty"`
}

type slotHeader struct {
	Name   string `json:"name"`
	Length int    `json:"length"`
}

// validate refuses what no run has: a negative step, values that are not finite, or more steps than
// ledger entries if steps are releases. Every state passes it before it is written and when read.
func (s *State) validate() error {
	switch {
	case s.Step < 0 || s.OptimizerStep < 0:
		return fmt.Errorf("found step %d and optimizer step %d, expected at least 0", s.Step, s.OptimizerStep)
	case s.LedgerEntries < s.Step && !s.Unreleased:
		return fmt.Errorf("found %d ledger entries at step %d, expected one for every step (a checkpoint may lag behind the ledger, never lead)",
			s.LedgerEntries, s.Step)
	}
	if err := requireFinite("parameters", s.Parameters); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Slots)) {
		if err := requireFinite(fmt.Sprintf("optimizer slot %q", name), s.Slots[name]); err != nil {
			return err
		}
	}
	return nil
}

func (s *State) header() stateHeader {
	h := stateHeader{
		Step: s.Step, Parameters: len(s.Parameters), OptimizerStep: s.OptimizerStep, Slots: []slotHeader{},
		LedgerEntries: s.LedgerEntries, LedgerHash: s.LedgerHash, PlanHash: s.PlanHash, Unreleased: s.Unreleased,
	}
	for _, name := range slices.Sorted(maps.Keys(s.Slots)) {
		h.Slots = append(h.Slots, slotHeader{name, len(s.Slots[name])})
	}
	return h
}

// encode writes the file of a valid state. Whoever flushes w gets its errors.
func (s *State) encode(w *bufio.Writer) error {
	h := s.header()
	header, err := h.json()
	if err != nil {
		return err
	}
	sum := sha256.New()
	hashed := io.MultiWriter(w, sum)
	prefix := append([]byte(nil), stateMagic...)
	prefix = binary.LittleEndian.AppendUint32(prefix, stateVersion)
	prefix = binary.LittleEndian.AppendUint32(prefix, uint32(len(header)))
	hashed.Write(append(prefix, header...))
	writeFloats(hashed, s.Parameters)
	for _, slot := range h.Slots {
		writeFloats(hashed, s.Slots[slot.Name])
	}
	w.Write(sum.Sum(nil))
	return nil
}

// decodeState reads the bytes of a file. The checksum comes first: nothing damaged is ever parsed.
func decodeState(data []byte) (*State, error) {
	if len(data) < statePrefix+sha256.Size {
		return nil, fmt.Errorf("found %d bytes, expected a checkpoint of at least %d: %w", len(data), statePrefix+sha256.Size, ErrCorrupt)
	}
	if found := data[:len(stateMagic)]; string(found) != stateMagic {
		return nil, fmt.Errorf("found %q at the beginning, expected %q: %w", found, stateMagic, ErrCorrupt)
	}
	body, trailer := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], trailer) {
		return nil, fmt.Errorf("found a content of SHA-256 %x…, expected %x… as its last bytes say: %w",
			sum[:8], trailer[:8], ErrCorrupt)
	}
	if version := binary.LittleEndian.Uint32(body[len(stateMagic):]); version != stateVersion {
		return nil, fmt.Errorf("found format version %d, expected %d: %w", version, stateVersion, ErrCorrupt)
	}
	length := binary.LittleEndian.Uint32(body[statePrefix-4:])
	sections := body[statePrefix:]
	if length > maxStateHeader || uint64(length) > uint64(len(sections)) {
		return nil, fmt.Errorf("found a header of %d bytes, expected at most %d: %w", length, min(len(sections), maxStateHeader), ErrCorrupt)
	}
	h, err := parseStateHeader(sections[:length])
	if err != nil {
		return nil, fmt.Errorf("header: %w: %w", err, ErrCorrupt)
	}
	return h.state(sections[length:])
}

// json returns the header in its canonical form.
func (h stateHeader) json() ([]byte, error) {
	texts := []string{h.LedgerHash, h.PlanHash}
	for _, slot := range h.Slots {
		texts = append(texts, slot.Name)
	}
	for _, s := range texts {
		if len(s) > maxStateString || !utf8.ValidString(s) {
			return nil, fmt.Errorf("found %.40q of %d bytes, expected UTF-8 of at most %d", s, len(s), maxStateString)
		}
	}
	header, err := json.Marshal(h)
	if err == nil && len(header) > maxStateHeader {
		err = fmt.Errorf("found a header of %d bytes, expected at most %d", len(header), maxStateHeader)
	}
	return header, err
}

// parseStateHeader accepts only what json writes, which excludes unknown, repeated and missing keys
// at once.
func parseStateHeader(header []byte) (stateHeader, error) {
	var h stateHeader
	if err := json.Unmarshal(header, &h); err != nil {
		return h, err
	}
	canonical, err := h.json()
	if err != nil {
		return h, err
	}
	if !bytes.Equal(canonical, header) {
		return h, errors.New("found JSON that is not in its canonical form")
	}
	ascending := func(a, b slotHeader) int { return cmp.Or(cmp.Compare(a.Name, b.Name), -1) } // equal is not ascending
	if !slices.IsSortedFunc(h.Slots, ascending) {
		return h, errors.New("found slots that are not in ascending order")
	}
	return h, nil
}

// state returns the state with header h and the float32 sections in data. It checks that the
// sections fill data exactly before it allocates anything.
func (h stateHeader) state(data []byte) (*State, error) {
	rest := len(data) / floatSize
	for _, section := range append([]slotHeader{{"parameters", h.Parameters}}, h.Slots...) {
		if section.Length < 0 || section.Length > rest {
			return nil, fmt.Errorf("section %q: found a length of %d values, expected 0 to %d: %w", section.Name, section.Length, rest, ErrCorrupt)
		}
		rest -= section.Length
	}
	if rest != 0 || len(data)%floatSize != 0 {
		return nil, fmt.Errorf("found %d bytes after the last section, expected none: %w", rest*floatSize+len(data)%floatSize, ErrCorrupt)
	}
	s := &State{
		Step: h.Step, OptimizerStep: h.OptimizerStep, Slots: make(map[string][]float32, len(h.Slots)),
		LedgerEntries: h.LedgerEntries, LedgerHash: h.LedgerHash, PlanHash: h.PlanHash, Unreleased: h.Unreleased,
	}
	r := bytes.NewReader(data)
	var err error
	if s.Parameters, err = readElements(r, safetensors.Binary32, h.Parameters); err != nil {
		return nil, err
	}
	for _, slot := range h.Slots {
		if s.Slots[slot.Name], err = readElements(r, safetensors.Binary32, slot.Length); err != nil {
			return nil, err
		}
	}
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrCorrupt)
	}
	return s, nil
}
