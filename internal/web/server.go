// Package web shows pages in a browser: a job at work ([Follow]) and what a trained model takes
// pictures for ([Predictions]), both by a local [Server].
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
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
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
		host = s.hosts[len(s.hosts)-1] // the machine's name
		if host == "" {
			host = "localhost"
		}
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
