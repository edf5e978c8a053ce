package data

import (
	"dpsgd/data/pictures"
	"dpsgd/internal/kernel"
)

// Stored is an immutable set of labelled pictures that lie in files: each is decoded whenever it is
// needed, unless a cache keeps it. It holds what [Images] of the same files hold, byte for byte. It
// is safe for concurrent reading.
type Stored struct {
	labelled
	cache *pictures.Cache
	from  int // the picture of cache that is the first one here
}

// Pictures is a set of pictures, in memory or not.
type Pictures interface {
	Set
	// View calls use with the bytes of picture i in the order row, column, channel, which are valid
	// until it returns and must not be changed. It fails where the picture cannot be read.
	View(i int, use func(pixels []uint8)) error
}

var _, _ Pictures = (*Images)(nil), (*Stored)(nil)

// View implements [Pictures].
func (s *Stored) View(i int, use func(pixels []uint8)) error { return s.cache.View(s.from+i, use) }

// View implements [Pictures]. It does not fail.
func (m *Images) View(i int, use func(pixels []uint8)) error {
	use(m.Pixels(i))
	return nil
}

func (s *Stored) normalised(n Normalisation) filler {
	table := newPixelTable(n)
	return func(x []float32, i int) error {
		return s.View(i, func(pixels []uint8) { table.fill(x, pixels) })
	}
}

// Stored reports whether pictures of the split are decoded when they are needed.
func (s *Split) Stored() bool {
	_, train := s.Train.(*Stored)
	_, test := s.Test.(*Stored)
	return train || test
}

// Check decodes every picture that is not in memory, so that one that cannot be read is found before
// training begins and not in the middle of it; the cache is filled by that. done, which is not nil, is
// told every now and then how many of all pictures have been decoded, by one goroutine at a time.
func (s *Split) Check(done func(n, total int)) error {
	const block = 1000
	read, total := 0, s.Train.Len()+s.Test.Len()
	for _, set := range []Set{s.Train, s.Test} {
		set, ok := set.(*Stored)
		if !ok {
			continue
		}
		for from := 0; from < set.Len(); from += block {
			n := min(block, set.Len()-from)
			if err := kernel.Each(n, func(i int) error { return set.View(from+i, func([]uint8) {}) }); err != nil {
				return err
			}
			read += n
			done(read, total)
		}
	}
	return nil
}
