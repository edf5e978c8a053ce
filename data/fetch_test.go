package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// mirror serves files with ranges, counts requests, and lets a test answer some of
// them in its own way.
type mirror struct {
	*httptest.Server
	files map[string][]byte
	odd   func(w http.ResponseWriter, r *http.Request, name string) bool // true when it has answered

	mutex    sync.Mutex
	requests []string // "name" or "name Range"
}

func serve(t *testing.T, files map[string][]byte) *mirror {
	m := &mirror{files: files}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		m.mutex.Lock()
		m.requests = append(m.requests, strings.TrimSpace(name+" "+r.Header.Get("Range")))
		m.mutex.Unlock()
		if m.odd != nil && m.odd(w, r, name) {
			return
		}
		content, ok := m.files[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *mirror) asked() []string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	asked := m.requests
	m.requests = nil
	return asked
}

// blob is a set with one large file beside three small ones, so that partial
// downloads of it have parts worth the name.
func blob() (idxFixture, map[string][]byte) {
	_, contents := tiny()
	pixels := make([]byte, 4*50000)
	rng := rand.New(new(rand.PCG))
	for i := range pixels {
		pixels[i] = byte(rng.IntN(256))
	}
	contents[0] = idx(0x803, []uint32{50000, 2, 2}, pixels)
	contents[1] = idx(0x801, []uint32{50000}, make([]byte, 50000))
	set, files := newIDXFixture(contents), map[string][]byte{}
	for i, f := range set.Files {
		files[f.Name] = pack(contents[i])
	}
	return set, files
}

const large = "train-images.gz"

// fetchFrom fetches a set from other mirrors than its own.
func fetchFrom(t *testing.T, set *Dataset, dir string, mirrors ...*mirror) error {
	t.Helper()
	set.Mirrors = nil
	for _, m := range mirrors {
		set.Mirrors = append(set.Mirrors, m.URL)
	}
	return set.fetch(t.Context(), dir, func(string, int64, int64) {})
}

// wantFetched checks that the set is complete and that nothing else lies there.
func wantFetched(t *testing.T, set idxFixture, dir string) {
	t.Helper()
	if _, err := set.Dataset.load(dir, 0); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, set.Name))
	if err != nil || len(entries) != 4 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

func TestFetchOnceAndNeverAgain(t *testing.T) {
	set, files := blob()
	m := serve(t, files)
	dir := t.TempDir()
	var reports []int64
	set.Mirrors = []string{m.URL + "/"}
	err := set.fetch(t.Context(), dir, func(file string, done, total int64) {
		if file == large {
			reports = append(reports, done)
			if total != int64(len(files[large])) {
				t.Errorf("total is %d", total)
			}
		}
	})
	check(t, err)
	wantFetched(t, set, dir)
	if n := len(reports); n < 2 || reports[n-1] != int64(len(files[large])) {
		t.Errorf("progress: %v", reports)
	}
	if n := len(m.asked()); n != 4 {
		t.Errorf("%d requests, expected 4", n)
	}
	if err := fetchFrom(t, set.Dataset, dir, m); err != nil || len(m.asked()) != 0 {
		t.Errorf("fetching what is there: %v", err)
	}
	// One file is damaged: only that one is fetched again.
	write(t, files["test-labels.gz"][1:], dir, set.Name, large)
	check(t, fetchFrom(t, set.Dataset, dir, m))
	if asked := m.asked(); len(asked) != 1 || asked[0] != large {
		t.Errorf("asked for %v", asked)
	}
	wantFetched(t, set, dir)
}

func TestFetchContinuesAPartialDownload(t *testing.T) {
	set, files := blob()
	for name, c := range map[string]struct {
		part []byte
		odd  func(w http.ResponseWriter, r *http.Request, name string) bool
		asks string
	}{
		"half":     {files[large][:1000], nil, large + " bytes=1000-"},
		"all":      {files[large], nil, ""},
		"too long": {append(bytes.Clone(files[large]), 0), nil, large},
		"no ranges": {files[large][:1000], func(w http.ResponseWriter, r *http.Request, name string) bool {
			r.Header.Del("Range")
			return false
		}, large + " bytes=1000-"},
		"range refused": {files[large][:1000], func(w http.ResponseWriter, r *http.Request, name string) bool {
			if r.Header.Get("Range") == "" {
				return false
			}
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return true
		}, large + " bytes=1000-"},
	} {
		t.Run(name, func(t *testing.T) {
			m := serve(t, files)
			m.odd = c.odd
			dir := t.TempDir()
			write(t, c.part, dir, set.Name, large+".part")
			check(t, fetchFrom(t, set.Dataset, dir, m))
			wantFetched(t, set, dir)
			if asked := strings.Join(m.asked(), ", "); c.asks != "" && !strings.HasPrefix(asked, c.asks+", ") || c.asks == "" && strings.Contains(asked, large) {
				t.Errorf("asked for %q, expected %q first", asked, c.asks)
			}
		})
	}
}

