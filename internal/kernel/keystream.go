package kernel

// Random bytes: a cipher in counter mode.

// KeystreamWords is the number of words that a [Keystream] makes together.
const KeystreamWords = 32

// Keystream is AES-256 in counter mode (NIST SP 800-38A, section 6.5) with a 128-bit big-endian counter that starts at
// zero, for processors with AES on 256-bit vectors. It writes the bytes of crypto/cipher's NewCTR over zeros, at about
// twice the speed, and takes time and memory accesses that depend on neither key nor data.
type Keystream struct {
	schedule [240]byte // 15 round keys
	block    uint64    // the counter; 2^64 blocks are never reached
}

// keystreamFunctions are the parts of a Keystream in assembly.
type keystreamFunctions struct {
	expand func(schedule *[240]byte, key *[32]byte)
	write  func(groups int, dst *uint64, schedule *[240]byte, counter uint64)
}

// NewKeystream returns the keystream of a key; nil where the processor has no such instructions or the portable
// kernel was asked for. Its twin there is crypto/cipher.
func NewKeystream(key *[32]byte) *Keystream {
	if active == &portableKernel || vectorAES.write == nil {
		return nil
	}
	k := &Keystream{}
	vectorAES.expand(&k.schedule, key)
	return k
}

// Next writes the next len(dst) words, a multiple of [KeystreamWords]; it panics otherwise.
func (k *Keystream) Next(dst []uint64) {
	groups := len(dst) / KeystreamWords
	if len(dst) != groups*KeystreamWords {
		panic("kernel: keystream of a number of words that is no multiple of 32")
	}
	if groups > 0 {
		vectorAES.write(groups, &dst[0], &k.schedule, k.block)
		k.block += uint64(len(dst) / 2)
	}
}
