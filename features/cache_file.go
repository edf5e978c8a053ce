package features

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"

	"dpsgd/data"
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
