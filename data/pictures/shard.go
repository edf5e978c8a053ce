package pictures

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"dpsgd/internal/disk"
)

// shardList lists the pictures of a shard: their classes, and where each is in it.
type shardList struct {
	stamp   stamp
	labels  []uint8
	offsets []int64
	sizes   []uint32
	names   []string // where they are wanted
	others  Others
}

// listShard reads the headers of a tar file and the contents of its .cls files, but no picture. The
// members are named as in WebDataset: the files of one example are side by side and have one key,
// the name up to the first dot after the last slash. An example has one picture and one file whose
// name ends in .cls, which holds the name or the number of its class. Files with other endings are
// counted in others. numbers holds the number of each class by its name and by its number as text.
func listShard(path string, numbers map[string]uint8, names bool) (*shardList, error) {
	f, err := disk.Open(path)
	if err != nil {
		return nil, fmt.Errorf("data: %w: shard: %w", ErrInvalid, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("data: %w: shard: %w", ErrInvalid, err)
	}
	s := newShardReader(io.NewSectionReader(&readAhead{ReaderAt: f}, 0, info.Size()), numbers, names)
	if err := s.all(); err != nil {
		return nil, fmt.Errorf("data: %w: shard %s: %w", ErrInvalid, path, err)
	}
	s.list.stamp = stampOf(info)
	return s.list, nil
}

// shardReader reads one shard from its beginning to its end.
type shardReader struct {
	list    *shardList
	file    *io.SectionReader
	tar     *tar.Reader
	numbers map[string]uint8
	keys    map[string]bool // the keys of earlier examples
	names   bool

	example example
}

// example is what has been read so far of the example at which the reader is.
type example struct {
	key            string
	picture, class string // names of the members; "" before they were found
	offset, size   int64
	label          uint8
}

func newShardReader(file *io.SectionReader, numbers map[string]uint8, names bool) *shardReader {
	return &shardReader{
		list: &shardList{others: Others{}}, file: file, tar: tar.NewReader(file),
		numbers: numbers, keys: map[string]bool{}, names: names,
	}
}

func (s *shardReader) all() error {
	for {
		h, err := s.tar.Next()
		at, _ := s.file.Seek(0, io.SeekCurrent) // of what the member holds; of the end of the last one where there is none
		switch {
		case errors.Is(err, io.EOF):
			if err := s.finish(); err != nil {
				return err
			}
			return s.checkEnd(at)
		case err != nil:
			return s.broken(at, err)
		case h.Typeflag == tar.TypeDir || h.Typeflag == tar.TypeXGlobalHeader:
			continue
		case h.Typeflag != tar.TypeReg || h.PAXRecords["GNU.sparse.major"] != "" || h.PAXRecords["GNU.sparse.map"] != "":
			return fmt.Errorf("member %s at byte %d is a link, a special or a sparse file, expected files as they are", h.Name, at)
		case at+h.Size > s.file.Size():
			return fmt.Errorf("member %s at byte %d has %d bytes, but the shard ends at byte %d: it was cut off", h.Name, at, h.Size, s.file.Size())
		}
		if err := s.member(h, at); err != nil {
			return fmt.Errorf("member %s at byte %d: %w", h.Name, at, err)
		}
	}
}

// broken returns the error that says why the next header cannot be read.
func (s *shardReader) broken(at int64, err error) error {
	var magic [4]byte
	_, _ = s.file.ReadAt(magic[:], 0) // a shorter file is not packed
	switch {
	case magic[0] == 0x1f && magic[1] == 0x8b, string(magic[:]) == "\x28\xb5\x2f\xfd", string(magic[:3]) == "BZh", string(magic[:]) == "\xfd7zX":
		return errors.New("it is packed, expected a plain tar file, of which any picture can be read alone")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it ends within a member, at byte %d: it was cut off", s.file.Size())
	}
	return fmt.Errorf("at byte %d: found no header of a member, expected a tar file: %w", at, err)
}

// member adds one file to its example. A file with another key than the last finishes that example.
func (s *shardReader) member(h *tar.Header, at int64) error {
	dir, base := path.Split(h.Name)
	stem, ending, _ := strings.Cut(base, ".")
	if stem == "" { // hidden
		return nil
	}
	if key := dir + stem; key != s.example.key {
		if err := s.finish(); err != nil {
			return err
		}
		if s.keys[key] {
			return fmt.Errorf("the key %s has been before, expected the files of an example side by side, and each example once", key)
		}
		s.keys[key] = true
		s.example = example{key: key}
	}
	switch e := &s.example; {
	case ending == "cls" || strings.HasSuffix(ending, ".cls"): // key.output.cls is one of its names
		if e.class != "" {
			return fmt.Errorf("the key %s has a second class, beside %s, expected one", e.key, e.class)
		}
		e.class = h.Name
		return s.class(h.Size)
	case Known(base):
		if e.picture != "" {
			return fmt.Errorf("the key %s has a second picture, beside %s, expected one", e.key, e.picture)
		}
		e.picture, e.offset, e.size = h.Name, at, h.Size
		return checkSize(h.Size)
	}
	s.list.others.Add(base)
	return nil
}

// class reads the class of the present example from a file of size bytes. It must be declared.
func (s *shardReader) class(size int64) error {
	const most = 500 // bytes; names of classes are shorter
	text := make([]byte, min(size, most))
	if _, err := io.ReadFull(s.tar, text); err != nil {
		return err
	}
	label, known := s.numbers[strings.TrimSpace(string(text))]
	if !known || size > most {
		return fmt.Errorf("found no declared class, expected the name of one or its number, from 0")
	}
	s.example.label = label
	return nil
}

// finish adds the present example to the list. It refuses one without a picture or a class.
func (s *shardReader) finish() error {
	e := s.example
	s.example = example{}
	switch {
	case e.picture == "" && e.class == "":
		return nil
	case e.class == "":
		return fmt.Errorf("picture %s has no class, expected the member %s.cls beside it", e.picture, e.key)
	case e.picture == "":
		return fmt.Errorf("class %s has no picture, expected a member %s with the ending %s beside it", e.class, e.key, Extensions())
	}
	l := s.list
	l.labels, l.offsets, l.sizes = append(l.labels, e.label), append(l.offsets, e.offset), append(l.sizes, uint32(e.size))
	if s.names {
		l.names = append(l.names, path.Base(e.picture))
	}
	return nil
}

const blockSize = 512 // of a tar file

// checkEnd refuses a shard whose last block before at, where the tar reader stopped, is not the
// block of zeros that ends a tar file: such a file was cut off between two members.
func (s *shardReader) checkEnd(at int64) error {
	var block [blockSize]byte
	if at >= blockSize {
		if _, err := s.file.ReadAt(block[:], at-blockSize); err != nil {
			return err
		}
	}
	if at < blockSize || block != [blockSize]byte{} {
		return fmt.Errorf("it ends at byte %d without the block of zeros that ends a tar file: it was cut off", s.file.Size())
	}
	return nil
}

// readAhead reads a few kilobytes at a time: a tar reader asks for single headers, and the members
// between them are often smaller.
type readAhead struct {
	io.ReaderAt
	buffer  [8 << 10]byte
	at, end int64 // of what is in the buffer
}

func (r *readAhead) ReadAt(p []byte, at int64) (int, error) {
	if len(p) > len(r.buffer) {
		return r.ReaderAt.ReadAt(p, at)
	}
	if at < r.at || at+int64(len(p)) > r.end {
		n, err := r.ReaderAt.ReadAt(r.buffer[:], at)
		if r.at, r.end = at, at+int64(n); n < len(p) {
			return copy(p, r.buffer[:n]), err
		}
	}
	return copy(p, r.buffer[at-r.at:]), nil
}
