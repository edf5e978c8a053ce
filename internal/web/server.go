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

// ErrAddress: an address is none, is taken, or cannot be listened on.
var ErrAddress = errors.New("web")

// Default is where pages are served without another word.
const Default = "127.0.0.1:8080"

// grace is how long answers at work may take after the end was asked for. It is shorter than a
// command that saves nothing is waited for: browsers keep connections open on which they ask nothing.
const grace = 300 * time.Millisecond

// Server listens on an address.
type Server struct {
	listener net.Listener
	host     string   // as the address named it; "" for all addresses
	hosts    []string // names, beside IP addresses, that a request may give
	token    string   // what every path begins with; "" on localhost
	limits   Limits
}

// Listen takes an address such as "127.0.0.1:8080", "localhost:0" (any free port) or ":8080" (all
// addresses of the machine). The error matches ErrAddress.
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
	s := &Server{listener: &bounded{Listener: l, free: limits.Connections}, host: host, limits: limits}
	s.hosts = []string{"localhost", strings.ToLower(host)}
	if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		s.token = rand.Text()
		if name, err := os.Hostname(); err == nil {
			s.hosts = append(s.hosts, strings.ToLower(name))
		}
	}
	return s, nil
}

// URL is what to open in a browser, token included.
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

// Serve answers requests by h until the context ends, then lets those at work finish for a moment.
// The contexts of requests end with it, so that streams of events do.
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

// Close ends a server that does not serve.
func (s *Server) Close() error { return s.listener.Close() }
