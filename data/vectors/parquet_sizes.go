package vectors

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The sizes that a Parquet file states, checked before the library allocates what a page claims.
// https://github.com/apache/parquet-format, "File Format" and "Data Pages".

const parquetMagic = "PAR1"

// checkFooter refuses a file that does not end as Parquet does, or has no room for its footer.
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
	return nil
}

// codecs lists the codecs that are read. LZ4_RAW, which pyarrow calls lz4, and the older LZ4 are
// not: parquet-go v0.32.0 unpacks a page into a new buffer where its own is too small, but goes on
// with its own, if the page has the length that it declares. Values come out as zeros or as those
// of other pages, without an error (https://github.com/parquet-go/parquet-go/issues/608).
var codecs = []format.CompressionCodec{format.Uncompressed, format.Snappy, format.Gzip, format.Brotli, format.Zstd}

// checkPages refuses unknown codecs, and pages and rows that cannot be in the file.
func checkPages(f io.ReaderAt, size int64, meta *format.FileMetaData) error {
	rows := int64(0)
	for _, group := range meta.RowGroups {
		rows += group.NumRows
		for _, chunk := range group.Columns {
			m := chunk.MetaData
			least, greatest := m.Statistics.MinValue, m.Statistics.MaxValue
			switch name := strings.Join(m.PathInSchema, "."); {
			case group.NumRows == 0: // and no page, or one of a dictionary: eachRows passes over it
				continue
			case !slices.Contains(codecs, m.Codec):
				return fmt.Errorf("found the column %s packed with %v, expected one of %v (pyarrow: compression=\"zstd\")", name, m.Codec, codecs)
			case m.Type == format.Int32 && slices.Contains(m.Encoding, format.DeltaBinaryPacked) && strings.HasPrefix(meta.CreatedBy, "DuckDB") && m.Statistics.NullCount < m.NumValues &&
				(len(least) != 4 || len(greatest) != 4 || binary.LittleEndian.Uint32(greatest)-binary.LittleEndian.Uint32(least) > math.MaxInt32):
				// Differences of more than 32 bits: pyarrow refuses them, and parquet-go reads others.
				return fmt.Errorf("found the column %s of large integers in DuckDB's second version, expected its first (PARQUET_VERSION V1)", name)
			}
			begin := min(m.DataPageOffset, cmp.Or(m.DictionaryPageOffset, m.DataPageOffset))
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
	if rows != meta.NumRows {
		return fmt.Errorf("found groups of %d rows, expected the %d that it declares", rows, meta.NumRows)
	}
	return nil
}

// maxPageHeader is more than the header of a page takes: its statistics hold two values.
const maxPageHeader = 1 << 16

// checkPage checks the header of a page, for which room bytes are left, and returns how many bytes
// header and page take. most bounds the bytes and the values that the page may unpack to.
func checkPage(r io.ReaderAt, room, most int64, codec format.CompressionCodec) (size int64, err error) {
	head := make([]byte, min(room, maxPageHeader))
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return 0, err
	}
	var p format.PageHeader
	reader := new(thrift.CompactProtocol).NewReaderFromBytes(head)
	if err := thrift.NewDecoder(reader).Decode(&p); err != nil {
		return 0, fmt.Errorf("has a damaged header (%w), expected a whole one", err)
	}
	second := p.DataPageHeaderV2.V
	values := max(p.DataPageHeader.V.NumValues, p.DictionaryPageHeader.V.NumValues, second.NumValues)
	packed, levels := int64(p.CompressedPageSize), int64(second.DefinitionLevelsByteLength)+int64(second.RepetitionLevelsByteLength)
	size = int64(reader.BytesRead()) + packed
	// Snappy and Zstandard say once more how long what they packed is.
	stated, start, frame := uint64(0), make([]byte, max(0, min(packed-levels, zstd.HeaderMaxSize))), zstd.Header{}
	n, _ := r.ReadAt(start, size-packed+levels)
	switch {
	case second.IsCompressed.Valid && !second.IsCompressed.V:
	case codec == format.Snappy:
		stated, _ = binary.Uvarint(start[:n])
	case codec == format.Zstd && frame.Decode(start[:n]) == nil:
		stated = frame.FrameContentSize
	}
	switch unpacked := int64(p.UncompressedPageSize); {
	case packed < 0 || size > room:
		return 0, fmt.Errorf("claims %d bytes, expected at most the %d that are left of its column", packed, room)
	case unpacked < 0 || unpacked > most || int64(values) > most || stated > uint64(most):
		return 0, fmt.Errorf("claims %d values in %d bytes when unpacked, expected at most %d", values, int64(max(stated, uint64(unpacked))), most)
	case p.DataPageHeaderV2.Valid && second.NumValues == 0:
		// parquet-go v0.32.0 takes its levels for a memory that is not there, and panics.
		return 0, fmt.Errorf("is of version 2 and holds no value, expected at least one (pyarrow: data_page_version=\"1.0\")")
	case levels < 0 || levels > packed:
		return 0, fmt.Errorf("claims %d bytes of levels, expected at most all of its %d", levels, packed)
	}
	return size, nil
}
