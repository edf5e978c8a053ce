package data

import (
	"fmt"
	"strings"

	"dpsgd/data/pictures"
)

// Owners returns whose each training example of a folder or a table is, in the order of the examples
// that [Load] returns: of a picture the part of its file's name before the last _, of a record what
// stands in the column spec.Group. An example that says of nobody whose it is is an error.
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
		owner := strings.LastIndexByte(name, '_')
		if owner < 1 {
			return nil, fmt.Errorf("data: %w: picture %s does not say whose it is, expected a name with the person before the last _, such as person_0123_07.png", ErrInvalid, listed.Where(i))
		}
		owners[i] = name[:owner]
	}
	return owners, nil
}

func ownersOfRecords(spec Spec) ([]string, error) {
	var owners []string
	place := -1
	_, err := eachRecord(spec, parts[0], func(t *tableReader, record []string) (err error) {
		if place < 0 {
			if place, err = t.Find(spec.Group); err != nil {
				return err
			}
		}
		if record[place] == "" {
			return t.Wrong(place, "found nothing", "the person whose record it is")
		}
		owners = append(owners, record[place])
		return nil
	})
	return owners, err
}
