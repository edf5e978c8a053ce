package vectors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/format"
)

// What a Parquet file says about sizes, held against the file before the library believes it: it
// allocates what a footer or the header of a page claims.
// https://github.com/apache/parquet-format, "File Format" and "Data Pages".

const parquetMagic = "PAR1"

// checkFooter makes sure that the file ends with a footer of which all parts are there.
func checkFooter(f io.ReaderAt, size int64) error {
	const tail = 8 // length of the footer, and the magic text again
	end := make([]byte, tail)
	if size < int64(len(parquetMagic))+tail {
		return fmt.Errorf("found %d bytes, expected a Parquet file", size)
	}
	if _, err := f.ReadAt(end, size-tail); err != nil {
		return err
	}
	if magic := string(end[4:]); magic != parquetMagic {
		return fmt.Errorf("found no Parquet file, or one that is cut or encrypted, expected one that ends with %q", parquetMagic)
	}
	length := int64(binary.LittleEndian.Uint32(end))
	if length > size-tail-int64(len(parquetMagic)) {
		return fmt.Errorf("found %d bytes, expected a footer of %d among them", size, length)
	}
	footer := make([]byte, length)
	if _, err := f.ReadAt(footer, size-tail-length); err != nil {
		return err
	}
	if err := (&compact{rest: footer}).structure(nil); err != nil {
		return fmt.Errorf("found a footer that %w", err)
	}
	return nil
}

// codecs are the ones that are read. LZ4_RAW, which pyarrow calls lz4, and the older LZ4 are not:
// parquet-go v0.32.0 unpacks a page into a new buffer where its own has not three times the bytes of
// the packed page, and goes on with its own, which holds something else, if the page has the length
// that it declares (https://github.com/parquet-go/parquet-go/issues/608). Values come out as zeros or
// as those of other pages, without an error.
var codecs = []format.CompressionCodec{format.Uncompressed, format.Snappy, format.Gzip, format.Brotli, format.Zstd}

// checkPages makes sure that all pages lie in the file and hold no more than it has room for.
func checkPages(f io.ReaderAt, size int64, meta *format.FileMetaData) error {
	for _, group := range meta.RowGroups {
		for _, chunk := range group.Columns {
			m := chunk.MetaData
			if !slices.Contains(codecs, m.Codec) {
				return fmt.Errorf("found the column %s packed with %v, expected one of %v (pyarrow: compression=\"zstd\")", strings.Join(m.PathInSchema, "."), m.Codec, codecs)
			}
			begin := m.DataPageOffset
			if m.DictionaryPageOffset > 0 {
				begin = min(begin, m.DictionaryPageOffset)
			}
			if begin < 0 || begin > size || m.TotalCompressedSize < 0 || m.TotalCompressedSize > size-begin {
				return fmt.Errorf("found a column at byte %d with %d bytes, expected it among the %d of the file", begin, m.TotalCompressedSize, size)
			}
			end := begin + m.TotalCompressedSize
			for at := begin; at < end; {
				n, err := checkPage(io.NewSectionReader(f, at, end-at), end-at, expansion*size, m.Codec)
				if err != nil {
					return fmt.Errorf("found a page at byte %d that %w", at, err)
				}
				at += n
			}
		}
	}
	return nil
}

// maxPageHeader is more than the header of a page takes: its statistics hold two values.
const maxPageHeader = 1 << 16

// checkPage looks at the header of a page that begins in room bytes, and returns how many it takes.
// Most is how much it may unpack to, in bytes and in values.
func checkPage(r io.ReaderAt, room, most int64, codec format.CompressionCodec) (size int64, err error) {
	head := make([]byte, min(room, maxPageHeader))
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return 0, err
	}
	p, rest, err := readPageHeader(head)
	if err != nil {
		return 0, err
	}
	size = int64(len(head)-len(rest)) + p.packed
	switch {
	case p.packed < 0 || size > room:
		return 0, fmt.Errorf("claims %d bytes, expected at most the %d that are left of its column", p.packed, room)
	case p.unpacked < 0 || p.unpacked > most || p.values > most:
		return 0, fmt.Errorf("claims %d values in %d bytes when unpacked, expected at most %d", p.values, p.unpacked, most)
	case p.second && p.values == 0:
		// parquet-go v0.32.0 takes the levels of such a page for a memory that is not there, and panics.
		return 0, fmt.Errorf("is of version 2 and holds no value, expected at least one (pyarrow: data_page_version=\"1.0\")")
	case p.levels < 0 || p.levels > p.packed:
		return 0, fmt.Errorf("claims %d bytes of levels, expected at most all of its %d", p.levels, p.packed)
	}
	if codec != format.Snappy || p.packed == p.levels {
		return size, nil
	}
	// Snappy tells how much it unpacks to once more.
	start := make([]byte, min(binary.MaxVarintLen64, p.packed-p.levels))
	if _, err := r.ReadAt(start, size-p.packed+p.levels); err != nil && err != io.EOF {
		return 0, err
	}
	if unpacked, n := binary.Uvarint(start); p.compressed && (n <= 0 || unpacked > uint64(most)) {
		return 0, fmt.Errorf("claims %d bytes when unpacked, expected at most %d", unpacked, most)
	}
	return size, nil
}

