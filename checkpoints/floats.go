package checkpoints

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// floatSize is the number of bytes of a stored value.
const floatSize = 4

// writeFloats writes values in the stored form.
func writeFloats(w io.Writer, values []float32) error {
	var buffer [4096]byte
	for len(values) > 0 {
		n := min(len(values), len(buffer)/floatSize)
		for i, v := range values[:n] {
			binary.LittleEndian.PutUint32(buffer[i*floatSize:], math.Float32bits(v))
		}
		if _, err := w.Write(buffer[:n*floatSize]); err != nil {
			return err
		}
		values = values[n:]
	}
	return nil
}

// readFloats reads n values. It allocates them first: the caller has compared n with the size of
// the file.
func readFloats(r io.Reader, n int) ([]float32, error) {
	values := make([]float32, n)
	var buffer [4096]byte
	for rest := values; len(rest) > 0; {
		k := min(len(rest), len(buffer)/floatSize)
		if _, err := io.ReadFull(r, buffer[:k*floatSize]); err != nil {
			return nil, err
		}
		for i := range rest[:k] {
			rest[i] = math.Float32frombits(binary.LittleEndian.Uint32(buffer[i*floatSize:]))
		}
		rest = rest[k:]
	}
	return values, nil
}

// requireFinite returns ErrNotFinite with the index, not the value, of the first NaN or infinity.
// Such a parameter makes every prediction NaN and every later update too: a file that holds one is
// useless, and the moment it is written or read is the last one at which the cause can still be
// named.
func requireFinite(name string, values []float32) error {
	for i, v := range values {
		// v-v is 0 for every finite v and NaN for the others.
		if v-v != 0 {
			return fmt.Errorf("%s: element %d of %d is NaN or infinite, expected finite numbers: %w", name, i, len(values), ErrNotFinite)
		}
	}
	return nil
}
