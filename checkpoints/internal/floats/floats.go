// Package floats stores float32 values the way that every file of checkpoints does: IEEE 754
// binary32, little-endian, and finite.
package floats

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Size is the number of bytes of a stored value.
const Size = 4

// ErrNotFinite is checkpoints.ErrNotFinite, under which callers know it.
var ErrNotFinite = errors.New("value is not finite")

// Write writes values in the stored form.
func Write(w io.Writer, values []float32) error {
	var buffer [4096]byte
	for len(values) > 0 {
		n := min(len(values), len(buffer)/Size)
		for i, v := range values[:n] {
			binary.LittleEndian.PutUint32(buffer[i*Size:], math.Float32bits(v))
		}
		if _, err := w.Write(buffer[:n*Size]); err != nil {
			return err
		}
		values = values[n:]
	}
	return nil
}

// Read reads n values. It allocates them first: the caller has compared n with the size of
// the file.
func Read(r io.Reader, n int) ([]float32, error) {
	values := make([]float32, n)
	var buffer [4096]byte
	for rest := values; len(rest) > 0; {
		k := min(len(rest), len(buffer)/Size)
		if _, err := io.ReadFull(r, buffer[:k*Size]); err != nil {
			return nil, err
		}
		for i := range rest[:k] {
			rest[i] = math.Float32frombits(binary.LittleEndian.Uint32(buffer[i*Size:]))
		}
		rest = rest[k:]
	}
	return values, nil
}

// RequireFinite returns ErrNotFinite with the index, not the value, of the first NaN or infinity.
// Such a parameter makes every prediction NaN and every later update too: a file that holds one is
// useless, and the moment it is written or read is the last one at which the cause can still be
// named.
func RequireFinite(name string, values []float32) error {
	for i, v := range values {
		// v-v is 0 for every finite v and NaN for the others.
		if v-v != 0 {
			return fmt.Errorf("%s: element %d of %d is NaN or infinite, expected finite numbers: %w", name, i, len(values), ErrNotFinite)
		}
	}
	return nil
}
