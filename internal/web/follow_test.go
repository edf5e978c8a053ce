package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dpsgd/accountant"
	"dpsgd/configs"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/sweep"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
)

// listen serves a page on a free port until the test ends.
func listen(t testing.TB) *Page {
	t.Helper()
	p := tiny.Must(Follow("127.0.0.1:0", "v1"))(t)
	t.Cleanup(func() { p.Close() })
	return p
}

// get is the body of an answer.
func get(t testing.TB, url string) string {
	t.Helper()
	answer := tiny.Must(http.Get(url))(t)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: found status %s, error %v", url, answer.Status, err)
	}
	return string(body)
}

// reader is somebody who looks at a page, with what he was told so far.
type reader struct {
	mu     sync.Mutex
	heard  *sync.Cond // something
	states []state
	report string
	ended  bool // nothing more comes
}

// follow reads the events of a page to their end, from the first one on, which is there. The page
// waits for its readers to hear of the end, however busy the machine is.
func follow(t testing.TB, p *Page) *reader {
	t.Helper()
	p.patience = time.Hour
	answer, err := http.Get(p.URL() + "events")
	tiny.Check(t, err)
	r := &reader{}
	r.heard = sync.NewCond(&r.mu)
	go func() {
		defer answer.Body.Close()
		defer r.hear(func() { r.ended = true })
		var name string
		lines := bufio.NewScanner(answer.Body)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			if n, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				name = n
			}
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			r.hear(func() {
				if name == "report" {
					err = json.Unmarshal([]byte(data), &r.report)
					return
				}
				r.states = append(r.states, state{})
				err = json.Unmarshal([]byte(data), &r.states[len(r.states)-1])
			})
			if err != nil {
				t.Error(err)
			}
		}
	}()
	r.wait(func(state) bool { return true })
	return r
}

func (r *reader) hear(what func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	what()
	r.heard.Broadcast()
}

// wait waits until a state was told that is looked for, and returns it; where the events end
// without one, it returns none.
func (r *reader) wait(looked func(state) bool) (s state) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		if i := slices.IndexFunc(r.states, looked); i >= 0 {
			return r.states[i]
		}
		if r.ended {
			return state{}
		}
		r.heard.Wait()
	}
}

// all waits for the end and returns everything.
func (r *reader) all() (states []state, report string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.ended {
		r.heard.Wait()
	}
	return r.states, r.report
}

// fit carries out a run that p shows.
func fit(t testing.TB, p *Page, stepped func(train.Progress), overrides ...string) train.Result {
	t.Helper()
	o := tinyrun.Options(t)
	o.Watcher = p.Run(train.Watcher{Stepped: stepped})
	return tinyrun.Fit(t, tinyrun.Create(t, tiny.Parse(t, overrides...), o))
}

// A page tells from the beginning to the end how a run goes, to everyone who looks, and ends with
// what the run claims.
func TestFollowARun(t *testing.T) {
	p := listen(t)
	readers := []*reader{follow(t, p), follow(t, p)}
	steps := 0
	result := fit(t, p, func(now train.Progress) {
		if steps++; steps != 6 {
			return
		}
		p.publish(false) // what the page's own goroutine does once a second
		for _, r := range readers {
			numbers := "step 6 of 12 · ε " + accountant.RoundUp(now.Spent.Epsilon, 2) + " "
			middle := r.wait(func(s state) bool { return strings.HasPrefix(s.Numbers, numbers) })
			if !strings.Contains(middle.Numbers, "test accuracy") || middle.Done != 0.5 {
				t.Errorf("found %+v in the middle", middle)
			}
		}
	}, "training.evaluate_every=4")
	tiny.Check(t, p.Close())
	for _, r := range readers {
		states, html := r.all()
		if states[0].State != "Preparing: reading data and making a plan." {
			t.Errorf("found the beginning %+v", states[0])
		}
		if last := states[len(states)-1]; !last.Ended || last.State != "Done: all planned steps ran." || last.Done != 1 || !strings.Contains(last.Numbers, result.Test.String()) || !strings.Contains(last.Numbers, "ε "+accountant.RoundUp(result.Epsilon, 3)+" ") {
			t.Errorf("found the end %+v", last)
		}
		if !strings.Contains(html, "<h1 id=\"top\">Run tiny-1</h1>") || !strings.Contains(html, "differentially private") {
			t.Error("found no statement in the last report")
		}
	}
	if steps != 12 {
		t.Errorf("the next watcher was told %d steps, expected 12", steps)
	}
}

