package web

import (
	"net"
	"sync"
	"time"
)

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

// bounded is a listener that refuses connections beyond a number of open ones.
type bounded struct {
	net.Listener
	mu   sync.Mutex
	free int
}

func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if b.change(-1) {
			return &counted{Conn: c, done: sync.OnceFunc(func() { b.change(1) })}, nil
		}
		_ = c.SetWriteDeadline(time.Now().Add(10 * time.Millisecond)) // an empty buffer takes it at once
		_, _ = c.Write([]byte(full))
		c.Close()
	}
}

// change adds n to the number of free connections, or reports false if the sum were below zero.
func (b *bounded) change(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.free+n < 0 {
		return false
	}
	b.free += n
	return true
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
