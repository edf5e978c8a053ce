package checkpoints

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// An extent says where the good part of a file of hash-chained lines ends.
type extent struct {
	size int64  // bytes of the complete lines, each counted with its newline
	tail []byte // the last of these bytes, at least mostUnsynced of them if there are so many
	torn int    // bytes of an incomplete line after them
}

// readOn calls read with the rest of the file, behind the known lines, and counts what it found.
func (l *ledgerFile) readOn(read func(io.Reader) (extent, error)) error {
	more, err := read(io.NewSectionReader(l.f, l.size, math.MaxInt64-l.size))
	if err != nil {
		return err
	}
	l.size += more.size
	if l.torn = more.torn; more.size > 0 {
		l.tail = more.tail
	}
	return nil
}

// errEnough ends readLines before the end of the file.
var errEnough = errors.New("enough was read")

// readLines hands the lines of a file to add, without their newlines; number is that of the first
// one. What a crash in the middle of an append leaves is allowed at the end of the file and nowhere
// else:
//
//   - the beginning of a line without its newline. It was never synced, so the append never
//     returned and nothing was released: it is not counted (extent.torn says how long it is).
//   - a line that lacks only its newline. It is counted, which can only overstate the spend.
//
// Everything else is ErrCorrupt, with the line number: a spend that was once acknowledged is never
// dropped. Starts lists the possible beginnings of a line after the header, longest limits its
// length.
func readLines(r io.Reader, number, longest int, starts []string, add func(number int, content []byte) error) (extent, error) {
	var e extent
	lines := bufio.NewReaderSize(r, min(longest, lineBuffer))
	for ; ; number++ {
		line, err := readLine(lines, longest)
		switch {
		case err == bufio.ErrBufferFull:
			return e, fmt.Errorf("line %d: found more than %d bytes, expected an entry: %w", number, longest, ErrCorrupt)
		case err != nil && err != io.EOF:
			return e, fmt.Errorf("line %d: %w", number, err)
		case err == io.EOF && number == 1:
			return e, fmt.Errorf("line 1: found %d bytes without an end of line, expected the header: %w", len(line), ErrUnfinished)
		case err == io.EOF && isTorn(line, starts):
			e.torn = len(line)
			return e, nil
		}
		content := bytes.TrimSuffix(line, []byte("\n"))
		addErr := add(number, content)
		if addErr != nil && addErr != errEnough {
			return e, fmt.Errorf("line %d: %w: %w", number, addErr, ErrCorrupt)
		}
		e.size += int64(len(content)) + 1
		e.tail = append(append(e.tail[max(0, len(e.tail)-mostUnsynced):], content...), '\n')
		if err == io.EOF || addErr == errEnough {
			return e, nil
		}
	}
}

// mostUnsynced is how much, in bytes, may be in a file without a sync: a few lines, or the rest of
// an epoch of thousands of bins, which is appended at once.
const mostUnsynced = 1 << 20

// lineBuffer is a number of bytes that all but a few lines stay below.
const lineBuffer = 1 << 12

// readLine returns the next line with its newline, as ReadSlice does. A line longer than the
// buffer, of up to longest bytes, is whole too. The line is valid until the next call.
func readLine(r *bufio.Reader, longest int) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return line, err
	}
	for whole := bytes.Clone(line); ; {
		if len(whole) >= longest {
			return nil, bufio.ErrBufferFull
		}
		line, err = r.ReadSlice('\n')
		if whole = append(whole, line...); err != bufio.ErrBufferFull {
			return whole, err
		}
	}
}

// isTorn reports whether the bytes after the last newline are the beginning of a line. A complete
// JSON object is not: there the newline itself was damaged, or the content, and a line that may
// have been acknowledged must not pass for a torn one.
func isTorn(tail []byte, starts []string) bool {
	if len(tail) == 0 {
		return true // the file ends with a complete line
	}
	begins := false
	for _, start := range starts {
		n := min(len(tail), len(start))
		begins = begins || strings.HasPrefix(start, string(tail[:n]))
	}
	if !begins {
		return false
	}
	var object json.RawMessage
	err := json.NewDecoder(bytes.NewReader(tail)).Decode(&object)
	return errors.Is(err, io.ErrUnexpectedEOF)
}