// A sweep is followed over its trials.
func TestFollowASweep(t *testing.T) {
	p := listen(t)
	r := follow(t, p)
	o := tinyrun.Options(t)
	base := filepath.Join(t.TempDir(), "base.yaml")
	tiny.Write(t, base, tiny.Config)
	file := tiny.Must(configs.ParseSweep(filepath.Join(filepath.Dir(base), "s.yaml"), []byte("name: s\nbase: base.yaml\nset: {training.steps: 3}\ngrid: {privacy.clip_norm: [0.5, 1], privacy.noise_multiplier: [1, 2]}\n")))(t)
	tiny.Must(sweep.Run(context.Background(), file, sweep.Options{Request: o.Request, RunsDir: o.RunsDir, Watcher: p.Sweep(publishing(p, r))}))(t)
	tiny.Check(t, p.Close())
	all, html := r.all()
	last := all[len(all)-1]
	if !last.Ended || last.State != "Done: every trial has a result." || last.Numbers != "4 of 4 trials have a result" || last.Done != 1 {
		t.Errorf("found the end %+v", last)
	}
	for i, s := range all {
		if i > 0 && s.Done < all[i-1].Done {
			t.Errorf("found %v after %v, expected a bar that grows", s.Done, all[i-1].Done)
		}
	}
	if !strings.Contains(html, "Sweep s") || !strings.Contains(html, "4 of 4 trials") || !strings.Contains(html, "12 releases together are") {
		t.Error("found no results in the last report")
	}
}

// Without a page the next watcher is told alone.
func TestNoPage(t *testing.T) {
	var none *Page
	if none.Run(train.Watcher{}).Stepped != nil || none.Sweep(sweep.Watcher{}).TrialStepped != nil {
		t.Error("found other watchers")
	}
}

// Several trials at a time count with the share of their steps that is made.
func TestTrialsSideBySide(t *testing.T) {
	p := listen(t)
	w := p.Sweep(sweep.Watcher{})
	now := func() state { return p.latest.Load().state() }
	w.SweepStarted(sweep.Overview{Dir: t.TempDir(), Trials: 4, Finished: 1})
	w.TrialStarted(sweep.TrialOverview{Name: "a", Steps: 10})
	w.TrialStarted(sweep.TrialOverview{Name: "b", Steps: 10, ResumedAt: 5})
	w.TrialStepped(sweep.TrialOverview{Name: "a"}, train.Progress{Step: 5, Steps: 10})
	if s := now(); s.Done != 0.5 || s.Numbers != "1 of 4 trials have a result · at work on a and b" {
		t.Errorf("found %+v, expected one trial and two halves of four", s)
	}
	w.TrialFinished(books.Row{Trial: "a"})
	w.TrialStepped(sweep.TrialOverview{Name: "b"}, train.Progress{Step: 6, Steps: 10})
	if s := now(); s.Done != 0.65 || !strings.HasPrefix(s.Numbers, "2 of 4 trials have a result · at work on b: step 6 of 10") {
		t.Errorf("found %+v, expected two trials and six tenths of four", s)
	}
}

// publishing is a watcher of a sweep that makes the page tell what it knows, and waits until the
// reader has heard of the trial.
func publishing(p *Page, r *reader) sweep.Watcher {
	return sweep.Watcher{TrialStepped: func(o sweep.TrialOverview, _ train.Progress) {
		p.publish(false)
		r.wait(func(s state) bool { return strings.Contains(s.Numbers, "at work on "+o.Name) })
	}}
}

// A page of a run with private diagnostics is that of the same run without their file.
func TestNothingPrivate(t *testing.T) {
	p := listen(t)
	r := fit(t, p, nil, "run.private_diagnostics=true")
	with := get(t, p.URL())
	tiny.Check(t, os.Remove(filepath.Join(r.Run, folder.Diagnostics)))
	p.stale.Store(true)
	p.drawn.next = time.Time{}
	if without := get(t, p.URL()); with != without {
		t.Error("found another page than without the file of private diagnostics")
	}
	m := moment{dir: "d", phase: working, step: 3, steps: 9, progress: train.Progress{Step: 3, Seconds: 123456, SecondsPerStep: 123456, ExamplesPerSecond: 123456, ClipNorm: 123456}}
	if text := fmt.Sprintf("%+v", m.state()); strings.Contains(text, "123456") {
		t.Errorf("found %s, expected no time and no rate", text)
	}
}

