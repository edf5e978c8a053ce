package random

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// Public is a stream of words that anybody can repeat: initial weights, minibatches, drawn
// pictures. Nothing that makes noise, samples, shuffles or answers takes one, and nothing makes a
// [Source] of it: where a secret is drawn, a seed does not compile.
type Public struct{ words *Source }

var _ rand.Source = (*Public)(nil)

// Seeded returns the stream that belongs to seed: the same words on every machine, for ever.
func Seeded(seed uint64) *Public { return &Public{ofSeed(seed)} }

// Uint64 returns the next word of the stream.
func (p *Public) Uint64() uint64 { return p.words.Uint64() }

// Float64 returns what [Source.Float64] would make of the next word.
func (p *Public) Float64() float64 { return p.words.Float64() }

// Reorder draws an order of numbers (Fisher and Yates; Knuth, The Art of Computer Programming 2,
// Algorithm 3.4.2P), near enough to uniform for what is public: nothing rests on its law.
func (p *Public) Reorder(order []int) {
	for i := len(order) - 1; i > 0; i-- {
		j := int(p.Uint64() % uint64(i+1))
		order[i], order[j] = order[j], order[i]
	}
}

// ForTest returns a Source with the words of [Seeded], which are no secret: tests repeat what they
// saw. It panics in any other program, and [TestSecretsComeFromTheSystem] refuses it in any file
// that is no test.
func ForTest(seed uint64) *Source {
	if !testing.Testing() {
		panic("random: a seed was taken for a secret, expected it in tests alone")
	}
	return ofSeed(seed)
}

// ofSeed returns the Source whose key is a hash of a seed.
func ofSeed(seed uint64) *Source {
	// The label keeps these keys apart from every other use of SHA-256 of a number.
	message := binary.LittleEndian.AppendUint64([]byte("dpsgd/internal/random.Seeded v1\x00"), seed)
	return keyed(sha256.Sum256(message))
}
