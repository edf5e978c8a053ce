package data

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"dpsgd/data/pictures"
)

// FetchOptions adjusts [Fetch]. The zero value is ready to use.
type FetchOptions struct {
	// BaseURLs replaces the public mirrors. A file name is appended to each. The
	// files must be the published ones all the same: checksums are not optional.
	BaseURLs []string

	// Client makes the requests; nil for one with sensible limits.
	Client *http.Client

	// Progress, when not nil, is told from time to time how many bytes of a file
	// are here, of how many. It is called from the goroutine of the download.
	Progress func(file string, done, total int64)

	// Stall is how long a server may keep silent; 0 is a minute. There is no limit on the whole
	// download: lines can be slow.
	Stall time.Duration
}

// downloader brings single files into a folder.
type downloader struct {
	root    *os.Root
	mirrors []string
	options FetchOptions

	// Check, where it is not nil, replaces the checksum and the final rename for an archive whose own
	// checksum is unknown: it unpacks and verifies what is inside.
	Check func(part string) error
}

// newDownloader returns a downloader into a folder, from the first of some mirrors that has a file.
func newDownloader(root *os.Root, mirrors []string, o FetchOptions) *downloader {
	if len(o.BaseURLs) > 0 {
		mirrors = o.BaseURLs
	}
	o.Stall = cmp.Or(o.Stall, time.Minute)
	if o.Client == nil {
		o.Client = clientOf(o.Stall)
	}
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	return &downloader{root: root, mirrors: mirrors, options: o}
}

func clientOf(stall time.Duration) *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   30 * time.Second,
		ResponseHeaderTimeout: stall,
	}}
}

