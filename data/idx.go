package data

import (
	"errors"
	"path/filepath"
	"slices"

	"dpsgd/internal/kernel"
)

// idxFiles are the four files of a set of the MNIST family, unpacked: pictures and labels to train
// on, pictures and labels to test with. They have the IDX format of
// http://yann.lecun.com/exdb/mnist/: a header, then the values, bytes in row-major order. The
// header is not parsed, because the checksum of the file covers it.
type idxFiles [4]File

// Bytes of a header: two zeros, the type of the values, the number of dimensions, and each in four
// bytes.
const (
	idxImagesHeader = 4 + 3*4 // pictures, rows, columns
	idxLabelsHeader = 4 + 4
)

// load reads and verifies the four files, packed with gzip or plain.
func (s *idxFiles) load(set *Dataset, folder string, _ uint64) (*Split, error) {
	var contents [len(s)][]byte
	err := kernel.Each(len(s), func(i int) (err error) {
		contents[i], err = readPacked(folder, s[i])
		return err
	})
	if errors.Is(err, ErrMissing) {
		first := slices.IndexFunc(contents[:], func(content []byte) bool { return content == nil })
		return nil, missing(set.Name, filepath.Join(folder, s[first].Name+".gz"))
	}
	if err != nil {
		return nil, err
	}
	return splitOf(set.Name, func(part int) (*Images, error) {
		return NewImages(set.Shape, set.Classes, contents[2*part+1][idxLabelsHeader:], contents[2*part][idxImagesHeader:])
	})
}