func TestFetchKeepsWhatATruncatedDownloadBrought(t *testing.T) {
	set, files := blob()
	m := serve(t, files)
	m.odd = func(w http.ResponseWriter, r *http.Request, name string) bool {
		if name != large {
			return false
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(files[large])))
		w.Write(files[large][:5000])
		return true
	}
	dir := t.TempDir()
	wantError(t, fetchFrom(t, set.Dataset, dir, m), nil, m.URL+"/"+large, fmt.Sprintf("after 5000 of %d bytes", len(files[large])), "unexpected EOF")
	part := filepath.Join(dir, set.Name, large+".part")
	info, err := os.Stat(part)
	if err != nil || info.Size() != 5000 {
		t.Fatalf("part: %v, %v", info, err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("part has mode %v, expected 0600", info.Mode())
	}
	if _, err := os.Stat(filepath.Join(dir, set.Name, large)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file under its final name: %v", err)
	}
	m.odd = nil
	m.asked()
	check(t, fetchFrom(t, set.Dataset, dir, m))
	if asked := m.asked(); asked[0] != large+" bytes=5000-" {
		t.Errorf("asked for %v", asked)
	}
	wantFetched(t, set, dir)
}

func TestFetchRefusesWrongContent(t *testing.T) {
	set, files := blob()
	wrong := map[string][]byte{}
	for name, content := range files {
		wrong[name] = bytes.Clone(content)
	}
	wrong[large][700] ^= 1
	for name, c := range map[string]struct {
		odd     func(w http.ResponseWriter, r *http.Request, name string) bool
		says    []string
		deleted bool
	}{
		"checksum": {nil, []string{"deleted", "SHA-256 " + sum(wrong[large])[:16], "expected " + sum(files[large])[:16]}, true},
		"too long": {func(w http.ResponseWriter, r *http.Request, name string) bool {
			w.(http.Flusher).Flush() // no Content-Length
			w.Write(files[large])
			w.Write(make([]byte, 1<<20))
			return true
		}, []string{"deleted", "more than expected", fmt.Sprintf("over %d bytes", len(files[large]))}, true},
		"announced too long": {func(w http.ResponseWriter, r *http.Request, name string) bool {
			w.Header().Set("Content-Length", "999999999")
			return true
		}, []string{"announces 999999999 bytes, expected"}, false},
		"error": {func(w http.ResponseWriter, r *http.Request, name string) bool {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}, []string{`"500 Internal Server Error"`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			bad := serve(t, wrong)
			bad.odd = c.odd
			dir := t.TempDir()
			err := fetchFrom(t, set.Dataset, dir, bad)
			wantError(t, err, nil, c.says...)
			if c.deleted != errors.Is(err, ErrInvalid) && c.deleted {
				t.Errorf("%v does not match ErrInvalid", err)
			}
			if _, err := os.Stat(filepath.Join(dir, set.Name, large+".part")); c.deleted && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the part file is still there: %v", err)
			}
			// The next mirror has the right files.
			check(t, fetchFrom(t, set.Dataset, dir, bad, serve(t, files)))
			wantFetched(t, set, dir)
		})
	}
}

func TestFetchTriesMirrorsInOrder(t *testing.T) {
	set, files := blob()
	first, second := serve(t, nil), serve(t, files)
	dir := t.TempDir()
	check(t, fetchFrom(t, set.Dataset, dir, first, second))
	if len(first.asked()) != 4 || len(second.asked()) != 4 {
		t.Error("expected each file to be asked for at both mirrors")
	}
	wantFetched(t, set, dir)
	err := fetchFrom(t, set.Dataset, t.TempDir(), first, serve(t, nil))
	wantError(t, err, nil, first.URL, "; then data: http://", `"404 Not Found"`)
}

func TestFetchStopsWhenCancelled(t *testing.T) {
	set, files := blob()
	m := serve(t, files)
	ctx, cancel := context.WithCancel(t.Context())
	m.odd = func(w http.ResponseWriter, r *http.Request, name string) bool {
		w.Header().Set("Content-Length", fmt.Sprint(len(files[large])))
		w.Write(files[large][:3000])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	}
	dir := t.TempDir()
	set.Mirrors = []string{m.URL, m.URL}
	err := set.fetch(ctx, dir, func(string, int64, int64) { cancel() })
	wantError(t, err, context.Canceled, large)
	if n := len(m.asked()); n != 1 {
		t.Errorf("%d requests, expected no other mirror after a cancellation", n)
	}
	if info, err := os.Stat(filepath.Join(dir, set.Name, large+".part")); err != nil || info.Size() == 0 {
		t.Errorf("part: %v, %v", info, err)
	}
}

