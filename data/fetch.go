package data

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// FetchOptions adjusts [Fetch]. The zero value is ready to use.
type FetchOptions struct {
	// BaseURLs replaces the public mirrors. A file name is appended to each. The
	// files must be the published ones all the same: checksums are not optional.
	BaseURLs []string

	// Client makes the requests; nil for one with sensible limits.
	Client *http.Client

	// Progress, when not nil, is told from time to time how many bytes of a file
	// are here, of how many. It is called from the goroutine of Fetch.
	Progress func(file string, done, total int64)
}

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

// stallTimeout is how long a server may keep silent. There is no limit on the
// whole download: lines can be slow.
const stallTimeout = time.Minute

func defaultClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   30 * time.Second,
		ResponseHeaderTimeout: stallTimeout,
	}}
}
