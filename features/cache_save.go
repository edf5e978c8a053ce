package features

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"dpsgd/data"
)

// temporaryMark is in the name of a file that is being written.
const temporaryMark = ".tmp-"

// Save writes the rows of set to a file of the fingerprint. The path holds what it held before or
// the whole file, also if the process is killed: the rows are written to a temporary file beside it,
// which then takes its name. What a power loss may leave is found by the checksums, so Save does not
// wait for the disk.
//
// The file has permissions 0600, and folders that are missing are made with 0700. Save first removes
// temporary files that killed processes left for the same path; if another one is writing at the
// moment, that one gets an error for which errors.Is(err, fs.ErrNotExist).
func Save(path string, fingerprint Fingerprint, set *data.Features) error {
	if err := save(path, fingerprint, set); err != nil {
		return fmt.Errorf("features: save %s: %w", path, err)
	}
	return nil
}

func save(path string, fingerprint Fingerprint, set *data.Features) error {
	dir, name := filepath.Split(path)
	dir = filepath.Clean(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	prefix := "." + name + temporaryMark
	if err := removeLeftovers(dir, prefix); err != nil {
		return err
	}
	temporary := filepath.Join(dir, prefix+rand.Text())
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(temporary) // nothing is there any more if all went well
	err = write(f, fingerprint, set)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

func removeLeftovers(dir, prefix string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			os.Remove(filepath.Join(dir, e.Name())) // where that fails, as for open files on Windows, it stays
		}
	}
	return nil
}

// write writes the whole content of a file.
func write(w io.Writer, fingerprint Fingerprint, set *data.Features) error {
	head, h, start, err := encodeHead(fingerprint, set)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	var piece []byte
	for i := range h.pieces() {
		piece = piece[:0]
		first, end := h.pieceEnds(i)
		for row := first; row < end; row++ {
			for _, value := range set.Halves(row) {
				piece = binary.LittleEndian.AppendUint16(piece, value)
			}
		}
		piece = binary.LittleEndian.AppendUint32(piece, pieceChecksum(start, i, piece))
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return nil
}
