package local

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"dpsgd/internal/noise"
	"dpsgd/internal/random"
)

// Hashing is optimised local hashing (Wang, Blocki, Li, Jha 2017, section 4.4): a record draws a
// hash function, and reports it with the randomized response of its value's bucket.
type Hashing struct {
	claim
	pure
	response *Response // over buckets
}

var _ Protocol = (*Hashing)(nil)

// maxBuckets bounds the number of buckets of a hash function; the best number is e^ε + 1.
const maxBuckets = 1 << 12

// NewHashing returns local hashing into e^ε + 1 buckets, rounded, and at most maxBuckets.
func NewHashing(values int, epsilon float64) (*Hashing, error) {
	c, err := newClaim("local_hashing", values, epsilon)
	if err != nil {
		return nil, err
	}
	response := newResponse(claim{values: int(min(maxBuckets, math.Round(math.Exp(epsilon)+1))), epsilon: epsilon})
	// Of another value's buckets, one in so many is that of the value.
	return &Hashing{c, pure{response.truth, 1 / float64(response.values)}, response}, nil
}

func (p *Hashing) String() string {
	return fmt.Sprintf("a hash function into %d buckets and the bucket of the value, or with a chance of %.4g one of all at random", p.response.values, p.response.noise.value())
}

// Randomize implements [Protocol]. A report is the two numbers of the hash function, in eight bytes
// each, and a bucket in two.
func (p *Hashing) Randomize(value int, src *random.Source) Report {
	h := hash{noise.Below(mersenne, src), noise.Below(mersenne, src)}
	r := binary.LittleEndian.AppendUint64(nil, h.factor)
	r = binary.LittleEndian.AppendUint64(r, h.offset)
	return binary.LittleEndian.AppendUint16(r, uint16(p.response.respond(h.bucket(value, p.response.values), src)))
}

// split returns the hash function and the bucket of a report.
func (p *Hashing) split(r Report) (hash, int) {
	return hash{binary.LittleEndian.Uint64(r), binary.LittleEndian.Uint64(r[8:])}, int(binary.LittleEndian.Uint16(r[16:]))
}

// Likelihood implements [Protocol]. It leaves out the hash function's chance, equal for all values.
func (p *Hashing) Likelihood(value int, r Report) float64 {
	h, bucket := p.split(r)
	if h.bucket(value, p.response.values) == bucket {
		return p.response.truth
	}
	return p.response.lie
}

func (p *Hashing) Add(scores []float64, r Report) {
	h, bucket := p.split(r)
	p.add(scores, func(v int) bool { return h.bucket(v, p.response.values) == bucket })
}

// mersenne is a prime: modulo it, x → factor·x + offset is uniform and independent for any two
// values.
const mersenne = 1<<61 - 1

// hash is a function from values to buckets. Over the draw of factor and offset, the buckets of two
// values are independent, and uniform up to 2^-48 (Carter, Wegman 1979, class H₁ and factor 0).
type hash struct{ factor, offset uint64 }

func (h hash) bucket(value, buckets int) int {
	high, low := bits.Mul64(h.factor, uint64(value))
	_, sum := bits.Div64(high, low, mersenne) // factor·value < 2^61·2^16: the quotient has one word
	return int((sum + h.offset) % mersenne % uint64(buckets))
}
