// Package web shows pages in a browser: a job at work ([Follow]) and the predictions of a model
// ([Predictions]), both by a local [Server].
//
// A page in any browser tab can send requests to localhost. So a [Server] answers only requests
// that name it as their host (a name that an attacker's DNS server points at 127.0.0.1 is refused),
// refuses cross-origin posts, and forbids pages to load anything that it does not serve itself.
// Where others can reach the address, every path begins with a random token, which stands in the
// URL that the person is shown. Size, time, rate and connections are bounded by [Limits]. Pages use
// relative URLs ("events", not "/events"), so that they work below a token.
//
// The trainer never waits for a reader of its page. It leaves its newest state behind ([Page.Run]
// and [Page.Sweep] store one pointer a step); goroutines read that state once a second. A slow
// reader misses states in between, and is dropped when he takes nothing for ten seconds. The page
// is drawn anew only while somebody looks, and at most when that costs less than half a hundredth
// of the time.
//
// The page of a job shows what its files say in public, and how far the job has come: no times, no
// examples a second, no private diagnostics. Whoever watches it sees when steps are made, as
// whoever watches the folder does; docs/threat-model.md says why that is no part of the guarantee.
//
// Nothing that comes in for a prediction is kept. A picture's size is read before memory is taken
// for it, one picture at a time is decoded, and decoding ends with the time of its request.
package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ErrAddress means that an address is not a host and a port, is taken, or cannot be listened on.
var ErrAddress = errors.New("web")

// Default is the address of pages where no other is given.
const Default = "127.0.0.1:8080"

// grace is how long answers at work may take once the server has to end, shorter than the shell
// waits for a command that saves nothing: browsers keep connections open on which they ask nothing.
const grace = 300 * time.Millisecond

// Server answers requests on one address, within limits.
type Server struct {
	listener net.Listener
	host     string   // of the address that it was given; "" for all of the machine's
	hosts    []string // names, beside IP addresses, that a request may give
	token    string   // what every path begins with; "" on localhost
	limits   Limits
}

// Listen listens on an address: "127.0.0.1:8080", "localhost:0" (any free port) or ":8080" (all of
// the machine's). An address that others can reach gets a token. The error matches ErrAddress.
func Listen(address string, limits Limits) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%w: found the address %q, expected a host and a port such as %s", ErrAddress, address, Default)
	}
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%w: another program listens on %s, expected a free port; port 0 takes any", ErrAddress, address)
	case err != nil:
		return nil, fmt.Errorf("%w: cannot listen on %s: %v", ErrAddress, address, err)
	}
	s := &Server{listener: &bounded{l, make(chan struct{}, limits.Connections)}, host: host, limits: limits}
	s.hosts = []string{"localhost", strings.ToLower(host)}
	if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		s.token = rand.Text()
		if name, err := os.Hostname(); err == nil {
			s.hosts = append(s.hosts, strings.ToLower(name))
		}
	}
	return s, nil
}

// URL returns what to open in a browser, token included.
func (s *Server) URL() string {
	host := s.host
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = cmp.Or(s.hosts[len(s.hosts)-1], "localhost") // the machine's name
	}
	url := "http://" + net.JoinHostPort(host, fmt.Sprint(s.listener.Addr().(*net.TCPAddr).Port)) + "/"
	if s.token != "" {
		url += s.token + "/"
	}
	return url
}

// Local reports whether only this machine reaches the server.
func (s *Server) Local() bool { return s.token == "" }

// Serve answers requests by h until ctx ends, then lets those at work finish within 300 ms. Their
// contexts end with ctx, and so do streams of events.
func (s *Server) Serve(ctx context.Context, h http.Handler) error {
	server := &http.Server{
		Handler:           s.guard(h),
		ReadHeaderTimeout: min(5*time.Second, s.limits.Time),
		IdleTimeout:       30 * time.Second,
		MaxHeaderBytes:    16 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          log.New(io.Discard, "", 0), // broken connections are nobody's business
	}
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		err := server.Shutdown(patience)
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close()
		}
		ended <- err
	})
	err := server.Serve(s.listener)
	if !stop() {
		return <-ended
	}
	return fmt.Errorf("web: %w", err)
}

// Close stops listening, for a server on which Serve was not called.
func (s *Server) Close() error { return s.listener.Close() }

