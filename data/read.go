package data

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	// Unpacks half again as fast as the standard library.
	"github.com/klauspost/compress/gzip"
)

// readExactly reads size bytes from r and makes sure that nothing follows. Memory is
// taken for the declared size only, whatever r holds. what names r in errors.
func readExactly(r io.Reader, what string, size int64) ([]byte, error) {
	content := make([]byte, size)
	n, err := io.ReadFull(r, content)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("data: %w: %s ends after %d bytes, expected %d", ErrInvalid, what, n, size)
	}
	if err != nil {
		return nil, fmt.Errorf("data: %w: %s after %d of %d bytes: %w", ErrInvalid, what, n, size, err)
	}
	var extra [1]byte
	switch n, err := io.ReadFull(io.LimitReader(r, 1), extra[:]); {
	case n > 0:
		return nil, fmt.Errorf("data: %w: %s goes on after %d bytes, expected its end", ErrInvalid, what, size)
	case !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("data: %w: end of %s: %w", ErrInvalid, what, err)
	}
	return content, nil
}

// openFile opens a regular file. A path that is not there matches ErrMissing.
func openFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("data: %w: %s", ErrMissing, path)
	}
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("data: %w: %s is %s, expected a regular file", ErrInvalid, path, kind(info.Mode()))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	return f, nil
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	default:
		return "a special file (" + mode.Type().String() + ")"
	}
}

// readPacked reads path + ".gz", or path when that is not there, and returns the
// size unpacked bytes together with the name of the file that it read.
func readPacked(path string, size int64) (content []byte, name string, err error) {
	name = path + ".gz"
	f, err := openFile(name)
	if errors.Is(err, ErrMissing) {
		name = path
		f, err = openFile(name)
	}
	if err != nil {
		return nil, name, err
	}
	defer f.Close()
	if name == path {
		content, err = readExactly(f, name, size)
		return content, name, err
	}
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		return nil, name, fmt.Errorf("data: %w: %s is not a gzip file: %w", ErrInvalid, name, err)
	}
	content, err = readExactly(unpacked, name+" (unpacked)", size)
	return content, name, err
}

// verify compares the SHA-256 of content with what the published file has.
func verify(content []byte, what, want string) error {
	sum := sha256.Sum256(content)
	if got := hex.EncodeToString(sum[:]); got != want {
		return fmt.Errorf("data: %w: %s has the SHA-256 %s, expected %s of the published file",
			ErrInvalid, what, shorten(got), shorten(want))
	}
	return nil
}

// shorten keeps enough of a checksum to tell two apart by eye.
func shorten(sum string) string {
	if len(sum) <= 16 {
		return sum
	}
	return sum[:16] + "…"
}