// pageHeader is what the header of a page says about sizes.
type pageHeader struct {
	unpacked, packed int64
	values           int64
	levels           int64 // bytes ahead of what is compressed, in a page of version 2
	compressed       bool
	second           bool // a data page of version 2
}

// readPageHeader reads the header that bytes begin with, by the numbers of fields in parquet.thrift.
func readPageHeader(b []byte) (p pageHeader, rest []byte, err error) {
	const (
		unpacked, packed           = 2, 3
		data, dictionary, data2    = 5, 7, 8 // structures, which have the number of values first
		definitions2, repetitions2 = 5, 6    // bytes, in data2
	)
	p.compressed = true
	c := compact{rest: b, integer: func(path []int, v int64) {
		switch field := path[len(path)-1]; {
		case len(path) == 1 && field == unpacked:
			p.unpacked = v
		case len(path) == 1 && field == packed:
			p.packed = v
		case len(path) != 2:
		case field == 1 && (path[0] == data || path[0] == dictionary || path[0] == data2):
			p.values = max(p.values, v)
			p.second = p.second || path[0] == data2
		case path[0] == data2 && (field == definitions2 || field == repetitions2):
			p.levels += v
		}
	}, no: func(path []int) { p.compressed = p.compressed && !(len(path) == 2 && path[0] == data2) }}
	err = c.structure(nil)
	return p, c.rest, err
}

// compact walks through Thrift's compact protocol without making anything of it.
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
type compact struct {
	rest    []byte
	integer func(path []int, v int64) // told about integers in structures, by the numbers of fields; nil tells nobody
	no      func(path []int)          // told about what is false
}

// Types of values in the compact protocol.
const (
	compactStop, compactTrue, compactFalse, compactByte, compactDouble = 0, 1, 2, 3, 7
	compactI16, compactI32, compactI64, compactBinary                  = 4, 5, 6, 8
	compactList, compactSet, compactStruct                             = 9, 10, 12

	compactDepth = 16 // of structures; a footer has five
)

var (
	errCompactEnd  = errors.New("goes on after its end, expected a whole one")
	errCompactForm = errors.New("is no structure of Thrift's, expected one")
)

// skip passes n bytes over.
func (c *compact) skip(n uint64) error {
	if n > uint64(len(c.rest)) {
		return errCompactEnd
	}
	c.rest = c.rest[n:]
	return nil
}

func (c *compact) byte() (byte, error) {
	if len(c.rest) == 0 {
		return 0, errCompactEnd
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return b, nil
}

func (c *compact) varint() (uint64, error) {
	v, n := binary.Uvarint(c.rest)
	if n <= 0 {
		return 0, errCompactEnd
	}
	c.rest = c.rest[n:]
	return v, nil
}

// signedOf undoes the zigzag of a varint.
func signedOf(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// structure walks through fields until their end.
func (c *compact) structure(path []int) error {
	if len(path) >= compactDepth {
		return errCompactForm
	}
	id := 0
	for {
		head, err := c.byte()
		if err != nil || head == compactStop {
			return err
		}
		if delta := int(head >> 4); delta != 0 {
			id += delta
		} else {
			v, err := c.varint()
			if err != nil {
				return err
			}
			id = int(int16(signedOf(v)))
		}
		kind := head & 15
		if kind == compactTrue || kind == compactFalse { // the type says it
			if kind == compactFalse && c.no != nil {
				c.no(append(path, id))
			}
			continue
		}
		if err := c.value(kind, append(path, id)); err != nil {
			return err
		}
	}
}

// value walks through one value.
func (c *compact) value(kind byte, path []int) error {
	switch kind {
	case compactTrue, compactFalse, compactByte: // in a list, a byte too
		return c.skip(1)
	case compactDouble:
		return c.skip(8)
	case compactI16, compactI32, compactI64:
		v, err := c.varint()
		if err == nil && c.integer != nil {
			c.integer(path, signedOf(v))
		}
		return err
	case compactBinary:
		n, err := c.varint()
		if err != nil {
			return err
		}
		return c.skip(n)
	case compactList, compactSet:
		return c.list(path)
	case compactStruct:
		return c.structure(path)
	}
	return errCompactForm // Parquet has no maps
}

// list walks through a list, which cannot be longer than the bytes that are left.
func (c *compact) list(path []int) error {
	head, err := c.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = c.varint(); err != nil {
			return err
		}
	}
	if n > uint64(len(c.rest)) {
		return errCompactEnd
	}
	kind := head & 15
	if kind == compactList || kind == compactSet {
		return errCompactForm // Parquet has no lists of lists
	}
	for range n {
		if err := c.value(kind, path); err != nil {
			return err
		}
	}
	return nil
}