// Limits bound what strangers, and broken programs, can take from the machine.
type Limits struct {
	Body        int64         // bytes in the body of a request; reading more fails with *http.MaxBytesError
	Time        time.Duration // from the head of a request to the end of its answer; see [Server.Stream]
	Rate        float64       // requests a second over all clients that know the path ...
	Burst       int           // ... and so many at once after a rest
	Connections int           // open at the same time; one more gets status 503 and is closed
	Scripts     []string      // scripts that stand in the served pages, as they are between the tags; no other runs there
}

// bucket is a token bucket: it fills at a rate, and each request takes one token.
type bucket struct {
	mu     sync.Mutex
	rate   float64 // tokens a second
	size   float64
	tokens float64
	last   time.Time
}

// take takes a token and reports whether there was one. now is never before that of the last call.
func (b *bucket) take(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.size, b.tokens+b.rate*now.Sub(b.last).Seconds())
	b.last = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// full is the answer to a connection beyond Limits.Connections.
const full = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 5\r\nConnection: close\r\n\r\n" +
	"too many connections are open, try again in a few seconds\n"

// bounded is a listener that refuses a connection while as many as it allows are open.
type bounded struct {
	net.Listener
	open chan struct{} // has an element for each open connection, and room for as many as are allowed
}

func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case b.open <- struct{}{}:
			return &counted{Conn: c, done: sync.OnceFunc(func() { <-b.open })}, nil
		default:
		}
		_ = c.SetWriteDeadline(time.Now().Add(10 * time.Millisecond)) // an empty buffer takes it at once
		_, _ = c.Write([]byte(full))
		c.Close()
	}
}

// counted is a connection that is one of a bounded number until it is closed.
type counted struct {
	net.Conn
	done func()
}

func (c *counted) Close() error {
	c.done()
	return c.Conn.Close()
}

// guard returns h behind checks of host, origin and token, with bounds on rate, time and size.
func (s *Server) guard(h http.Handler) http.Handler {
	bucket := &bucket{rate: s.limits.Rate, size: float64(s.limits.Burst), tokens: float64(s.limits.Burst), last: time.Now()}
	h = http.NewCrossOriginProtection().Handler(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control, deadline := http.NewResponseController(w), time.Now().Add(s.limits.Time)
		_, _ = control.SetReadDeadline(deadline), control.SetWriteDeadline(deadline)
		s.headers(w.Header())
		if !s.named(r.Host) {
			http.Error(w, "found another host than this server's: open the address that the program printed", http.StatusMisdirectedRequest)
			return
		}
		inner, ok := s.below(r)
		if !ok { // a stranger, who takes no token of the bucket from those who know the path
			http.NotFound(w, r)
			return
		}
		if !bucket.take(time.Now()) {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests at once, try again in a second", http.StatusTooManyRequests)
			return
		}
		inner.Body = http.MaxBytesReader(w, inner.Body, s.limits.Body)
		h.ServeHTTP(w, inner)
	})
}

// named reports whether host, of a request, names this server: by an IP address, which DNS cannot
// point elsewhere, or by a name of the machine.
func (s *Server) named(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if net.ParseIP(strings.Trim(host, "[]")) != nil {
		return true
	}
	return host != "" && slices.Contains(s.hosts, strings.ToLower(host))
}

// below returns r with the token taken off its path, and whether it had the right one.
func (s *Server) below(r *http.Request) (*http.Request, bool) {
	if s.token == "" {
		return r, true
	}
	token, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 {
		return nil, false
	}
	r = r.Clone(r.Context())
	r.URL.Path, r.URL.RawPath = "/"+rest, ""
	return r, true
}

// headers sets headers in h that forbid the pages all that they do not need, and forbid other sites
// to use them.
func (s *Server) headers(h http.Header) {
	scripts := "'self'"
	for _, text := range s.limits.Scripts {
		sum := sha256.Sum256([]byte(text))
		scripts += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	h.Set("Content-Security-Policy", "default-src 'none'; script-src "+scripts+"; style-src 'self' 'unsafe-inline'; "+
		"img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer") // the token stands in the URL
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// Stream begins an answer that goes on, such as server-sent events. It lifts the deadlines and
// returns a function that writes a part of the answer; readers take it within [Limits.Time].
func (s *Server) Stream(w http.ResponseWriter) func(part []byte) error {
	control := http.NewResponseController(w)
	_, _ = control.SetReadDeadline(time.Time{}), control.SetWriteDeadline(time.Time{})
	return func(part []byte) error {
		_ = control.SetWriteDeadline(time.Now().Add(s.limits.Time))
		if _, err := w.Write(part); err != nil {
			return err
		}
		return control.Flush()
	}
}
