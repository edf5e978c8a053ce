package records

import (
	"dpsgd/clip"
	"dpsgd/internal/noise"
	"dpsgd/internal/random"
	"dpsgd/release"
)

// people contributes for each person what one of that person's examples contributes, drawn anew for
// every release. So a person adds at most what one example adds, whether they have one or a
// thousand, and everything that holds of a run for one example holds of it for one person.
type people struct {
	own    [][]int // of each person, at least one
	src    *random.Source
	drawn  []int
	source release.Contributor // of examples
}

// from sets the contributor of examples that later contributions come from, and returns p.
func (p *people) from(source release.Contributor) *people { p.source = source; return p }

// Capacity returns how many persons may contribute at once: the capacity for examples.
func (p *people) Capacity() int { return p.source.Capacity() }

// Contributions draws one example of each person with one of these indices, and returns what these
// examples contribute.
func (p *people) Contributions(indices []int) (clip.Batch, error) {
	p.drawn = p.drawn[:0]
	for _, person := range indices {
		own := p.own[person]
		p.drawn = append(p.drawn, own[noise.Below(uint64(len(own)), p.src)])
	}
	return p.source.Contributions(p.drawn)
}
