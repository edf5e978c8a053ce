package selftest

import (
	"fmt"
	"slices"

	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/random"
	"dpsgd/internal/records"
	"dpsgd/internal/setup"
	"dpsgd/release"
)

// Of the search for the record that moves the sum furthest.
const (
	rounds     = 6  // each goes on from the furthest so far
	candidates = 12 // in a round
)

// summed computes clipped sums of integers of the records of a set, as a release does.
type summed struct {
	sum    *clip.Sum
	source release.Contributor
}

// summed returns the sums of a set whose contributions are computed so many records at a time.
func (r *rig) summed(set data.Set, physical int, engine string) (*summed, error) {
	source, coordinates, err := r.contributor(set, physical, engine)
	if err != nil {
		return nil, err
	}
	sum, err := clip.NewSum(r.plan.Policy, coordinates, r.pool)
	if err != nil {
		return nil, err
	}
	sum.Refine(r.plan.Room())
	return &summed{sum, source}, nil
}

func (r *rig) contributor(set data.Set, physical int, engine string) (release.Contributor, int, error) {
	if r.config.Federated.Any() {
		clients, err := records.NewClients(r.config, r.model, set, r.outline.Shape, r.pool)
		if err != nil {
			return nil, 0, err
		}
		clients.ClipBy(r.plan.Policy)
		return clients.AtRound(0), clients.Coordinates(), nil
	}
	g, err := r.graph(set, physical, engine)
	if err != nil {
		return nil, 0, err
	}
	g.ClipBy(r.plan.Policy)
	return g, g.Coordinates(), nil
}

// of returns the sum of the contributions of a sample.
func (s *summed) of(sample []int) ([]int64, error) {
	if err := release.AddUp(s.sum, sample, s.source); err != nil {
		return nil, err
	}
	integers := make([]int64, s.sum.Dim())
	return integers, s.sum.Release(func(read clip.Integers, _ clip.Lattice) { read(integers, 0) })
}

// moved returns how far one more record moves the sum of a sample, as a share of the bound, and
// whether that is within the bound.
func (s *summed) moved(sample []int, one int) (share float64, within bool, err error) {
	without, err := s.of(sample)
	if err != nil {
		return 0, false, err
	}
	with, err := s.of(append(slices.Clone(sample), one))
	if err != nil {
		return 0, false, err
	}
	share, within = clip.Moved(s.sum.Lattice(), with, without)
	return share, within, nil
}

// sensitivity measures how far one record moves the integer sum: records of random examples, and
// one that was searched for. The sums have to be the same however they are computed.
func sensitivity(r *rig) (finding, error) {
	bytes, n := setup.Draw(setup.Seen(r.config, r.outline.Shape), r.outline.Classes, r.examples(), random.Seeded(seed)), batch
	set, err := bytes.AsSeen(r.config, r.outline)
	if err != nil {
		return finding{}, err
	}
	others := span(0, n)
	var f finding
	longest, neighbours := 0.0, 0
	note := func(what string, share float64, within bool) {
		longest, neighbours = max(longest, share), neighbours+1
		if !within {
			f.faults = append(f.faults, fmt.Sprintf("%s: found that one record moves the sum by %.6g of the bound %g, expected at most 1", what, share, r.plan.Policy.Bound()))
		}
	}
	names, sizes := engineNames, []int{n, 1, 4}
	if r.config.Federated.Any() {
		names, sizes = names[:1], sizes[:1] // clients have neither
	}
	reversed := slices.Clone(others)
	slices.Reverse(reversed)
	for _, engine := range names {
		var first []int64
		for _, physical := range sizes {
			s, err := r.summed(set, physical, engine)
			if err != nil {
				return f, err
			}
			for _, sample := range [][]int{others, reversed} {
				sum, err := s.of(sample)
				if err != nil {
					return f, err
				}
				if first == nil {
					first = sum
				}
				if !slices.Equal(sum, first) {
					f.faults = append(f.faults, fmt.Sprintf("%s, %d at a time: found another sum of integers than with %d at a time, expected the same", engine, physical, n))
				}
			}
			for one := n; one < 2*n && physical == n; one++ {
				share, within, err := s.moved(others, one)
				if err != nil {
					return f, err
				}
				note("record "+fmt.Sprint(one)+" of random examples", share, within)
			}
		}
	}
	if !r.config.Federated.Any() {
		if err := r.search(bytes, note); err != nil {
			return f, err
		}
	}
	f.measured = fmt.Sprintf("%d neighbours, the furthest at %.6f of the bound %g", neighbours, longest, r.plan.Policy.Bound())
	return f, nil
}

// examples is how many examples a set needs that every record has some.
func (r *rig) examples() int { return max(examples, 4*r.config.Federated.Clients) }

// search looks for an example that moves the sum of others furthest. In each round some examples are
// drawn near the furthest so far, bytes and labels changed at random; each joins the others.
func (r *rig) search(start setup.Drawn, note func(what string, share float64, within bool)) error {
	src := random.Seeded(seed + 1)
	width, furthest := len(start.Values)/len(start.Labels), 0.0
	best := setup.Drawn{Labels: start.Labels[:1], Values: start.Values[:width]}
	for round := range rounds {
		tried := setup.Draw(setup.Seen(r.config, r.outline.Shape), r.outline.Classes, candidates, src)
		for i := range tried.Values {
			if round > 0 && src.Uint64()%4 != 0 {
				tried.Values[i] = best.Values[i%width]
			}
		}
		for i := range tried.Labels {
			if round > 0 && src.Uint64()%2 != 0 {
				tried.Labels[i] = best.Labels[0]
			}
		}
		all := setup.Drawn{Labels: slices.Concat(start.Labels[:batch], tried.Labels), Values: slices.Concat(start.Values[:batch*width], tried.Values)}
		set, err := all.AsSeen(r.config, r.outline)
		if err != nil {
			return err
		}
		s, err := r.summed(set, batch, engineNames[round%2])
		if err != nil {
			return err
		}
		for i := range candidates {
			share, within, err := s.moved(span(0, batch), batch+i)
			if err != nil {
				return err
			}
			note("an example that was searched for", share, within)
			if share > furthest {
				furthest, best = share, setup.Drawn{Labels: slices.Clone(tried.Labels[i : i+1]), Values: slices.Clone(tried.Values[i*width : (i+1)*width])}
			}
		}
	}
	return nil
}
