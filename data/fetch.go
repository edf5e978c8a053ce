package data

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dpsgd/internal/spelling"
)

// Fetch downloads the named set into dir ([DefaultDir] when empty), laid out as [Load] expects it,
// and verifies it. A set that is there and verified is left alone. An interrupted download leaves a
// ".part" file and is continued by the next call. Mirrors are tried in order; when all fail, the
// error names each. A file with a wrong size or checksum is deleted, never kept. progress is told from time
// to time how many bytes of a file are here, of how many, by the goroutine that called.
//
// Only the sets of [Fetchable] can be fetched.
func Fetch(ctx context.Context, name, dir string, progress func(file string, done, total int64)) error {
	switch set := Find(name); {
	case set == nil:
		return fmt.Errorf("data: unknown set %q, expected %s", name, strings.Join(Fetchable(), ", "))
	case len(set.Files) == 0:
		return fmt.Errorf("data: %s are %s, there is nothing to fetch", name, set.Doc)
	default:
		return set.fetch(ctx, cmp.Or(dir, DefaultDir()), progress)
	}
}

// fetch downloads what is not there yet. All files are reached through the root, so that a link planted
// in the folder cannot lead a download elsewhere.
func (d *Dataset) fetch(ctx context.Context, dir string, progress func(file string, done, total int64)) error {
	if _, err := d.load(dir, 0); err == nil {
		return nil
	}
	folder := filepath.Join(dir, d.Name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	defer root.Close()
	downloads := newDownloader(root, d.Mirrors, time.Minute, progress)
	if d.Unpack != nil {
		downloads.check = func(part string) error { return d.Unpack(d, filepath.Join(folder, part), root) }
	}
	var names []string
	for _, f := range d.Files {
		names = append(names, f.Name)
	}
	for _, f := range d.Files {
		if downloads.here(f) {
			continue
		}
		if err := downloads.fetch(ctx, f); err != nil {
			if ctx.Err() == nil {
				err = fmt.Errorf("%w; without a network, get %s elsewhere, put what you have into %s, and give the same command again: it verifies them",
					err, strings.Join(names, ", "), spelling.Argument(folder))
			}
			return err
		}
	}
	_, err = d.load(dir, 0)
	return err
}
