// Package people makes persons the records of a release: whose each example is, which of them take
// part, and one of a person's examples for each release.
//
// A person may have one example or a thousand. Where a release is made of persons, each in the sample
// or not by a coin of its own, a person who is in it contributes one of their examples, drawn anew for
// every release. So a person adds at most what one example adds, whatever they have, and everything
// that holds of a run for one example holds of it for one person.
package people

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"dpsgd/internal/random"
)

// Count is how many persons own examples.
func Count(owners []string) int {
	seen := map[string]bool{}
	for _, owner := range owners {
		seen[owner] = true
	}
	return len(seen)
}

// Of returns the examples of each person, by index, at most so many of each; 0 is all. Which ones is
// drawn by a public seed, from the examples of that person alone: how many another one has changes
// nothing about them. Persons are in the order in which they first come.
func Of(owners []string, most int, seed uint64) [][]int {
	var own [][]int
	var names []string
	place := map[string]int{}
	for i, owner := range owners {
		at, known := place[owner]
		if !known {
			at = len(own)
			place[owner] = at
			own, names = append(own, nil), append(names, owner)
		}
		own[at] = append(own[at], i)
	}
	if most > 0 {
		for i, examples := range own {
			own[i] = first(examples, most, names[i], seed)
		}
	}
	return own
}

// first draws so many of the examples of a person, in their order.
func first(examples []int, most int, name string, seed uint64) []int {
	if len(examples) <= most {
		return examples
	}
	hash := fnv.New64a()
	hash.Write([]byte(name)) // never fails
	src := rand.New(random.Seeded(seed ^ hash.Sum64()))
	src.Shuffle(len(examples), func(i, j int) { examples[i], examples[j] = examples[j], examples[i] })
	kept := examples[:most]
	slices.Sort(kept)
	return kept
}
