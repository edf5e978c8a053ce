package features

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"dpsgd/data"
	"dpsgd/internal/kernel"
)

// Open reads the rows of a file that [Save] wrote with the same fingerprint, on all processors. If
// there is no file, errors.Is(err, fs.ErrNotExist); if it is damaged in any place, cut, or of another
// fingerprint or version, errors.Is(err, ErrStale), and the error says which; other errors are the
// operating system's.
func Open(path string, fingerprint Fingerprint) (*data.Features, error) {
	set, err := open(path, fingerprint)
	if err != nil {
		return nil, fmt.Errorf("features: open %s: %w", path, err)
	}
	return set, nil
}

func open(path string, fingerprint Fingerprint) (*data.Features, error) {
	info, err := os.Stat(path) // before opening: opening a named pipe would wait for a writer
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, stale("found no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := &reader{file: f, size: info.Size()}
	if err := r.readHead(fingerprint); err != nil {
		return nil, err
	}
	values, err := r.readValues()
	if err != nil {
		return nil, err
	}
	set, err := data.NewFeatures(r.header.Columns, r.header.Classes, r.labels, values)
	if err != nil {
		return nil, stale("found rows that make no set: %v", err)
	}
	return set, nil
}

// stale is an error that matches [ErrStale].
func stale(format string, a ...any) error {
	return fmt.Errorf(format+": %w", append(a, ErrStale)...)
}

// reader reads one file.
type reader struct {
	file   io.ReaderAt
	size   int64
	header header
	labels []uint8
	start  uint32 // checksum of what stands before the pieces
	values int64  // where they begin
}

// read returns n bytes from the offset. That the file ends before them is a reason to compute its
// rows again.
func (r *reader) read(b []byte, at int64) error {
	_, err := r.file.ReadAt(b, at)
	if n := int64(len(b)); at+n > r.size || errors.Is(err, io.EOF) {
		return stale("found %d bytes, expected %d at least", r.size, at+n)
	}
	return err
}

// readHead reads and checks what stands before the pieces.
func (r *reader) readHead(fingerprint Fingerprint) error {
	head := make([]byte, len(magic)+sumSize)
	if err := r.read(head, 0); err != nil {
		return err
	}
	if found := string(head[:len(magic)]); found != magic {
		return stale("found a file that begins with %q, expected %q", found, magic)
	}
	length := int64(binary.LittleEndian.Uint32(head[len(magic):]))
	if length > maxHeader {
		return stale("found a header of %d bytes, expected at most %d", length, maxHeader)
	}
	text := make([]byte, length)
	if err := r.read(text, int64(len(head))); err != nil {
		return err
	}
	h := &r.header
	if err := json.Unmarshal(text, h); err != nil {
		return stale("found a header that is no JSON of its fields (%v)", err)
	}
	if h.Rows < 0 || h.Columns < 1 || h.Columns > data.MaxFeatures {
		return stale("found %d rows of %d columns, expected 1 to %d columns", h.Rows, h.Columns, data.MaxFeatures)
	}
	r.values = int64(len(head)) + length + int64(h.Rows) + sumSize
	// No more is allocated than the file holds, and no product of the sizes overflows.
	if int64(h.Rows) > r.size || r.values+h.valuesSize() != r.size {
		return stale("found %d bytes, expected those of %d rows of %d columns", r.size, h.Rows, h.Columns)
	}
	head = make([]byte, r.values)
	if err := r.read(head, 0); err != nil {
		return err
	}
	end := len(head) - sumSize
	r.start, r.labels = checksum(head[:end]), head[end-h.Rows:end:end]
	if binary.LittleEndian.Uint32(head[end:]) != r.start {
		return stale("found another checksum of header and labels than expected")
	}
	if want := hex.EncodeToString(fingerprint[:]); h.Fingerprint != want {
		return stale("found the rows of fingerprint %s, expected %s", h.Fingerprint, want)
	}
	return nil
}

// readValues reads and checks all pieces.
func (r *reader) readValues() ([]uint16, error) {
	values := make([]uint16, r.header.Rows*r.header.Columns)
	return values, kernel.Each(r.header.pieces(), func(i int) error { return r.readPiece(values, i) })
}

// readPiece reads piece i to its place in values.
func (r *reader) readPiece(values []uint16, i int) error {
	first, end := r.header.pieceEnds(i)
	values = values[first*r.header.Columns : end*r.header.Columns]
	piece := make([]byte, 2*len(values)+sumSize)
	if err := r.read(piece, r.values+r.header.pieceAt(i)); err != nil {
		return err
	}
	piece, sum := piece[:2*len(values)], piece[2*len(values):]
	if binary.LittleEndian.Uint32(sum) != pieceChecksum(r.start, i, piece) {
		return stale("found another checksum of rows %d to %d than expected", first, end-1)
	}
	for j := range values {
		values[j] = binary.LittleEndian.Uint16(piece[2*j:])
	}
	return nil
}
