package features

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/data"
	"dpsgd/internal/kernel"
)

// errStale is the error for a file that is damaged, cut, of another version or of another
// fingerprint, so that its rows cannot be used.
var errStale = errors.New("features: found no whole file of the same fingerprint, expected to compute the rows again")

// fingerprint is a SHA-256 hash of all that rows follow from: how they are computed, and the data.
type fingerprint [32]byte

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
	pieceBytes = 1 << 20 // most bytes of values in a piece, if it has more than one row
	maxHeader  = 1 << 20 // bytes; far more than 256 class names need
)

func (h *header) pieceRows() int { return max(1, pieceBytes/(2*h.Columns)) }
func (h *header) pieces() int    { return (h.Rows + h.pieceRows() - 1) / h.pieceRows() }

// piece returns the first row of piece i, the row after its last, and how many bytes after the
// checksum of the header the piece begins. Piece pieces() would begin where the file ends.
func (h *header) piece(i int) (first, end int, at int64) {
	first = min(i*h.pieceRows(), h.Rows)
	return first, min(first+h.pieceRows(), h.Rows), 2*int64(first)*int64(h.Columns) + sumSize*int64(i)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// pieceChecksum returns the checksum of piece i in the file whose head has the checksum start.
func pieceChecksum(start uint32, i int, values []byte) uint32 {
	place := binary.LittleEndian.AppendUint32(nil, start)
	place = binary.LittleEndian.AppendUint64(place, uint64(i))
	return crc32.Update(checksum(place), castagnoli, values)
}

// saveRows writes the rows of set to a file of the fingerprint. The path holds what it held before
// or the whole file, also if the process is killed: the rows are written to a temporary file beside
// it, which then takes its name. saveRows does not wait for the disk, because the checksums show
// damage that a power loss may cause.
//
// The file has permissions 0600. saveRows first removes temporary files that killed processes left
// for the same path; if another one is writing at the moment, that one gets an error.
func saveRows(path string, f fingerprint, set *data.Features) error {
	dir, name := filepath.Split(path)
	prefix := "." + name + ".tmp-"
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			_ = os.Remove(filepath.Join(dir, e.Name())) // where that fails, as for open files on Windows, it stays
		}
	}
	temporary := filepath.Join(dir, prefix+rand.Text())
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(temporary) // nothing is there any more if all went well
	if err := errors.Join(writeRows(file, f, set), file.Close()); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// writeRows writes the rows and labels of set as a whole file of fingerprint f to w.
func writeRows(w io.Writer, f fingerprint, set *data.Features) error {
	h := header{hex.EncodeToString(f[:]), set.Len(), set.Shape().Channels, set.Classes()}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	head := slices.Concat([]byte(magic), binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text)
	for i := range set.Len() {
		head = append(head, uint8(set.Label(i)))
	}
	start := checksum(head)
	if _, err := w.Write(binary.LittleEndian.AppendUint32(head, start)); err != nil {
		return err
	}
	var piece []byte
	for i := range h.pieces() {
		piece = piece[:0]
		first, end, _ := h.piece(i)
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

// openRows returns the rows of a file that [saveRows] wrote with the same fingerprint. On any
// error the rows have to be computed again.
func openRows(path string, f fingerprint) (*data.Features, error) {
	info, err := os.Stat(path) // before opening: opening a named pipe would wait for a writer
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errStale
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	h, head, err := readHead(io.NewSectionReader(file, 0, info.Size()))
	if err != nil {
		return nil, err
	}
	if h.Fingerprint != hex.EncodeToString(f[:]) {
		return nil, errStale
	}
	start, labels := binary.LittleEndian.Uint32(head[len(head)-sumSize:]), head[len(head)-sumSize-h.Rows:len(head)-sumSize]
	values := make([]uint16, h.Rows*h.Columns)
	err = kernel.Each(h.pieces(), func(i int) error {
		first, end, at := h.piece(i)
		to := values[first*h.Columns : end*h.Columns]
		piece := make([]byte, 2*len(to)+sumSize)
		if _, err := file.ReadAt(piece, int64(len(head))+at); err != nil {
			return err
		}
		piece, sum := piece[:2*len(to)], piece[2*len(to):]
		if binary.LittleEndian.Uint32(sum) != pieceChecksum(start, i, piece) {
			return errStale
		}
		for j := range to {
			to[j] = binary.LittleEndian.Uint16(piece[2*j:])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return data.NewFeatures(h.Columns, h.Classes, labels, values)
}

// readHead reads a file's header, labels and the checksum of both, and checks them. It refuses a
// file whose length is not what the header says. head holds all bytes before the pieces.
func readHead(r *io.SectionReader) (h header, head []byte, err error) {
	begin := make([]byte, len(magic)+sumSize)
	if _, err := io.ReadFull(r, begin); err != nil || string(begin[:len(magic)]) != magic {
		return h, nil, errStale
	}
	length := int64(binary.LittleEndian.Uint32(begin[len(magic):]))
	if length > maxHeader {
		return h, nil, errStale
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil || json.Unmarshal(text, &h) != nil {
		return h, nil, errStale
	}
	// No more is allocated than the file holds, and no product of the sizes overflows.
	if h.Rows < 0 || int64(h.Rows) > r.Size() || h.Columns < 1 || h.Columns > data.MaxFeatures {
		return h, nil, errStale
	}
	size := int64(len(begin)) + length + int64(h.Rows) + sumSize
	if _, _, end := h.piece(h.pieces()); size+end != r.Size() {
		return h, nil, errStale
	}
	head = make([]byte, size)
	if _, err := r.ReadAt(head, 0); err != nil {
		return h, nil, err
	}
	if end := len(head) - sumSize; binary.LittleEndian.Uint32(head[end:]) != checksum(head[:end]) {
		return h, nil, errStale
	}
	return h, head, nil
}
