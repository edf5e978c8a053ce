package data

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dpsgd/internal/spelling"
)

// Fetch downloads the named set into dir ([DefaultDir] when empty), laid out as [Load] expects it,
// and verifies it. A set that is there and verified is left alone. An interrupted download leaves a
// ".part" file and is continued by the next call. Mirrors are tried in order; when all fail, the
// error names each. A download with a wrong size or checksum is deleted. progress is called now and
// then, by the calling goroutine, with the bytes of a file that are here and those expected.
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

// fetch downloads the files that are missing, then loads the set to verify it. It reaches all files
// through the root, so that a link planted in the folder cannot lead a download elsewhere.
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
		downloads.unpack = func(part string) error { return d.Unpack(d, filepath.Join(folder, part), root) }
	}
	var names []string
	for _, f := range d.Files {
		names = append(names, f.Name)
	}
	for _, f := range d.Files {
		if downloads.verified(f.Name, f) == nil {
			continue // it is here
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

// downloader brings single files into a folder, from the first of some mirrors that has them.
type downloader struct {
	root     *os.Root
	mirrors  []string
	progress func(file string, done, total int64)
	silence  time.Duration // how long a server may send nothing; a whole download has no limit
	client   *http.Client

	// unpack, where it is not nil, unpacks an archive whose own checksum is unknown and verifies
	// what is inside. It takes the place of the checksum and of the final rename.
	unpack func(part string) error
}

func newDownloader(root *os.Root, mirrors []string, silence time.Duration, progress func(file string, done, total int64)) *downloader {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSHandshakeTimeout, transport.ResponseHeaderTimeout = 30*time.Second, silence
	return &downloader{root: root, mirrors: mirrors, progress: progress, silence: silence, client: &http.Client{Transport: transport}}
}

// fetch downloads a file, from one mirror after the other until one succeeds. What one mirror sent
// of the file is continued from the next: the checksum of the whole decides.
func (d *downloader) fetch(ctx context.Context, f File) error {
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
	// errStalled marks a server that sent nothing for longer than downloader.silence.
	errStalled = errors.New("the server fell silent")

	errTooLong = fmt.Errorf("%w: the server sent more than expected", ErrInvalid)
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
	if !errors.Is(err, ErrInvalid) { // a full disk does not make the download wrong
		return err
	}
	if removed := d.root.Remove(part); removed != nil {
		return fmt.Errorf("data: %s: %w, and it cannot be deleted: %w", address, err, removed)
	}
	return fmt.Errorf("data: %s: the download was deleted: %w", address, err)
}

// accept verifies a complete part file and renames it, or removes it once it is unpacked.
func (d *downloader) accept(part string, f File) error {
	if err := d.verified(part, f); err != nil {
		return err
	}
	if d.unpack != nil {
		return d.root.Remove(part)
	}
	if err := d.root.Chmod(part, 0o644); err != nil {
		return err
	}
	return d.root.Rename(part, f.Name)
}

// verified checks that the file name has size and SHA-256 of f, or calls d.unpack if that is set.
func (d *downloader) verified(name string, f File) error {
	if d.unpack != nil {
		return d.unpack(name)
	}
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
		return fmt.Errorf("%w: %d bytes, expected %d", ErrInvalid, n, f.Size)
	}
	if got := fmt.Sprintf("%x", sum.Sum(nil)); got != f.SHA256 {
		return fmt.Errorf("%w: SHA-256 %.16s…, expected %.16s…", ErrInvalid, got, f.SHA256)
	}
	return nil
}

// transfer downloads into the part file the bytes of f that it lacks. After any error but
// errTooLong, a later call can go on with what the part file holds.
func (d *downloader) transfer(ctx context.Context, address, part string, f File) (err error) {
	out, have, err := d.openPart(part, f.Size)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, out.Close()) }()
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
	timer := time.AfterFunc(d.silence, func() { cancel(errStalled) })
	defer timer.Stop()
	heard := counter(func(n int) {
		timer.Reset(d.silence)
		have += int64(n)
		d.progress(f.Name, min(have, f.Size), f.Size)
	})
	_, err = io.Copy(io.MultiWriter(out, heard), io.LimitReader(body, f.Size-have+1))
	switch {
	case have > f.Size:
		return fmt.Errorf("%w: over %d bytes", errTooLong, f.Size)
	case errors.Is(context.Cause(ctx), errStalled):
		return fmt.Errorf("interrupted after %d of %d bytes: %w", have, f.Size, errStalled)
	case err != nil:
		return fmt.Errorf("interrupted after %d of %d bytes: %w", have, f.Size, err)
	case have < f.Size:
		return fmt.Errorf("ended after %d of %d bytes: %w", have, f.Size, io.ErrUnexpectedEOF)
	}
	return out.Sync()
}

// counter is a function that gets the number of bytes of each write to it.
type counter func(n int)

func (c counter) Write(p []byte) (int, error) {
	c(len(p))
	return len(p), nil
}

// openPart opens the part file, a new one for its owner alone, and returns how many bytes it holds.
// Anything in its place but a regular file of at most size bytes is removed.
func (d *downloader) openPart(part string, size int64) (out *os.File, have int64, err error) {
	info, err := d.root.Lstat(part)
	if err == nil && info.Mode().IsRegular() && info.Size() <= size {
		out, err = d.root.OpenFile(part, os.O_RDWR, 0)
		return out, info.Size(), err
	}
	if err == nil {
		if err := d.root.Remove(part); err != nil {
			return nil, 0, err
		}
	}
	out, err = d.root.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	return out, 0, err
}

// request asks for the bytes of a file of size bytes from have on. It returns the body and the
// place in the file where the body starts: have, or 0 from a server that does not know ranges.
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
	response, err := d.client.Do(request)
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
			return 0, fmt.Errorf("%w: the server offers %q, expected %q", ErrInvalid, got, want)
		}
		start = have
	default:
		return 0, fmt.Errorf("the server answers %q, expected the file", response.Status)
	}
	if n := response.ContentLength; n >= 0 && n != size-start {
		return 0, fmt.Errorf("%w: the server announces %d bytes, expected %d", ErrInvalid, n, size-start)
	}
	return start, nil
}
