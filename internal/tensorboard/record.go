package tensorboard

import (
	"encoding/binary"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is the checksum of a record. It is not the CRC itself, because records may hold others that
// hold CRCs (record_writer.h; crc32c::Mask in tensorflow/core/lib/hash/crc32c.h).
func masked(b []byte) uint32 {
	crc := crc32.Checksum(b, castagnoli)
	return (crc>>15 | crc<<17) + 0xa282ead8
}

// Record appends data to dst, framed by its length and checksums: all integers are little-endian.
//
//	uint64 length | uint32 checksum of these 8 bytes | data | uint32 checksum of data
func Record(dst, data []byte) []byte {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	dst = append(dst, length...)
	dst = binary.LittleEndian.AppendUint32(dst, masked(length))
	dst = append(dst, data...)
	return binary.LittleEndian.AppendUint32(dst, masked(data))
}
