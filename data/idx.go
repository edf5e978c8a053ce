package data

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"dpsgd/internal/kernel"
)

// The IDX format, after http://yann.lecun.com/exdb/mnist/: two zero bytes, the
// type of the values (8 is unsigned byte), the number of dimensions, each
// dimension as a big-endian uint32, then the values in row-major order.
const (
	idxImagesMagic = 0x00000803 // bytes; pictures, rows, columns
	idxLabelsMagic = 0x00000801 // bytes; labels
)

// parseIDX checks the header of an IDX file of bytes and returns its dimensions
// and a view of its values. what names the file in errors.
func parseIDX(content []byte, what string, magic uint32) (dims []int, values []byte, err error) {
	rank := int(magic & 0xff)
	header := 4 + 4*rank
	if len(content) < header {
		return nil, nil, fmt.Errorf("data: %w: %s has %d bytes, expected at least a header of %d", ErrInvalid, what, len(content), header)
	}
	if got := binary.BigEndian.Uint32(content); got != magic {
		return nil, nil, fmt.Errorf("data: %w: %s starts with the number 0x%08x, expected 0x%08x (IDX, bytes, %d dimensions)",
			ErrInvalid, what, got, magic, rank)
	}
	dims = make([]int, rank)
	for i := range dims {
		d := binary.BigEndian.Uint32(content[4+4*i:])
		if uint64(d) > uint64(maxInt) { // 32-bit machines
			return nil, nil, fmt.Errorf("data: %w: %s declares a dimension of %d", ErrInvalid, what, d)
		}
		dims[i] = int(d)
	}
	want, err := product(dims...)
	if err != nil {
		return nil, nil, fmt.Errorf("data: header of %s: %w", what, err)
	}
	values = content[header:]
	if len(values) != want {
		return nil, nil, fmt.Errorf("data: %w: %s holds %d values, expected %d from its dimensions %v", ErrInvalid, what, len(values), want, dims)
	}
	return dims, values, nil
}

// parseIDXPair makes a set from a file of pictures and a file of labels. The
// pixels are a view of the first.
func parseIDXPair(images, labels unpacked, shape Shape, classes []string) (*Images, error) {
	dims, pixels, err := parseIDX(images.content, images.name, idxImagesMagic)
	if err != nil {
		return nil, err
	}
	if dims[1] != shape.Height || dims[2] != shape.Width {
		return nil, fmt.Errorf("data: %w: %s holds pictures of %d by %d pixels, expected %d by %d",
			ErrInvalid, images.name, dims[1], dims[2], shape.Height, shape.Width)
	}
	count, values, err := parseIDX(labels.content, labels.name, idxLabelsMagic)
	if err != nil {
		return nil, err
	}
	if count[0] != dims[0] {
		return nil, fmt.Errorf("data: %w: %s holds %d labels, expected %d, one for each picture of %s",
			ErrInvalid, labels.name, count[0], dims[0], images.name)
	}
	if err := checkLabels(values, len(classes)); err != nil {
		return nil, fmt.Errorf("data: %s: %w", labels.name, err)
	}
	return NewImages(shape, classes, values, pixels)
}

// idxFiles are the four files of a set of the MNIST family, as they are unpacked: pictures and labels
// to train on, pictures and labels to test with.
type idxFiles [4]File

// load reads and verifies the four files, packed with gzip or plain.
func (s *idxFiles) load(set *Dataset, folder string, _ uint64) (*Split, error) {
	var read [len(s)]unpacked
	err := kernel.Each(len(s), func(i int) (err error) {
		read[i], err = readPacked(filepath.Join(folder, s[i].Name), s[i].Size)
		return err
	})
	if errors.Is(err, ErrMissing) {
		first := slices.IndexFunc(read[:], func(u unpacked) bool { return u.content == nil })
		return nil, missing(set.Name, filepath.Join(folder, s[first].Name+".gz"))
	}
	if err != nil {
		return nil, err
	}
	split, err := splitOf(set.Name, func(part int) (*Images, error) {
		return parseIDXPair(read[2*part], read[2*part+1], set.Shape, set.Classes)
	})
	if err != nil {
		return nil, err
	}
	// After the structure, so that a file with something wrong in it is described by what is wrong.
	err = kernel.Each(len(s), func(i int) error { return verify(read[i].content, read[i].name, s[i].SHA256) })
	return split, err
}
