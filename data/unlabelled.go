package data

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"dpsgd/internal/kernel"
	"dpsgd/internal/noise"
	"dpsgd/internal/random"
)

// Unlabelled is a set whose labels are secret and whose examples are public. Its order follows from
// the values of the examples alone. So what depends on a place in it, such as a minibatch or a byte
// of a file, tells nothing of a label, even if files, shards or lines were sorted by class. Whoever
// learns from the set or predicts it sees no label: Label returns 0 everywhere, and only
// [Unlabelled.Secret] returns the labels. It is safe for concurrent reading.
type Unlabelled struct {
	Set
	order   []int  // index in Set of the example at each place
	twins   []bool // whether the example at a place is equal to the one before it
	content string // a hash of the examples in their order
}

// digest is a hash of an example's values. Examples with different digests differ. Different
// examples with one digest are a collision of half of SHA-256; they would count as equal.
type digest [sha256.Size / 2]byte

// NewUnlabelled returns the examples of a set in the order of a hash of their values. It reads each
// example once, and fails if one cannot be read.
//
// Equal examples are put in an order that src draws: a rule for them, such as the order in which
// they were found, might follow from their labels. So their labels are exchangeable, and changing
// one label changes what stands at one place. Each group of equal examples has the same places at
// every call.
func NewUnlabelled(s Set, src *random.Source) (*Unlabelled, error) {
	digests, err := digestsOf(s)
	if err != nil {
		return nil, err
	}
	u := &Unlabelled{Set: s, order: permutation(len(digests), src), twins: make([]bool, len(digests))}
	slices.SortStableFunc(u.order, func(i, j int) int { return bytes.Compare(digests[i][:], digests[j][:]) })
	whole := sha256.New()
	for place, i := range u.order {
		u.twins[place] = place > 0 && digests[i] == digests[u.order[place-1]]
		whole.Write(digests[i][:])
	}
	u.content = fmt.Sprintf("%x", whole.Sum(nil))
	return u, nil
}

// permutation returns 0 … n-1 in a random order, all equally likely (Fisher and Yates, inside-out).
func permutation(n int, src *random.Source) []int {
	order := make([]int, n)
	for i := range order {
		j := noise.Below(uint64(i+1), src)
		order[i] = order[j]
		order[j] = i
	}
	return order
}

// ContentOf returns a hash of all examples of a set and what is learnt of them, in their order. It
// is as private as they are.
func ContentOf(s Set) (string, error) {
	digests, err := digestsOf(s)
	whole := sha256.New()
	for i, d := range digests {
		fmt.Fprintf(whole, "%x %d %v\n", d[:], s.Label(i), s.Targets(i))
	}
	return fmt.Sprintf("%x", whole.Sum(nil)), err
}

// digestsOf hashes the values of all examples, on all processors.
func digestsOf(s Set) ([]digest, error) {
	const chunk = 64
	n, shape := s.Len(), s.Shape()
	same := Normalisation{Mean: make([]float64, shape.Channels), Std: slices.Repeat([]float64{1}, shape.Channels)} // which texts pass over
	fill, digests := s.normalised(same), make([]digest, n)
	err := kernel.Each((n+chunk-1)/chunk, func(c int) error {
		x, content := make([]float32, shape.Values()), []byte(nil)
		for i := c * chunk; i < min(n, (c+1)*chunk); i++ {
			if err := fill(x, i); err != nil {
				return err
			}
			var err error
			if content, err = binary.Append(content[:0], binary.LittleEndian, x); err != nil {
				return fmt.Errorf("data: %w", err)
			}
			sum := sha256.Sum256(content)
			copy(digests[i][:], sum[:])
		}
		return nil
	})
	return digests, err
}

// Label returns 0: the labels are secret.
func (u *Unlabelled) Label(int) int { return 0 }

// Targets returns nil: what is learnt is a class.
func (u *Unlabelled) Targets(int) []float32 { return nil }

// Secret returns the label of the example at a place.
func (u *Unlabelled) Secret(place int) int { return u.Set.Label(u.order[place]) }

// Content returns a hash of all examples in their order, without their labels.
func (u *Unlabelled) Content() string { return u.content }

// Boundary returns the first place, from place on, whose example does not equal the one before it.
// The examples before it are the same at every call of [NewUnlabelled], and so are the others.
func (u *Unlabelled) Boundary(place int) int {
	for place < len(u.twins) && u.twins[place] {
		place++
	}
	return place
}

func (u *Unlabelled) normalised(n Normalisation) filler {
	fill := u.Set.normalised(n)
	return func(x []float32, place int) error { return fill(x, u.order[place]) }
}

// beneath returns the set whose examples s orders or selects, or else s itself.
func beneath(s Set) Set {
	switch s := s.(type) {
	case *Unlabelled:
		return s.Set
	case *selection:
		return s.Set
	case selectedPictures:
		return s.Set
	}
	return s
}
