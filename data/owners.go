package data

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	"dpsgd/data/pictures"
	"dpsgd/internal/random"

	"golang.org/x/text/unicode/norm"
)

// Owners returns the owner of each training example of a folder or a table, in the order in which
// [Load] returns the examples: of a picture, the part of its file's name before the last _; of a
// record, the field in column spec.Group. It fails if an example names no owner.
func Owners(spec Spec) ([]string, error) {
	if spec.Table != "" {
		return ownersOfRecords(spec)
	}
	part := spec.part(parts[0])
	part.Names = true
	listed, err := pictures.List(part, pictures.Others{})
	if err != nil {
		return nil, err
	}
	owners := make([]string, listed.Len())
	for i, name := range listed.Names() {
		owners[i] = nameOf(name[:max(0, strings.LastIndexByte(name, '_'))])
		if owners[i] == "" {
			return nil, fmt.Errorf("data: %w: picture %s does not say whose it is, expected a name with the person before the last _, such as person_0123_07.png", ErrInvalid, listed.Where(i))
		}
	}
	return owners, nil
}

// nameOf returns an owner's name without the spaces around it, in the composed form of Unicode: the
// same person may be written in several ways that look alike.
func nameOf(text string) string { return norm.NFC.String(strings.TrimSpace(text)) }

func ownersOfRecords(spec Spec) ([]string, error) {
	var owners []string
	place := -1
	_, err := eachRecord(spec, parts[0], func(t *tableReader, record []string) (err error) {
		if place < 0 {
			if place, err = t.Find(spec.Group); err != nil {
				return err
			}
		}
		owner := nameOf(record[place])
		if owner == "" {
			return t.Wrong(place, "found nothing", "the person whose record it is")
		}
		owners = append(owners, owner)
		return nil
	})
	return owners, err
}

// ByOwner returns the indices of each owner's examples, or of as many as most if there are more and
// most is not 0. These are drawn by the public seed and the owner's name: the examples of others do
// not change which. The result has the owners in the order in which they first come.
func ByOwner(owners []string, most int, seed uint64) [][]int {
	var names []string
	own := map[string][]int{}
	for i, owner := range owners {
		if own[owner] == nil {
			names = append(names, owner)
		}
		own[owner] = append(own[owner], i)
	}
	drawn := make([][]int, len(names))
	for i, name := range names {
		drawn[i] = firstOf(own[name], most, name, seed)
	}
	return drawn
}

// firstOf returns an owner's examples or, if there are more than most and most is not 0, as many as
// most, drawn by seed and name. These are in increasing order. It may reorder examples.
func firstOf(examples []int, most int, name string, seed uint64) []int {
	if len(examples) <= most || most == 0 {
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
