package web_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"dpsgd/accountant"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/internal/slow"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/trained"
	"dpsgd/internal/web"
)

// open makes a handler, a second predictor of the same model, and the model.
func open(t testing.TB) (http.Handler, *trained.Predictor, *trained.Model) {
	t.Helper()
	run, _ := tinyrun.OnPictures(t, tinyrun.PictureFolder(t))
	m := tiny.Must(trained.Open(run))(t)
	pool := kernel.NewPool(1)
	t.Cleanup(pool.Close)
	return tiny.Must(web.Predictions(m, tiny.Must(trained.New(m, pool))(t)))(t), tiny.Must(trained.New(m, pool))(t), m
}

// post sends a body and returns status and answer.
func post(h http.Handler, kind string, body io.Reader) (int, string) {
	r := httptest.NewRequest("POST", "/predict", body)
	r.Body = http.MaxBytesReader(nil, r.Body, web.PredictionLimits().Body) // as package web does
	r.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// A picture gets the answer of predict, as bytes and as a file of a form, also from many at once.
func TestPredict(t *testing.T) {
	h, p, _ := open(t)
	png := tinyrun.Picture(t, 2, 30, random.Seeded(5))
	want := tiny.JSON(t, tiny.Must(p.One("", bytes.NewReader(png), 1000))(t))
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	_ = w.WriteField("note", "not the picture")
	part, _ := w.CreateFormFile("picture", "mine.png")
	_, _ = part.Write(png)
	w.Close()
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if status, found := post(h, "image/png", bytes.NewReader(png)); status != 200 || strings.TrimSpace(found) != want {
				t.Errorf("found %d %s, expected %s", status, found, want)
			}
		})
	}
	all.Wait()
	if status, found := post(h, w.FormDataContentType(), &form); status != 200 || strings.TrimSpace(found) != want {
		t.Errorf("as a form: found %d %s, expected %s", status, found, want)
	}
}