func TestFetchGivesUpOnASilentServer(t *testing.T) {
	_, files := blob()
	m := serve(t, files)
	m.odd = func(w http.ResponseWriter, r *http.Request, name string) bool {
		w.Write(files[large][:3000])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	}
	root := must(os.OpenRoot(t.TempDir()))
	defer root.Close()
	d := newDownloader(root, []string{m.URL}, 50*time.Millisecond, func(string, int64, int64) {})
	wantError(t, d.fetch(t.Context(), File{Name: large, Size: int64(len(files[large])), SHA256: sum(files[large])}), errStalled, "after 3000 of")
}

// A link planted in the place of a part file is removed, not followed.
func TestFetchDoesNotFollowAPlantedLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights on Windows")
	}
	set, files := blob()
	dir := t.TempDir()
	victim := write(t, []byte("precious"), t.TempDir(), "victim")
	check(t, os.MkdirAll(filepath.Join(dir, set.Name), 0o755))
	check(t, os.Symlink(victim, filepath.Join(dir, set.Name, large+".part")))
	check(t, fetchFrom(t, set.Dataset, dir, serve(t, files)))
	wantFetched(t, set, dir)
	if content, _ := os.ReadFile(victim); string(content) != "precious" {
		t.Errorf("the file outside holds %q", content)
	}
}

func TestFetchUnpacksAndVerifiesCIFAR(t *testing.T) {
	set, contents := tinyCIFAR()
	good := archive(t, regular("bin/one.bin"), contents["one.bin"], regular("bin/two.bin"), contents["two.bin"], regular("bin/test.bin"), contents["test.bin"])
	set.Files[0].Size = int64(len(good))
	dir := t.TempDir()

	m := serve(t, map[string][]byte{set.archive: good})
	check(t, fetchFrom(t, set.Dataset, dir, m))
	s, err := set.Dataset.load(dir, 0)
	if err != nil || s.Train.Len() != 4 {
		t.Errorf("after fetching: %v", err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, set.Name))
	if err != nil || len(entries) != 1 || entries[0].Name() != "bin" {
		t.Errorf("the folder holds %v, %v; expected the members only", entries, err)
	}
	m.asked()
	if err := fetchFrom(t, set.Dataset, dir, m); err != nil || len(m.asked()) > 0 {
		t.Errorf("fetching what is there: %v", err)
	}

	bad := archive(t, regular("bin/one.bin"), contents["two.bin"], regular("bin/two.bin"), contents["two.bin"], regular("bin/test.bin"), contents["test.bin"])
	set.Files[0].Size = int64(len(bad))
	dir = t.TempDir()
	m = serve(t, map[string][]byte{set.archive: bad})
	err = fetchFrom(t, set.Dataset, dir, m)
	wantError(t, err, ErrInvalid, "deleted", "one.bin has the SHA-256")
	if _, err := os.Stat(filepath.Join(dir, set.Name, set.archive+".part")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the archive is still there: %v", err)
	}
	_, err = set.Dataset.load(dir, 0)
	wantError(t, err, ErrMissing)
}

func TestFetchByName(t *testing.T) {
	m := serve(t, nil)
	for name, want := range map[string]string{"mnist": "train-images-idx3-ubyte.gz", "fashion-mnist": "train-images-idx3-ubyte.gz", "cifar-10": "cifar-10-binary.tar.gz"} {
		set := *Find(name)
		wantError(t, fetchFrom(t, &set, t.TempDir(), m), nil, m.URL+"/"+want, "404")
	}
	wantError(t, Fetch(t.Context(), "digits", t.TempDir(), nil), nil, "data: digits are drawn by the program itself, there is nothing to fetch")
	wantError(t, Fetch(t.Context(), "imagenet", t.TempDir(), nil), nil, `unknown set "imagenet"`)
}

func TestFetchIntoAPlaceThatCannotBe(t *testing.T) {
	set, files := blob()
	blocked := write(t, nil, t.TempDir(), "file")
	wantError(t, fetchFrom(t, set.Dataset, blocked, serve(t, files)), nil, "file")
}

// Without a network the error says what to bring and where to put it; the same command then takes
// it.
func TestFetchSaysWhereToPutFilesByHand(t *testing.T) {
	set, files := blob()
	gone := serve(t, nil)
	gone.Close()
	dir := t.TempDir()
	folder := filepath.Join(dir, set.Name)
	err := fetchFrom(t, set.Dataset, dir, gone)
	wantError(t, err, nil, "connection refused; without a network, get "+large+", ", " elsewhere, put what you have into "+folder+", and give the same command again: it verifies them")
	if strings.Count(err.Error(), gone.URL) != 1 || strings.Contains(err.Error(), "\n") {
		t.Errorf("the address is told more than once: %v", err)
	}
	for name, content := range files {
		check(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
	}
	check(t, os.Remove(filepath.Join(folder, large+".part")))
	if err := fetchFrom(t, set.Dataset, dir, gone); err != nil {
		t.Error(err)
	}
	wantFetched(t, set, dir)
}
