package web_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"dpsgd/internal/tiny"
	"dpsgd/internal/web"
)

func limits() web.Limits {
	return web.Limits{Body: 1000, Time: 5 * time.Second, Rate: 1000, Burst: 1000, Connections: 50}
}

// echo answers with the body of a request, or says that it is too long.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if errors.As(err, new(*http.MaxBytesError)) {
		http.Error(w, "too long", http.StatusRequestEntityTooLarge)
		return
	}
	fmt.Fprintf(w, "%s %s", r.URL.Path, body)
}

// serve runs a server until the test ends, which it has to do without an error.
func serve(t *testing.T, address string, l web.Limits, h http.Handler) *web.Server {
	t.Helper()
	s := tiny.Must(web.Listen(address, l))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, h) }()
	t.Cleanup(func() {
		cancel()
		tiny.Check(t, <-ended)
	})
	return s
}

// echoes serves what it is sent.
func echoes(t *testing.T, address string, l web.Limits) (*web.Server, *url.URL) {
	t.Helper()
	s := serve(t, address, l, http.HandlerFunc(echo))
	return s, tiny.Must(url.Parse(s.URL()))(t)
}

// ask sends a request and returns the status, the headers and the body of its answer.
func ask(t *testing.T, method, url, body string, change func(*http.Request)) (int, http.Header, string) {
	t.Helper()
	r := tiny.Must(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))(t)
	if change != nil {
		change(r)
	}
	answer := tiny.Must(http.DefaultClient.Do(r))(t)
	defer answer.Body.Close()
	return answer.StatusCode, answer.Header, strings.TrimSpace(string(tiny.Must(io.ReadAll(answer.Body))(t)))
}

func TestOnlyItsOwnPagesAreAnswered(t *testing.T) {
	s, u := echoes(t, "127.0.0.1:0", limits())
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, test := range map[string]struct {
		body   string
		change func(*http.Request)
		status int
	}{
		"as printed":                    {"x", nil, 200},
		"localhost":                     {"x", host("localhost:" + u.Port()), 200},
		"another way to the server":     {"x", host("[::1]:" + u.Port()), 200},
		"a name that DNS points here":   {"x", host("evil.example:" + u.Port()), 421},
		"a name that ends in localhost": {"x", host("evil.localhost:" + u.Port()), 421},
		"the page of another site":      {"x", header("Origin", "http://evil.example"), 403},
		"a frame of another site":       {"x", header("Sec-Fetch-Site", "cross-site"), 403},
		"its own page":                  {"x", header("Origin", strings.TrimSuffix(s.URL(), "/")), 200},
		"the longest body":              {strings.Repeat("x", 1000), nil, 200},
		"a longer body":                 {strings.Repeat("x", 1001), nil, 413},
	} {
		if status, _, body := ask(t, "POST", s.URL()+"path", test.body, test.change); status != test.status {
			t.Errorf("%s: found status %d (%s), expected %d", name, status, body, test.status)
		}
	}
}

func TestHeaders(t *testing.T) {
	l := limits()
	l.Scripts = []string{"alert(1)"}
	s, _ := echoes(t, "127.0.0.1:0", l)
	_, h, _ := ask(t, "GET", s.URL(), "", nil)
	policy := h.Get("Content-Security-Policy")
	// The hash by: printf 'alert(1)' | openssl dgst -sha256 -binary | base64
	for _, part := range []string{"default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'",
		"script-src 'self' 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"} {
		if !strings.Contains(policy, part) {
			t.Errorf("found the policy %q, expected %q in it", policy, part)
		}
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store", "Access-Control-Allow-Origin": ""} {
		if found := h.Get(name); found != want {
			t.Errorf("%s: found %q, expected %q", name, found, want)
		}
	}
}

func TestTokenBeyondLocalhost(t *testing.T) {
	s, u := echoes(t, ":0", limits())
	if len(u.Path) < 26 || s.Local() {
		t.Fatalf("found %s, expected a token of at least 128 bits in it", s.URL())
	}
	here := "http://127.0.0.1:" + u.Port()
	for path, want := range map[string]int{
		u.Path: 200, u.Path + "predict": 200,
		"/": 404, "/predict": 404, "/" + strings.Repeat("A", len(u.Path)-2) + "/": 404, u.Path[:10] + "/": 404,
	} {
		if status, _, _ := ask(t, "GET", here+path, "", nil); status != want {
			t.Errorf("%s: found status %d, expected %d", path, status, want)
		}
	}
	if _, _, body := ask(t, "GET", here+u.Path+"predict", "", nil); body != "/predict" {
		t.Errorf("found the path %q in the handler, expected it without the token", body)
	}
}

