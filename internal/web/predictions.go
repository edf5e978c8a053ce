package web

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"time"

	"dpsgd/accountant"
	"dpsgd/data"
	"dpsgd/internal/trained"
)

// PredictionLimits returns the limits of a server of [Predictions].
func PredictionLimits() Limits {
	return Limits{Body: maxBody, Time: 20 * time.Second, Rate: 20, Burst: 40, Connections: 32}
}

const (
	maxBody   = 8 << 20  // bytes of a request
	maxPixels = 32 << 20 // of a picture
)

//go:embed page
var predictionFiles embed.FS

var predictionPage = template.Must(template.ParseFS(predictionFiles, "page/index.html"))

// predictionServer answers the requests of the page, one at a time: it predicts what they hold.
type predictionServer struct {
	model *trained.Model
	text  bool                    // whether the model sees texts
	turn  chan *trained.Predictor // holds the predictor while nobody uses it
}

// Predictions returns the handler of a page on which p, the predictor of m, predicts pictures or
// texts. It refuses a model that sees neither.
func Predictions(m *trained.Model, p *trained.Predictor) (http.Handler, error) {
	if m.Sees() != trained.Pictures && m.Sees() != trained.Texts {
		return nil, fmt.Errorf("%w: the model of %s sees neither pictures nor texts, expected one that does", trained.ErrInput, m.Dir)
	}
	s := &predictionServer{m, m.Sees() == trained.Texts, make(chan *trained.Predictor, 1)}
	s.turn <- p
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.index)
	for _, file := range []string{"page.css", "page.js", "picture.js", "text.js"} {
		mux.HandleFunc("GET /"+file, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, predictionFiles, "page/"+file) })
	}
	mux.HandleFunc("POST /predict", s.predict)
	return mux, nil
}

func (s *predictionServer) index(w http.ResponseWriter, _ *http.Request) {
	shape := s.model.Data.Shape
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = predictionPage.Execute(w, map[string]any{ // an error is that of a reader who went away
		"Run": s.model.Statement.Run, "Epsilon": accountant.RoundUp(s.model.Statement.Epsilon, 3), "Delta": s.model.Statement.Delta,
		"Private": s.model.Statement.Private(), "Unit": s.model.Statement.Unit, "Data": s.model.Statement.Data, "Classes": s.model.Data.Names,
		"Width": shape.Width, "Height": shape.Height, "Grey": shape.Channels == 1, "Text": s.text, "Length": shape.Length(),
	})
}

// predict answers with what the model takes a request's picture or text for, or with an error.
func (s *predictionServer) predict(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), PredictionLimits().Time/2)
	defer cancel()
	sent, err := body(r)
	if err != nil {
		refuse(w, err)
		return
	}
	select {
	case p := <-s.turn:
		defer func() { s.turn <- p }()
		picture := io.NewSectionReader(timed{bytes.NewReader(sent), ctx}, 0, int64(len(sent)))
		one := func() (trained.Answer, error) { return p.One("", picture, maxPixels) }
		if s.text {
			one = func() (trained.Answer, error) { return p.Text(string(sent)) }
		}
		answer, err := one()
		if err != nil {
			refuse(w, err)
			return
		}
		reply(w, http.StatusOK, answer)
	case <-ctx.Done():
		refuse(w, errBusy)
	}
}

var (
	errBusy = errors.New("serve: other requests take all the time, try again")
	errNone = errors.New("serve: found no picture or text, expected the bytes of one, or a form with one as a file")
)

// body returns the body of a request or, of a form, its first file. errNone says there is none.
func body(r *http.Request) ([]byte, error) {
	sent := io.Reader(r.Body)
	switch kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind {
	case "application/json": // its braces and keys would be taken for a text
		return nil, errNone
	case "multipart/form-data":
		var part *multipart.Part
		form, err := r.MultipartReader()
		for err == nil && (part == nil || part.FileName() == "") {
			part, err = form.NextPart()
		}
		if err != nil && !errors.As(err, new(*http.MaxBytesError)) {
			err = errNone
		}
		if err != nil {
			return nil, err
		}
		sent = part
	}
	content, err := io.ReadAll(sent)
	if err == nil && len(content) == 0 {
		err = errNone
	}
	return content, err
}

// refuse answers with an error, and a status that says whether the request is at fault.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		status, err = http.StatusRequestEntityTooLarge, fmt.Errorf("serve: found more than %d bytes, expected at most so many", maxBody)
	case errors.Is(err, data.ErrInvalid): // also one whose decoding takes too long
		status = http.StatusUnprocessableEntity
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "1")
		status = http.StatusServiceUnavailable
	case errors.Is(err, io.ErrUnexpectedEOF):
		status, err = http.StatusBadRequest, errors.New("serve: found a request that ends inside its file, expected all of it")
	case errors.Is(err, errNone):
		status = http.StatusBadRequest
	}
	reply(w, status, map[string]string{"error": err.Error()})
}

func reply(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // an error is that of a reader who went away
}

// timed reads a picture, and fails once its context has ended: decoders of some formats can be made
// to work for hours on a few bytes, and cannot be stopped in another way.
type timed struct {
	io.ReaderAt
	ctx context.Context
}

func (t timed) ReadAt(p []byte, at int64) (int, error) {
	if err := t.ctx.Err(); err != nil {
		return 0, err
	}
	return t.ReaderAt.ReadAt(p, at)
}
