package kernel

// Keystream is the keystream of AES-256 in counter mode (NIST SP 800-38A, section 6.5): the
// encryptions of the 128-bit numbers 0, 1, 2, … under one key. It is not safe for concurrent use.
type Keystream struct {
	keys [15][16]byte // the round keys (FIPS 197, section 5.2)
	next uint64       // the number to be encrypted next
}

// KeystreamBlock divides the number of words that a [Keystream] gives at a time.
const KeystreamBlock = 64

// NewKeystream returns the keystream of a key, or nil where the processor has no AES instructions
// for vectors of 512 bits: there the cipher of the standard library is as fast.
func NewKeystream(key *[32]byte) *Keystream {
	var k *Keystream
	if active.expandKey != nil {
		k = &Keystream{}
		active.expandKey(&k.keys, key)
	}
	return k
}

// Fill fills dst with the next bytes of the keystream, eight in a word, the first in the lowest
// bits. It panics unless the length of dst is a multiple of [KeystreamBlock].
func (k *Keystream) Fill(dst []uint64) {
	if len(dst)%KeystreamBlock != 0 {
		panic("kernel: Keystream.Fill: the length is no multiple of 64")
	}
	if len(dst) > 0 {
		active.encryptCounters(len(dst)/KeystreamBlock, &dst[0], &k.keys, k.next)
		k.next += uint64(len(dst) / 2)
	}
}