// A text gets the answer of predict, and a page of its own; nothing is answered about none.
func TestTexts(t *testing.T) {
	run := tinyrun.OnTexts(t)
	m := tiny.Must(trained.Open(run))(t)
	pool := kernel.NewPool(1)
	t.Cleanup(pool.Close)
	p := tiny.Must(trained.New(m, pool))(t)
	want := tiny.JSON(t, tiny.Must(p.Text("Anna"))(t))
	h := tiny.Must(web.Predictions(m, p))(t)
	if status, found := post(h, "text/plain", strings.NewReader("Anna")); status != 200 || strings.TrimSpace(found) != want || !strings.Contains(found, "probability") {
		t.Errorf("found %d %s, expected %s", status, found, want)
	}
	if status, found := post(h, "text/plain", strings.NewReader("")); status != 400 || !strings.Contains(found, "found no picture or text") {
		t.Errorf("found %d %s, expected a refusal", status, found)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if page := w.Body.String(); !strings.Contains(page, "at most 6 tokens") || !strings.Contains(page, "text.js") || strings.Contains(page, "canvas") {
		t.Errorf("found the page %s, expected one for texts", page)
	}
}

// Whatever is sent, the answer says whose mistake it is and the next picture is answered.
func TestBadRequests(t *testing.T) {
	h, _, _ := open(t)
	good := tinyrun.Picture(t, 0, 30, random.Seeded(6))
	sized := func(width, height uint32) []byte { // what it says of itself
		png := bytes.Clone(good)
		binary.BigEndian.PutUint32(png[16:], width)
		binary.BigEndian.PutUint32(png[20:], height)
		binary.BigEndian.PutUint32(png[29:], crc32.ChecksumIEEE(png[12:29]))
		return png
	}
	for name, test := range map[string]struct {
		kind   string
		body   []byte
		status int
		says   string
	}{
		"nothing":             {"image/png", nil, 400, "found no picture"},
		"a text":              {"text/plain", []byte("hello"), 422, "cannot be decoded"},
		"half a picture":      {"image/png", good[:len(good)/2], 422, "cannot be decoded"},
		"a huge header":       {"image/png", sized(1<<30, 1<<30), 422, ""},
		"a bomb":              {"image/png", sized(8000, 8000), 422, "8000 by 8000 pixels, expected 1 to 33554432"},
		"a ribbon":            {"image/png", sized(1, 1<<16), 422, "sides of at most 65535"},
		"too many bytes":      {"image/png", make([]byte, web.PredictionLimits().Body+1), 413, "more than"},
		"a form without file": {"multipart/form-data; boundary=x", []byte("--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x--\r\n"), 400, "found no picture"},
		"a broken form":       {"multipart/form-data; boundary=x", []byte("--x"), 400, "found no picture"},
		"a form cut off":      {"multipart/form-data; boundary=x", []byte("--x\r\nContent-Disposition: form-data; name=\"a\"; filename=\"a\"\r\n\r\n1"), 400, "ends inside its file"},
		"a form of nothing":   {"multipart/form-data", nil, 400, "found no picture"},
		"JSON":                {"application/json", []byte(`{"text": "x"}`), 400, "found no picture"},
		"a good picture":      {"", good, 200, "probability"},
	} {
		if status, found := post(h, test.kind, bytes.NewReader(test.body)); status != test.status || !strings.Contains(found, test.says) || !json.Valid([]byte(found)) {
			t.Errorf("%s: found %d %s, expected %d and %q", name, status, found, test.status, test.says)
		}
	}
}

// A picture whose time is over is decoded no further, and leaves the model to the next one.
func TestTimeOfAPicture(t *testing.T) {
	h, _, _ := open(t)
	png := tinyrun.Picture(t, 1, 30, random.Seeded(8))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/predict", bytes.NewReader(png)).WithContext(ended))
	if w.Code != http.StatusUnprocessableEntity && w.Code != http.StatusServiceUnavailable {
		t.Errorf("found %d %s, expected a refusal", w.Code, w.Body)
	}
	if status, answer := post(h, "", bytes.NewReader(png)); status != http.StatusOK {
		t.Errorf("found %d %s after that, expected an answer", status, answer)
	}
}

// The page and what belongs to it are there; everything else is not, and the page needs nothing
// that the policy of package web forbids.
func TestPage(t *testing.T) {
	h, _, _ := open(t)
	for path, want := range map[string]struct {
		status int
		kind   string
	}{
		"/":             {200, "text/html; charset=utf-8"},
		"/page.js":      {200, "text/javascript; charset=utf-8"},
		"/picture.js":   {200, "text/javascript; charset=utf-8"},
		"/text.js":      {200, "text/javascript; charset=utf-8"},
		"/page.css":     {200, "text/css; charset=utf-8"},
		"/index.html":   {404, "text/plain; charset=utf-8"},
		"/../serve.go":  {404, ""},
		"/predict":      {405, ""},
		"/page.js/more": {404, "text/plain; charset=utf-8"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if path != "/../serve.go" && w.Code != want.status || w.Code == 200 && w.Header().Get("Content-Type") != want.kind {
			t.Errorf("%s: found %d %s, expected %d %s", path, w.Code, w.Header().Get("Content-Type"), want.status, want.kind)
		}
		if path == "/" {
			for _, forbidden := range []string{"<style", "style=", "onclick", "http://", "https://", "<script>"} {
				if strings.Contains(w.Body.String(), forbidden) {
					t.Errorf("found %s on the page, expected none", forbidden)
				}
			}
			if !strings.Contains(w.Body.String(), `data-width="12" data-height="12"`) {
				t.Error("found no size of the pictures on the page")
			}
		}
	}
}

// The page says what is promised, and nothing of a model without privacy.
func TestPageOfABaseline(t *testing.T) {
	h, _, m := open(t)
	page := func() string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		return w.Body.String()
	}
	if text := page(); !strings.Contains(text, "with differential privacy: ε = "+accountant.RoundUp(m.Statement.Epsilon, 3)+",") || strings.Contains(text, "NOT PRIVATE") {
		t.Error("found no guarantee on the page of a private model")
	}
	m.Statement.System = statement.None
	if text := page(); strings.Contains(text, "differential privacy") || !strings.Contains(text, "NOT PRIVATE") {
		t.Error("found a guarantee on the page of a model that has none")
	}
}

// Any bytes are answered, with a picture's classes or with a refusal, within the memory of a
// picture.
func FuzzPredict(f *testing.F) {
	h, _, _ := open(f)
	png := tinyrun.Picture(f, 0, 20, random.Seeded(7))
	slow.Inputs(f, [][]byte{
		png, png[:20],
		[]byte("GIF89a\xff\xff\xff\xff\x00\x00\x00,\x00\x00\x00\x00\xff\xff\xff\xff\x00\x02\x00"),
		[]byte("BM\x00\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00\xff\xff\xff\x7f\xff\xff\xff\x7f\x01\x00\x18\x00"),
		[]byte("II*\x00\x08\x00\x00\x00\xff\xff"),
		[]byte("RIFF\xff\xff\xff\xffWEBPVP8X"),
	}, func(t testing.TB, body []byte) int64 {
		status, answer := post(h, "", bytes.NewReader(body))
		if status != 200 && status != 400 && status != 422 || !json.Valid([]byte(answer)) {
			t.Errorf("found %d %s, expected an answer or a refusal", status, answer)
		}
		return 0
	})
}
