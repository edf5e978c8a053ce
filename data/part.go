package data

import "fmt"

// Part is the examples from the one with index from up to that with index to, which is not in it. It
// is a view: nobody may change either set. It fails with [ErrInvalid] for places that are not there,
// and for sets of other packages.
func Part(s Set, from, to int) (Set, error) {
	if from < 0 || to > s.Len() || from >= to {
		return nil, fmt.Errorf("data: %w: examples %d to %d of %d, expected at least one of them", ErrInvalid, from, to, s.Len())
	}
	switch s := s.(type) {
	case *Images:
		size := s.shape.Values()
		return &Images{s.part(from, to), s.pixels[from*size : to*size : to*size]}, nil
	case *Stored:
		return &Stored{s.part(from, to), s.cache, s.from + from}, nil
	case *Features:
		return &Features{s.part(from, to), s.halves[from*s.shape.Channels : to*s.shape.Channels : to*s.shape.Channels]}, nil
	case *Rows:
		return &Rows{s.part(from, to), s.values[from*s.shape.Channels : to*s.shape.Channels : to*s.shape.Channels]}, nil
	}
	return nil, fmt.Errorf("data: %w: a part of %T, expected pictures, rows or features", ErrInvalid, s)
}

func (l labelled) part(from, to int) labelled {
	l.labels = l.labels[from:to:to]
	return l
}