func TestRate(t *testing.T) {
	l := limits()
	l.Rate, l.Burst = 1e-3, 2
	s, _ := echoes(t, "127.0.0.1:0", l)
	for i, want := range []int{200, 200, 429, 429} {
		status, h, _ := ask(t, "GET", s.URL(), "", nil)
		if status != want || (want == 429) != (h.Get("Retry-After") != "") {
			t.Errorf("request %d: found status %d, expected %d", i, status, want)
		}
	}
}

// A connection beyond the limit is told so and closed, and one that ends makes room for another.
func TestConnections(t *testing.T) {
	l := limits()
	l.Connections = 2
	_, u := echoes(t, "127.0.0.1:0", l)
	answered := func(c net.Conn) bool {
		fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		line, err := bufio.NewReader(c).ReadString('\n')
		if err == nil && !strings.Contains(line, "200") && !strings.Contains(line, "503") {
			t.Errorf("found %q, expected an answer or that there is no room", line)
		}
		return err == nil && strings.Contains(line, "200")
	}
	var open []net.Conn
	for i := range 3 {
		c := tiny.Must(net.Dial("tcp", u.Host))(t)
		defer c.Close()
		if found := answered(c); found != (i < 2) {
			t.Errorf("connection %d: answered %t, expected %t", i, found, i < 2)
		}
		open = append(open, c)
	}
	open[0].Close()
	for { // to the limit of go test, where it makes no room
		c := tiny.Must(net.Dial("tcp", u.Host))(t)
		defer c.Close()
		if answered(c) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A body that does not come is given up, and a stream goes on beyond the limit of time, to the end
// of Serve.
func TestTime(t *testing.T) {
	l := limits()
	l.Time = time.Second
	dropped := make(chan struct{}) // closed when a reader who takes nothing is
	var s *web.Server
	s = serve(t, "127.0.0.1:0", l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			if _, err := io.ReadAll(r.Body); err == nil {
				t.Error("found a body that was never sent")
			}
			return
		}
		write := s.Stream(w)
		if r.URL.Path == "/flood" {
			for write(make([]byte, 1<<20)) == nil {
			}
			close(dropped)
			return
		}
		for i := range 4 {
			if err := write(fmt.Appendf(nil, "%d", i)); err != nil {
				t.Error(err)
			}
			time.Sleep(l.Time / 2) // longer than l.Time in all
		}
		if r.Context().Err() != nil {
			t.Errorf("found the context of a stream ended (%v), expected it to last", r.Context().Err())
		}
	}))
	u, _ := url.Parse(s.URL())
	for _, host := range []string{"localhost", "evil.example"} {
		c := tiny.Must(net.Dial("tcp", u.Host))(t)
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: 10\r\n\r\n", host)
		_, _ = io.ReadAll(c) // to the limit of go test, where the server goes on waiting
		c.Close()
	}
	c := tiny.Must(net.Dial("tcp", u.Host))(t)
	defer c.Close()
	fmt.Fprintf(c, "GET /flood HTTP/1.1\r\nHost: localhost\r\n\r\n")
	<-dropped // to the limit of go test
	if _, _, body := ask(t, "GET", s.URL(), "", nil); body != "0123" {
		t.Errorf("found the stream %q, expected all of it", body)
	}
}

// A stream without an end does not keep a server from ending.
func TestEndWithStream(t *testing.T) {
	s := tiny.Must(web.Listen("127.0.0.1:0", limits()))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- s.Serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = s.Stream(w)([]byte("a"))
			cancel()
			<-r.Context().Done()
		}))
	}()
	ask(t, "GET", s.URL(), "", nil)
	tiny.Check(t, <-ended)
}

func TestAddresses(t *testing.T) {
	_, u := echoes(t, "127.0.0.1:0", limits())
	for address, want := range map[string]string{
		u.Host:            "another program listens on " + u.Host,
		"8080":            `found the address "8080", expected a host and a port such as 127.0.0.1:8080`,
		"127.0.0.1:99999": "cannot listen on 127.0.0.1:99999",
	} {
		_, err := web.Listen(address, limits())
		if !errors.Is(err, web.ErrAddress) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: found %v, expected an ErrAddress with %q", address, err, want)
		}
	}
}

// Strangers who do not know the token cannot use up the requests of those who do.
func TestRateIsOfThoseWithTheToken(t *testing.T) {
	l := limits()
	l.Rate, l.Burst = 1e-3, 1
	_, u := echoes(t, ":0", l)
	for _, test := range []struct {
		path   string
		status int
	}{{"/", 404}, {"/guess/", 404}, {u.Path, 200}, {u.Path, 429}} {
		if status, _, _ := ask(t, "GET", "http://127.0.0.1:"+u.Port()+test.path, "", nil); status != test.status {
			t.Errorf("%s: found status %d, expected %d", test.path, status, test.status)
		}
	}
}
