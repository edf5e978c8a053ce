package run

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// AppendLine adds one line to a file.
func AppendLine(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, permissions)
	if err != nil {
		return fmt.Errorf("curves: %w", err)
	}
	before, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		if _, err = f.Write(append(line, '\n')); err != nil {
			err = errors.Join(err, f.Truncate(before)) // no part of a line stays where a disk is full
		}
	}
	return errors.Join(err, f.Close())
}

// EndLine ends a line that a crash has torn, so that the next one stands alone.
func EndLine(path string) error {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (len(content) == 0 || content[len(content)-1] == '\n') {
		return nil
	}
	if err != nil {
		return fmt.Errorf("curves: %w", err)
	}
	return AppendLine(path, nil)
}