// Fetch tries the mirrors in order. What one mirror sent of a file is continued
// by the next: the checksum of the whole decides.
func (d *downloader) Fetch(ctx context.Context, f File) error {
	var failed error
	for _, base := range d.mirrors {
		err := d.fetchFrom(ctx, strings.TrimSuffix(base, "/")+"/"+f.Name, f)
		if err == nil {
			return nil
		}
		if failed == nil {
			failed = err
		} else {
			failed = fmt.Errorf("%w; then %w", failed, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return failed
}

var (
	// errStalled marks a server that did not answer for as long as it may.
	errStalled = errors.New("the server fell silent")

	errTooLong = fmt.Errorf("%w: the server sent more than expected", pictures.ErrInvalid)
)

func (d *downloader) fetchFrom(ctx context.Context, address string, f File) error {
	part := f.Name + ".part"
	err := d.transfer(ctx, address, part, f)
	if err != nil && !errors.Is(err, errTooLong) {
		return fmt.Errorf("data: %s: %w", address, err)
	}
	if err == nil {
		err = d.accept(part, f)
	}
	if !errors.Is(err, pictures.ErrInvalid) { // a full disk does not make the download wrong
		return err
	}
	if removed := d.root.Remove(part); removed != nil {
		return fmt.Errorf("data: %s: %w, and it cannot be deleted: %w", address, err, removed)
	}
	return fmt.Errorf("data: %s: the download was deleted: %w", address, err)
}

// Here says whether a file is in the folder already, from somebody who put it there.
func (d *downloader) Here(f File) bool {
	if d.Check != nil {
		return d.Check(f.Name) == nil
	}
	return d.verified(f.Name, f) == nil
}

// accept verifies a complete part file and puts it in its place.
func (d *downloader) accept(part string, f File) error {
	if d.Check != nil {
		if err := d.Check(part); err != nil {
			return err
		}
		return d.root.Remove(part)
	}
	if err := d.verified(part, f); err != nil {
		return err
	}
	if err := d.root.Chmod(part, 0o644); err != nil {
		return err
	}
	return d.root.Rename(part, f.Name)
}

// verified compares size and SHA-256 of a file of the folder with f.
func (d *downloader) verified(name string, f File) error {
	r, err := d.root.Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(r, f.Size+1))
	if err != nil {
		return err
	}
	if n != f.Size {
		return fmt.Errorf("%w: %d bytes, expected %d", pictures.ErrInvalid, n, f.Size)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != f.SHA256 {
		return fmt.Errorf("%w: SHA-256 %.16s…, expected %.16s…", pictures.ErrInvalid, got, f.SHA256)
	}
	return nil
}

// transfer completes the part file. When it fails, other than by errTooLong, the
// part file holds what can be continued.
func (d *downloader) transfer(ctx context.Context, address, part string, f File) (err error) {
	out, have, err := d.openPart(part, f.Size)
	if err != nil {
		return err
	}
	defer func() {
		if closed := out.Close(); err == nil {
			err = closed
		}
	}()
	if have == f.Size {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body, have, err := d.request(ctx, address, have, f.Size)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := out.Truncate(have); err != nil {
		return err
	}
	if _, err := out.Seek(have, io.SeekStart); err != nil {
		return err
	}
	watched := &watchedReader{
		reader:   io.LimitReader(body, f.Size-have+1),
		limit:    d.options.Stall,
		timer:    time.AfterFunc(d.options.Stall, func() { cancel(errStalled) }),
		progress: func(n int64) { d.options.Progress(f.Name, min(have+n, f.Size), f.Size) },
	}
	defer watched.timer.Stop()
	n, err := io.Copy(out, watched)
	switch {
	case have+n > f.Size:
		return fmt.Errorf("%w: over %d bytes", errTooLong, f.Size)
	case errors.Is(context.Cause(ctx), errStalled):
		return fmt.Errorf("interrupted after %d of %d bytes: %w", have+n, f.Size, errStalled)
	case err != nil:
		return fmt.Errorf("interrupted after %d of %d bytes: %w", have+n, f.Size, err)
	case have+n < f.Size:
		return fmt.Errorf("ended after %d of %d bytes: %w", have+n, f.Size, io.ErrUnexpectedEOF)
	}
	return out.Sync()
}

// openPart opens the part file for its owner alone and returns how much of it can
// be continued. Anything but a regular file in its place is removed.
func (d *downloader) openPart(part string, size int64) (*os.File, int64, error) {
	flags := os.O_RDWR
	info, err := d.root.Lstat(part)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > size) {
		if err := d.root.Remove(part); err != nil {
			return nil, 0, err
		}
		err = os.ErrNotExist
	}
	if err != nil {
		flags |= os.O_CREATE | os.O_EXCL
	}
	out, err := d.root.OpenFile(part, flags, 0o600)
	if err != nil {
		return nil, 0, err
	}
	have, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		out.Close()
		return nil, 0, err
	}
	return out, have, nil
}

// request asks for the bytes from have on and returns the body and where it
// starts: 0 from a server that does not know ranges.
func (d *downloader) request(ctx context.Context, address string, have, size int64) (io.ReadCloser, int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, 0, err
	}
	// The files are packed; a transport that unpacks them would break their sizes.
	request.Header.Set("Accept-Encoding", "identity")
	if have > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	response, err := d.options.Client.Do(request)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		err = failed.Err // the address is told already
	}
	if err != nil {
		return nil, 0, err
	}
	start, err := checkResponse(response, have, size)
	if err != nil {
		response.Body.Close()
		if response.StatusCode == http.StatusRequestedRangeNotSatisfiable && have > 0 {
			return d.request(ctx, address, 0, size)
		}
		return nil, 0, err
	}
	return response.Body, start, nil
}

func checkResponse(response *http.Response, have, size int64) (start int64, err error) {
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusPartialContent:
		want := fmt.Sprintf("bytes %d-%d/%d", have, size-1, size)
		if got := response.Header.Get("Content-Range"); got != want {
			return 0, fmt.Errorf("%w: the server offers %q, expected %q", pictures.ErrInvalid, got, want)
		}
		start = have
	default:
		return 0, fmt.Errorf("the server answers %q, expected the file", response.Status)
	}
	if n := response.ContentLength; n >= 0 && n != size-start {
		return 0, fmt.Errorf("%w: the server announces %d bytes, expected %d", pictures.ErrInvalid, n, size-start)
	}
	return start, nil
}

// watchedReader reports progress and cancels a download that has stalled.
type watchedReader struct {
	reader   io.Reader
	limit    time.Duration
	timer    *time.Timer
	done     int64
	progress func(done int64)
}

func (w *watchedReader) Read(p []byte) (int, error) {
	n, err := w.reader.Read(p)
	w.timer.Reset(w.limit)
	w.done += int64(n)
	w.progress(w.done)
	return n, err
}
