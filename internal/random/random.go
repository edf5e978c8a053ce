// Package random is the program's only source of random bits.
//
// A [Source] is the keystream of AES-256 in counter mode, read as 64-bit words. It is secret: [New]
// makes it of the operating system's randomness, [Source.Split] of another one, and nothing else
// does outside of tests. Whatever has to be secret takes a *Source: samples, noise, answers,
// reports, the number of a sweep's trials. [Seeded] returns another type, [Public], for draws that
// a reader of the config may repeat: initial weights, minibatches, synthetic pictures.
//
// A Source cannot be saved, on purpose. Two runs that continue from one saved generator draw the
// same noise, and the difference of their releases is the difference of their gradients, bare. A
// resumed run takes a fresh key instead: batches and noise of the steps to come are independent of
// what was drawn before, which is all that the accounting asks for. (math/rand/v2's ChaCha8 has
// MarshalBinary; that is the method to leave out here.)
//
// The generator is cryptographic because the noise is a secret: who can predict it subtracts it.
// NIST SP 800-90A, section 10.2.1, builds its CTR_DRBG on the same keystream; 2^64 blocks under one
// key are never approached. The cipher is [kernel.Keystream] or, where the processor has no
// instructions for it, the standard library's; a test holds them to the same words.
package random

import (
	"crypto/aes"
	"crypto/cipher"
	crand "crypto/rand"
	"encoding/binary"
	"math/bits"
	"unsafe"

	"dpsgd/internal/kernel"
)

// bufferWords counts the words drawn at a time where fewer are asked for; the rest is kept.
const bufferWords = kernel.KeystreamBlock

// Source is a stream of independent uniform 64-bit words. It is not safe for concurrent use: every
// goroutine takes its own from [Source.Split] or [New]. Copying a Source would repeat its words;
// pass the pointer.
type Source struct {
	_         noCopy
	keystream func(dst []uint64) // writes the next words, a multiple of bufferWords
	buffer    [bufferWords]uint64
	left      int // words of buffer that have not been read, the last ones
}

// noCopy lets go vet report copies of a Source.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// New returns a Source keyed with 256 bits of the operating system's randomness. There is no error
// to return: since Go 1.24 crypto/rand ends the program when the system cannot deliver, so noise is
// never drawn from a weak key.
func New() *Source {
	var key [32]byte
	crand.Read(key[:])
	return keyed(key)
}

// Split returns a new Source whose key is the next 256 bits of s. The two streams, and streams of
// further splits, are independent as far as AES is a good cipher. So goroutines share one origin
// without sharing a word.
func (s *Source) Split() *Source {
	var key [32]byte
	for i := 0; i < len(key); i += 8 {
		binary.LittleEndian.PutUint64(key[i:], s.Uint64())
	}
	return keyed(key)
}

// keyed returns the Source of a key. Each key is used for one stream only, so the counter may start
// at zero.
func keyed(key [32]byte) *Source {
	if fast := kernel.NewKeystream(&key); fast != nil {
		return &Source{keystream: fast.Fill}
	}
	return &Source{keystream: standard(key)}
}

// standard returns the keystream of a key by the standard library.
func standard(key [32]byte) func(dst []uint64) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("random: AES refuses a key of 32 bytes: " + err.Error())
	}
	stream := cipher.NewCTR(block, make([]byte, aes.BlockSize))
	return func(dst []uint64) {
		clear(dst) // the keystream is the encryption of zeros
		// The bytes of dst in memory order; on a little-endian machine they are the words already.
		bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), 8*len(dst))
		stream.XORKeyStream(bytes, bytes)
		if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
			for i, w := range dst {
				dst[i] = bits.ReverseBytes64(w)
			}
		}
	}
}

// Uint64 returns the next word of the stream.
func (s *Source) Uint64() uint64 {
	if s.left == 0 {
		s.keystream(s.buffer[:])
		s.left = bufferWords
	}
	s.left--
	return s.buffer[bufferWords-1-s.left]
}

// Fill fills dst with the next words of the stream, as so many calls of [Source.Uint64] would.
func (s *Source) Fill(dst []uint64) {
	n := copy(dst, s.buffer[bufferWords-s.left:])
	s.left -= n
	whole := n + (len(dst)-n)/bufferWords*bufferWords
	s.keystream(dst[n:whole])
	if whole < len(dst) {
		s.keystream(s.buffer[:])
		s.left = bufferWords - copy(dst[whole:], s.buffer[:])
	}
}
