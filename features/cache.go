package features

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"

	"dpsgd/data"
	"dpsgd/internal/kernel"
)

// ErrStale marks a file that holds no rows to use: damaged, cut, of another version or of another
// fingerprint. The rows have to be computed again.
var ErrStale = errors.New("rows have to be computed again")

// Fingerprint identifies what rows follow from, by a SHA-256: how they are computed, and of which
// data.
type Fingerprint [32]byte

// magic begins a file and tells its version.
const magic = "dpsgd computed rows 1\n"

// header is what a file says about its rows.
type header struct {
	Fingerprint string   `json:"fingerprint"`
	Rows        int      `json:"rows"`
	Columns     int      `json:"columns"`
	Classes     []string `json:"classes"`
}

const (
	sumSize    = 4       // bytes of a checksum, and of the length of the header
	pieceBytes = 1 << 20 // values of a piece at most, if it has more than one row
	maxHeader  = 1 << 20 // bytes; far more than 256 class names need
)

func (h *header) pieceRows() int { return max(1, pieceBytes/(2*h.Columns)) }

func (h *header) pieces() int { return (h.Rows + h.pieceRows() - 1) / h.pieceRows() }

// pieceEnds returns the first row of piece i and the one after its last.
func (h *header) pieceEnds(i int) (first, end int) {
	first = i * h.pieceRows()
	return first, min(first+h.pieceRows(), h.Rows)
}

// pieceAt returns how far behind the checksum of the header piece i begins.
func (h *header) pieceAt(i int) int64 {
	return int64(i) * (2*int64(h.pieceRows())*int64(h.Columns) + sumSize)
}

// valuesSize returns how many bytes all pieces take.
func (h *header) valuesSize() int64 {
	return 2*int64(h.Rows)*int64(h.Columns) + sumSize*int64(h.pieces())
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// pieceChecksum is that of piece i in the file whose header has the checksum start.
func pieceChecksum(start uint32, i int, values []byte) uint32 {
	place := binary.LittleEndian.AppendUint32(nil, start)
	place = binary.LittleEndian.AppendUint64(place, uint64(i))
	return crc32.Update(checksum(place), castagnoli, values)
}

// encodeHead returns what stands before the pieces, and its checksum.
func encodeHead(fingerprint Fingerprint, set *data.Features) (head []byte, h header, sum uint32, err error) {
	h = header{hex.EncodeToString(fingerprint[:]), set.Len(), set.Shape().Channels, set.Classes()}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, h, 0, err
	}
	head = append([]byte(magic), binary.LittleEndian.AppendUint32(nil, uint32(len(text)))...)
	head = append(head, text...)
	for i := range set.Len() {
		head = append(head, uint8(set.Label(i)))
	}
	sum = checksum(head)
	return binary.LittleEndian.AppendUint32(head, sum), h, sum, nil
}

// temporaryMark is in the name of a file that is being written.
const temporaryMark = ".tmp-"

// Save writes the rows of set to a file of the fingerprint. The path holds what it held before or
// the whole file, also if the process is killed: the rows are written to a temporary file beside it,
// which then takes its name. What a power loss may leave is found by the checksums, so Save does not
// wait for the disk.
//
// The file has permissions 0600, and folders that are missing are made with 0700. Save first removes
// temporary files that killed processes left for the same path; if another one is writing at the
// moment, that one gets an error for which errors.Is(err, fs.ErrNotExist).
func Save(path string, fingerprint Fingerprint, set *data.Features) error {
	if err := save(path, fingerprint, set); err != nil {
		return fmt.Errorf("features: save %s: %w", path, err)
	}
	return nil
}

func save(path string, fingerprint Fingerprint, set *data.Features) error {
	dir, name := filepath.Split(path)
	dir = filepath.Clean(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	prefix := "." + name + temporaryMark
	if err := removeLeftovers(dir, prefix); err != nil {
		return err
	}
	temporary := filepath.Join(dir, prefix+rand.Text())
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(temporary) // nothing is there any more if all went well
	err = write(f, fingerprint, set)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

func removeLeftovers(dir, prefix string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			os.Remove(filepath.Join(dir, e.Name())) // where that fails, as for open files on Windows, it stays
		}
	}
	return nil
}

// write writes the whole content of a file.
func write(w io.Writer, fingerprint Fingerprint, set *data.Features) error {
	head, h, start, err := encodeHead(fingerprint, set)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	var piece []byte
	for i := range h.pieces() {
		piece = piece[:0]
		first, end := h.pieceEnds(i)
		for row := first; row < end; row++ {
			for _, value := range set.Halves(row) {
				piece = binary.LittleEndian.AppendUint16(piece, value)
			}
		}
		piece = binary.LittleEndian.AppendUint32(piece, pieceChecksum(start, i, piece))
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

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
