package people

import (
	"dpsgd/clip"
	"dpsgd/internal/noise"
	"dpsgd/internal/random"
	"dpsgd/release"
)

// One contributes for each person what one of their examples contributes, drawn anew each time.
type One struct {
	own    [][]int // of each person, at least one
	src    *random.Source
	drawn  []int
	source release.Contributor // of examples
}

var _ release.Contributor = (*One)(nil)

// NewOne returns the contributor of persons with these examples.
func NewOne(own [][]int, src *random.Source) *One { return &One{own: own, src: src} }

// From makes later contributions those of this contributor of examples.
func (o *One) From(source release.Contributor) *One {
	o.source = source
	return o
}

// Capacity is that of the contributor of examples.
func (o *One) Capacity() int { return o.source.Capacity() }

// Contributions returns what the persons with these indices contribute.
func (o *One) Contributions(indices []int) (clip.Batch, error) {
	o.drawn = o.drawn[:0]
	for _, person := range indices {
		own := o.own[person]
		o.drawn = append(o.drawn, own[noise.Below(uint64(len(own)), o.src)])
	}
	return o.source.Contributions(o.drawn)
}
