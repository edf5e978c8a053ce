package pictures

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// What a file says of its picture beside the pixels, in tags as TIFF has them: TIFF 6.0, section 2.
// A TIFF file is made of tags; files of other formats hold a small one, which cameras call Exif.
const (
	tagCompression  = 259
	tagPhotometric  = 262
	tagFillOrder    = 266
	tagOrientation  = 274
	tagPlanes       = 284
	lowestFirst     = 2 // of tagFillOrder
	separate        = 2 // of tagPlanes
	tagGroup3       = 292
	group3, group4  = 3, 4 // of tagCompression: what fax machines send
	blackIsZero     = 1    // of tagPhotometric
	exifPrefix      = "Exif\x00\x00"
	jpegExif        = 0xe1 // the segment that holds Exif, and others
	jpegBeginOfScan = 0xda
)

// tags holds the value of each tag, by its number, that has one whole number of 16 or 32 bits for a
// value. A value above 65,535 counts as 65,535.
type tags map[uint16]uint16

// orientation says how to turn the picture, 1 to 8; 1 leaves it as it is.
func (t tags) orientation() int {
	if o := t[tagOrientation]; o >= 1 && o <= 8 {
		return int(o)
	}
	return 1
}

// fax reports whether the pixels are packed as fax machines pack them.
func (t tags) fax() bool { return t[tagCompression] == group3 || t[tagCompression] == group4 }

// refuse returns an error if the tags have a value that changes the pixels and that package tiff of
// golang.org/x/image v0.47.0 ignores.
func (t tags) refuse() error {
	switch {
	case t[tagCompression] == group3 && t[tagGroup3] != 0: // two dimensions, or lines that end at whole bytes
		return errors.New("found a TIFF packed with Group 3 and options, expected it without them, or another packing")
	case t[tagPlanes] == separate:
		return errors.New("found a TIFF in planes, one for each colour, expected the colours of a pixel side by side")
	case t[tagFillOrder] == lowestFirst && !t.fax():
		return errors.New("found a TIFF whose bytes are filled from their lowest bit on, expected the highest")
	}
	return nil
}

// tagsOf returns the tags of a file of the given format, as package image calls it. It returns none
// if they are missing or damaged: decoders do not need them.
func tagsOf(r io.ReadSeeker, format string) tags {
	switch format {
	case "tiff":
		return readTags(r)
	case "jpeg":
		return exif(r, 2, func(head []byte) (skip, size int64, found, more bool) {
			size = int64(binary.BigEndian.Uint16(head[2:])) - 2
			return 4, size, head[1] == jpegExif, head[0] == 0xff && head[1] != jpegBeginOfScan && size >= 0
		})
	case "png":
		return exif(r, 8, func(head []byte) (skip, size int64, found, more bool) {
			return 8, int64(binary.BigEndian.Uint32(head)) + 4, string(head[4:]) == "eXIf", true // with a checksum
		})
	case "webp":
		return exif(r, 12, func(head []byte) (skip, size int64, found, more bool) {
			size = int64(binary.LittleEndian.Uint32(head[4:]))
			return 8, size + size%2, string(head[:4]) == "EXIF", true
		})
	}
	return nil
}

// exif returns the tags in a file's first part that is Exif; the parts begin at byte at. part reads
// the first eight bytes of a part: skip is how many bytes precede its content, size how many the
// content has, found whether it may be Exif, and more is false where the parts have ended.
func exif(r io.ReadSeeker, at int64, part func(head []byte) (skip, size int64, found, more bool)) tags {
	for {
		head := readFrom(r, at, 8)
		if head == nil {
			return nil
		}
		skip, size, found, more := part(head)
		if !more {
			return nil
		}
		at += skip
		if found {
			content, prefixed := bytes.CutPrefix(readFrom(r, at, size), []byte(exifPrefix))
			if t := readTags(bytes.NewReader(content)); t != nil || prefixed {
				return t
			}
		}
		at += size
	}
}

// readFrom returns the n bytes from byte at on, or nil. It takes no memory for bytes that are not there.
func readFrom(r io.ReadSeeker, at, n int64) []byte {
	if _, err := r.Seek(at, io.SeekStart); err != nil {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(r, n))
	if err != nil || int64(len(b)) < n {
		return nil
	}
	return b
}

// readTags returns the tags in the first directory of a TIFF; nil if there is none.
func readTags(r io.ReadSeeker) tags {
	head := readFrom(r, 0, 8)
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case head == nil:
		return nil
	case string(head[:4]) == "MM\x00*":
		order = binary.BigEndian
	case string(head[:4]) != "II*\x00":
		return nil
	}
	first := int64(order.Uint32(head[4:]))
	count := readFrom(r, first, 2)
	if count == nil {
		return nil
	}
	entries := readFrom(r, first+2, 12*int64(order.Uint16(count)))
	t := tags{}
	for ; len(entries) >= 12; entries = entries[12:] {
		const short, long = 3, 4
		switch kind := order.Uint16(entries[2:]); {
		case order.Uint32(entries[4:]) != 1: // one value
		case kind == short:
			t[order.Uint16(entries)] = order.Uint16(entries[8:])
		case kind == long:
			t[order.Uint16(entries)] = uint16(min(order.Uint32(entries[8:]), 1<<16-1))
		}
	}
	return t
}
