package data

// Select returns the examples of several sets of one shape and with the same classes, numbered one
// set after the other, at the indices and in their order: a view, so nobody may change any of the
// sets. A selection of pictures is [Pictures].
func Select(indices []int, from ...Set) Set {
	s := &selection{Set: from[0], from: from, places: make([]place, len(indices))}
	pictures := true
	for i, at := range indices {
		set := 0
		for ; at >= from[set].Len(); set++ {
			at -= from[set].Len()
		}
		s.places[i] = place{set, at}
	}
	for _, one := range from {
		_, is := one.(Pictures)
		pictures = pictures && is
	}
	if pictures {
		return selectedPictures{s}
	}
	return s
}

// selection is a view of examples of several sets. It has the shape and classes of the first one.
type selection struct {
	Set
	from   []Set
	places []place
}

// place says where an example is: its set, and its index there.
type place struct{ set, at int }

func (s *selection) Len() int { return len(s.places) }

func (s *selection) Label(i int) int { return s.from[s.places[i].set].Label(s.places[i].at) }

func (s *selection) normalised(n Normalisation) filler {
	fillers := make([]filler, len(s.from))
	for i, set := range s.from {
		fillers[i] = set.normalised(n)
	}
	return func(x []float32, i int) error { return fillers[s.places[i].set](x, s.places[i].at) }
}

// selectedPictures is a selection of pictures.
type selectedPictures struct{ *selection }

var _ Pictures = selectedPictures{}

func (s selectedPictures) View(i int, use func(pixels []uint8)) error {
	return s.from[s.places[i].set].(Pictures).View(s.places[i].at, use)
}
