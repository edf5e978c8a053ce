package data

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// Fetch downloads the named set into dir ([DefaultDir] when empty), laid out as [Load] expects it,
// and verifies it. A set that is there and verified is left alone. An interrupted download leaves a
// ".part" file and is continued by the next call. Mirrors are tried in order; when all fail, the
// error names each. A file with a wrong size or checksum is deleted, never kept.
//
// Only the sets of [Fetchable] can be fetched.
func Fetch(ctx context.Context, name, dir string, opts FetchOptions) error {
	if dir == "" {
		dir = DefaultDir()
	}
	set := Find(name)
	if set == nil {
		return fmt.Errorf("data: unknown set %q, expected %s", name, strings.Join(Fetchable(), ", "))
	}
	if len(set.Files) == 0 {
		return fmt.Errorf("data: %s are %s, there is nothing to fetch", name, set.Doc)
	}
	return set.fetch(ctx, dir, opts)
}

// openTarget makes the folder of a set. Everything below goes through the root, so
// that a link planted in it cannot lead a download elsewhere.
func openTarget(folder string) (*os.Root, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	return root, nil
}
