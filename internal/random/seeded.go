package random

import (
	"crypto/sha256"
	"encoding/binary"
)

// Seeded returns the Source that belongs to seed: the same words on every machine, for ever. It is
// for public draws: its output is as secret as the seed. Noise and batches take [New].
func Seeded(seed uint64) *Source {
	// The label keeps these keys apart from every other use of SHA-256 of a number.
	message := binary.LittleEndian.AppendUint64([]byte("dpsgd/internal/random.Seeded v1\x00"), seed)
	return keyed(sha256.Sum256(message))
}
