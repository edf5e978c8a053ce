package tokenizer

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/rivo/uniseg"
)

// charsmap is the normalisation that sentencepiece keeps in its files: a trie of texts as a double
// array (darts-clone, https://github.com/s-yata/darts-clone), and what replaces them.
type charsmap struct {
	units []uint32
	texts []byte // each ends with a 0
}

// precompiled returns the normalizer of a charsmap.
func precompiled(p part) (func(string) string, error) {
	raw, err := base64.StdEncoding.DecodeString(p.Charsmap)
	if err != nil || len(raw) < 4 {
		return nil, errors.New("found no precompiled_charsmap in base64, expected one")
	}
	size := binary.LittleEndian.Uint32(raw)
	if size%4 != 0 || int64(size) > int64(len(raw)-4) {
		return nil, fmt.Errorf("found a trie of %d bytes in %d, expected it among them", size, len(raw))
	}
	m := &charsmap{units: make([]uint32, size/4), texts: raw[4+size:]}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(raw[4+4*i:])
	}
	return m.normalize, nil
}

// normalize replaces what a person takes for a character as a whole, if it is short, or else each of
// its code points.
func (m *charsmap) normalize(s string) string {
	var b strings.Builder
	for state := -1; s != ""; {
		var cluster string
		cluster, s, _, state = uniseg.FirstGraphemeClusterInString(s, state)
		if len(cluster) < 6 {
			if text, ok := m.replaced(cluster); ok {
				b.Write(text)
				continue
			}
		}
		for _, r := range cluster {
			if text, ok := m.replaced(string(r)); ok {
				b.Write(text)
			} else {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// replaced looks up the shortest beginning of s that is in the trie and returns its replacement. The
// original puts that replacement in the place of all of s.
func (m *charsmap) replaced(s string) (text []byte, ok bool) {
	at := uint32(0)
	unit := func() uint32 {
		if int(at) >= len(m.units) {
			return 0
		}
		return m.units[at]
	}
	offset := func(u uint32) uint32 { return u >> 10 << (u & (1 << 9) >> 6) }
	at ^= offset(unit())
	for i := range len(s) {
		c := uint32(s[i])
		at ^= c
		u := unit()
		if u&(1<<31|0xFF) != c || int(at) >= len(m.units) {
			return nil, false
		}
		at ^= offset(u)
		if u>>8&1 == 1 { // something ends here
			from := unit() & (1<<31 - 1)
			if int64(from) > int64(len(m.texts)) {
				return nil, false
			}
			text, _, _ = bytes.Cut(m.texts[from:], []byte{0})
			return bytes.ToValidUTF8(text, []byte("\uFFFD")), true
		}
	}
	return nil, false
}