// Trainers go on whoever reads: with pages that take nothing, and with more of them than are
// served.
func TestReadersNeverStopTheTrainer(t *testing.T) {
	p := listen(t)
	u, _ := url.Parse(p.URL())
	for range mostStreams + 5 {
		c := tiny.Must(net.Dial("tcp", u.Host))(t)
		defer c.Close()
		fmt.Fprintf(c, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n") // and no word of the answer is read
	}
	for p.streams.Load() < mostStreams {
		time.Sleep(time.Millisecond)
	}
	answer := tiny.Must(http.Get(p.URL() + "events"))(t)
	answer.Body.Close()
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("found status %s, expected to be told to come again", answer.Status)
	}
	if r := fit(t, p, func(train.Progress) { p.publish(false) }, "training.evaluate_every=1"); r.Steps != 12 {
		t.Errorf("found %d steps, expected 12", r.Steps)
	}
}

// A thousand connections that ask nothing keep nobody from the page for longer than it takes to
// drop them.
func TestIdleConnections(t *testing.T) {
	defer func(usual Limits) { limits = usual }(limits)
	limits.Time = time.Second
	p := listen(t)
	u, _ := url.Parse(p.URL())
	for range 1000 {
		c, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Skipf("this system has no room for so many connections: %v", err)
		}
		defer c.Close()
	}
	for ; ; time.Sleep(10 * time.Millisecond) { // to the limit of go test, where they are not dropped
		answer, err := http.Get(p.URL())
		if err != nil {
			continue
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return
		}
	}
}

// The page is drawn again when two hundred times what it took has passed, and not before.
func TestDrawingIsRare(t *testing.T) {
	p := listen(t)
	tiny.Must(p.draw(false))(t)
	p.drawn.next = time.Now().Add(time.Hour)
	before := string(p.drawn.page)
	fit(t, p, nil)
	if _, err := p.draw(false); err != nil || string(p.drawn.page) != before {
		t.Errorf("found another page before its time (error %v)", err)
	}
	p.drawn.next = time.Time{}
	start := time.Now()
	if _, err := p.draw(false); err != nil || string(p.drawn.page) == before {
		t.Errorf("found the same page when it was time (error %v)", err)
	}
	if rest := p.drawn.next.Sub(start); rest < drawing*p.drawn.cost {
		t.Errorf("found %v of rest where drawing costs %v, expected two hundred times that", rest, p.drawn.cost)
	}
	for _, test := range [][3]time.Duration{{0, 900, 0}, {10, 70, 15}, {10, 12, 12}, {10, 4, 4}} {
		before, took, want := test[0]*time.Millisecond, test[1]*time.Millisecond, test[2]*time.Millisecond
		if test[0] == 0 {
			want = usualCost * 3 / 2
		}
		if found := cost(before, took); found != want {
			t.Errorf("found a cost of %v after %v and %v, expected %v", found, before, took, want)
		}
	}
}

// An address that is taken is an error of Listen, and so before anything is trained.
func TestAddressInUse(t *testing.T) {
	u, _ := url.Parse(listen(t).URL())
	if _, err := Follow(u.Host, ""); !errors.Is(err, ErrAddress) {
		t.Errorf("found error %v", err)
	}
}

// BenchmarkStepped is what a step of the trainer pays for being followed.
func BenchmarkStepped(b *testing.B) {
	p := listen(b)
	w := p.Run(train.Watcher{})
	for i := range b.N {
		w.Stepped(train.Progress{Step: i, Steps: b.N})
	}
}

// BenchmarkDraw is what the page costs each time that it is drawn.
func BenchmarkDraw(b *testing.B) {
	p := listen(b)
	fit(b, p, nil, "training.evaluate_every=1")
	for b.Loop() {
		if _, err := p.draw(true); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPublish is what a second costs while as many pages as are served are kept up to date,
// but for drawing.
func BenchmarkPublish(b *testing.B) {
	p := listen(b)
	for range mostStreams {
		follow(b, p)
	}
	w := p.Run(train.Watcher{})
	for i := 0; b.Loop(); i++ {
		w.Stepped(train.Progress{Step: i + 1, Steps: 1 << 30})
		p.publish(false)
		time.Sleep(5 * time.Millisecond) // for the readers to take it: that is theirs
	}
}
