package web

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"dpsgd/internal/report"
)

//go:embed live.js
var script []byte

// limits are those of a server of a [Page], for the browsers of a few people.
var limits = Limits{Time: 10 * time.Second, Rate: 50, Burst: 200, Connections: 300}

const (
	mostStreams = 64               // pages that are kept up to date at the same time
	pace        = time.Second      // between two states that a page is told
	patience    = time.Second      // that pages have to take the end of the job
	silence     = 15 * time.Second // after which a page is sent an empty comment
	drawing     = 200              // the wait before the next drawing is so many times the cost of the last
)

// Page is the live view of one job.
type Page struct {
	*Server
	version string       // of the program
	end     func() error // tells pages the end and stops serving, once

	patience time.Duration // how long pages may take to hear of the end

	latest atomic.Pointer[moment] // stored by the trainer
	stale  atomic.Bool            // the files of the job say more than the report that was drawn last

	streams atomic.Int64 // requests for events that are being answered
	drawn   drawn

	mu      sync.Mutex
	told    told
	changed chan struct{} // closed when told changes
}

// told holds the newest events, which every page has got or is about to get.
type told struct {
	state, report []byte // whole events; nil for none yet
	ended         bool
}

// Follow listens on an address and serves the page of the job that the watchers of [Page.Run] or
// [Page.Sweep] tell of. version is the program's.
func Follow(address, version string) (*Page, error) {
	server, err := Listen(address, limits)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &Page{Server: server, version: version, patience: patience, changed: make(chan struct{})}
	p.latest.Store(&moment{})
	p.stale.Store(true)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.page)
	mux.HandleFunc("GET /live.js", p.script)
	mux.HandleFunc("GET /events", p.events)
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, mux) }()
	go p.tell(ctx)
	p.end = sync.OnceValue(func() error {
		p.sayFarewell()
		stop()
		return <-served
	})
	return p, nil
}

// Close tells every page the end of the job, and stops serving.
func (p *Page) Close() error { return p.end() }

// sayFarewell tells the open pages the end, and waits for them to close, at most p.patience.
func (p *Page) sayFarewell() {
	last := *p.latest.Load()
	last.phase = closed
	p.latest.Store(&last)
	if p.streams.Load() == 0 {
		return
	}
	p.publish(true)
	for begun := time.Now(); p.streams.Load() > 0 && time.Since(begun) < p.patience; {
		time.Sleep(10 * time.Millisecond)
	}
}

// tell publishes what is new once a second while a page is open, until ctx ends.
func (p *Page) tell(ctx context.Context) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if p.streams.Load() > 0 {
			p.publish(false)
		}
	}
}

// publish makes the events of the newest state, and wakes the streams that wait for them if they
// are new. last tells pages the end, and draws the report whatever that costs.
func (p *Page) publish(last bool) {
	next := told{state: event("state", p.latest.Load().state()), ended: last}
	if content, err := p.draw(last); err == nil {
		next.report = content
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told.ended || string(p.told.state) == string(next.state) && string(p.told.report) == string(next.report) && !last {
		return
	}
	p.told = next
	close(p.changed)
	p.changed = make(chan struct{})
}

// event returns a server-sent event named name, with v as JSON, which has no line break in it.
func event(name string, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return nil // texts and numbers alone
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, data)
}

// drawn is the report as it was drawn last.
type drawn struct {
	mu    sync.Mutex
	page  []byte
	event []byte
	cost  time.Duration // of drawing it
	next  time.Time     // from when on it may be drawn again
}

// usualCost is what drawing costs a page of a few figures.
const usualCost = 5 * time.Millisecond

// cost estimates the processor time of a drawing: the time took, but at most 3/2 of the estimate
// before, or of usualCost if that is more. Much of took may be a wait for a processor that the
// trainer has, or work that is done once; the estimate grows with the page.
func cost(before, took time.Duration) time.Duration { return min(took, max(before, usualCost)*3/2) }

// draw draws the report anew if the files say more and the time has come, or at once if now is set.
// It returns the event with the newest report.
func (p *Page) draw(now bool) ([]byte, error) {
	d := &p.drawn
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.page != nil && !now && (!p.stale.Load() || time.Now().Before(d.next)) {
		return d.event, nil
	}
	start := time.Now()
	p.stale.Store(false)
	r, err := p.read()
	if err != nil {
		p.stale.Store(true)
		d.next = time.Now().Add(pace)
		if d.page != nil {
			return d.event, nil // a file was just being written
		}
		r = &report.Report{Title: "A job that begins", Version: p.version}
	}
	content, err := r.Content()
	if err != nil {
		return d.event, err
	}
	if d.page, err = r.Page(content, "live.js"); err != nil {
		return d.event, err
	}
	d.event = event("report", string(content))
	d.cost = cost(d.cost, time.Since(start))
	d.next = time.Now().Add(drawing * d.cost)
	return d.event, nil
}

// read reads the public files of the job. What was spent is what the trainer told last: to ask an
// accountant takes longer than all the rest.
func (p *Page) read() (*report.Report, error) {
	m := p.latest.Load()
	if m.dir == "" {
		return &report.Report{Title: "A job that begins", Version: p.version}, nil
	}
	q := report.Request{Spent: m.spent(), Accountants: m.trials != nil && m.phase >= finished}
	return report.Read(context.Background(), []string{m.dir}, q, p.version)
}

func (p *Page) page(w http.ResponseWriter, _ *http.Request) {
	if _, err := p.draw(false); err != nil {
		http.Error(w, "the page cannot be made", http.StatusInternalServerError)
		return
	}
	p.drawn.mu.Lock()
	page := p.drawn.page
	p.drawn.mu.Unlock()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page)
}

func (p *Page) script(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	_, _ = w.Write(script)
}

// events answers with one event after the other until the job ends or the reader is gone.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	if p.streams.Add(1) > mostStreams {
		p.streams.Add(-1)
		w.Header().Set("Retry-After", "10")
		http.Error(w, "as many pages as can be kept up to date are open; close one of them", http.StatusServiceUnavailable)
		return
	}
	defer p.streams.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	write := p.Stream(w)
	p.publish(false)
	var sent told
	for {
		p.mu.Lock()
		next, changed := p.told, p.changed
		p.mu.Unlock()
		if write(news(sent, next)) != nil || next.ended {
			return
		}
		sent = next
		select {
		case <-changed:
		case <-time.After(silence):
		case <-r.Context().Done():
			return
		}
	}
}

// news returns a comment, which shows that the trainer is there, and the events that sent lacks.
func news(sent, next told) []byte {
	part := []byte(":\n\n")
	if string(sent.report) != string(next.report) {
		part = append(part, next.report...)
	}
	if string(sent.state) != string(next.state) {
		part = append(part, next.state...)
	}
	return part
}
