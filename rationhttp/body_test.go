package rationhttp_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/internal/memhttp"
	"github.com/ration-go/ration/rationhttp"
)

// opaque hides what an in-memory reader is, so that no GetBody is made for it.
type opaque struct{ io.Reader }

// C01 and C02: every attempt has the whole body, and a reader of its own.
func TestBodyReplay(t *testing.T) {
	for _, tc := range []struct {
		name   string
		body   func() io.Reader
		length int64
		want   int // attempts
	}{
		{"GetBody", func() io.Reader { return strings.NewReader("hello") }, 5, 3},
		{"declared", func() io.Reader { return opaque{strings.NewReader("hello")} }, 5, 3},
		{"unknown", func() io.Reader { return opaque{strings.NewReader("hello")} }, -1, 3},
		{"pipe", func() io.Reader {
			r, w := io.Pipe()
			go func() {
				io.WriteString(w, "hel")
				io.WriteString(w, "lo")
				w.Close()
			}()
			return r
		}, -1, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := newScript(steps(503, 503, 200)...)
				req := newRequest(t, "POST", "http://a.test/", tc.body())
				req.ContentLength = tc.length
				req.Header.Set("Idempotency-Key", "k1")
				status, _, err := send(t, newTransport(t, base, plain()), req)
				if status != 200 || err != nil || base.attempts() != tc.want {
					t.Fatalf("status %d, error %v, %d attempts", status, err, base.attempts())
				}
				readers := map[io.Reader]bool{}
				for i, s := range base.requests() {
					if s.body != "hello" || s.req.ContentLength != tc.length {
						t.Errorf("attempt %d: body %q of length %d", i+1, s.body, s.req.ContentLength)
					}
					readers[s.req.Body] = true
				}
				if len(readers) != tc.want {
					t.Errorf("%d readers for %d attempts", len(readers), tc.want)
				}
			})
		})
	}
}

// A body that is not kept is sent once; the caller gets the outcome itself, and
// the event says why there was no retry.
func TestBodyNotKept(t *testing.T) {
	large := strings.Repeat("x", 100)
	for _, tc := range []struct {
		name   string
		length int64
		step   step
	}{
		{"declared, response", 100, step{status: 503, body: "busy"}},
		{"declared, error", 100, step{err: syscall.ECONNRESET}},
		{"unknown, response", -1, step{status: 503, body: "busy"}},
		{"unknown, error", -1, step{err: syscall.ECONNRESET}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &recorder{}
			p := plain()
			p.OnEvent = r.hear
			base := newScript(tc.step)
			body := &trackedBody{Reader: strings.NewReader(large)}
			req := newRequest(t, "PUT", "http://a.test/", body)
			req.ContentLength = tc.length
			status, text, err := send(t, newTransport(t, base, p, rationhttp.WithBodyLimit(99)), req)
			if status != tc.step.status || text != tc.step.body || err != tc.step.err {
				t.Errorf("caller got %d %q, %v", status, text, err)
			}
			if n := base.attempts(); n != 1 || base.requests()[0].body != large {
				t.Errorf("%d attempts, body %q", n, base.requests()[0].body)
			}
			if ev := r.last(t); ev.Kind != ration.EventNotRetried ||
				!errors.Is(ev.Err, rationhttp.ErrBodyNotKept) ||
				!strings.Contains(ev.Err.Error(), "request body is not kept") {
				t.Errorf("event %v with %v", ev.Kind, ev.Err)
			}
			if ev := r.all()[0]; ev.Verdict.Kind != ration.VerdictTransient {
				t.Errorf("the attempt counts as %v", ev.Verdict)
			}
		})
	}
}

// An answer that nobody would retry is no occasion to speak of the body.
func TestLargeBodyAnswered(t *testing.T) {
	r := &recorder{}
	p := plain()
	p.OnEvent = r.hear
	base := newScript(steps(404)...)
	req := newRequest(t, "PUT", "http://a.test/", opaque{strings.NewReader("xx")})
	req.ContentLength = 2
	send(t, newTransport(t, base, p, rationhttp.WithBodyLimit(1)), req)
	if ev := r.last(t); ev.Kind != ration.EventSucceeded || ev.Err != nil {
		t.Errorf("event %v with %v", ev.Kind, ev.Err)
	}
	if h := base.requests()[0].header; h.Get(rationhttp.RetryingHeader) != "" {
		t.Error("a request that cannot be retried carries the marker")
	}
}

// What was never read need not be kept: an attempt that did not get as far as
// the body is retried, whatever is known about its length.
func TestBodyUnread(t *testing.T) {
	for _, length := range []int64{4, -1} {
		synctest.Test(t, func(t *testing.T) {
			base := newScript(step{err: syscall.ECONNREFUSED, unread: true}, step{status: 200})
			req := newRequest(t, "PUT", "http://a.test/", opaque{strings.NewReader("body")})
			req.ContentLength = length
			status, _, err := send(t, newTransport(t, base, plain()), req)
			if status != 200 || err != nil || base.requests()[1].body != "body" {
				t.Errorf("length %d: status %d, error %v, %d attempts", length, status, err, base.attempts())
			}
		})
	}
}

// An early response, or a lost connection, leaves the rest of the body unread:
// the next attempt sends what was kept and goes on with the source.
func TestBodyHalfRead(t *testing.T) {
	for _, length := range []int64{4, -1} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			var second string
			base := roundTripper(func(r *http.Request) (*http.Response, error) {
				n++
				defer r.Body.Close()
				if n == 1 {
					io.ReadFull(r.Body, make([]byte, 2))
					return &http.Response{StatusCode: 503, Body: http.NoBody}, nil
				}
				b, _ := io.ReadAll(r.Body)
				second = string(b)
				return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
			})
			req := newRequest(t, "PUT", "http://a.test/", opaque{strings.NewReader("body")})
			req.ContentLength = length
			send(t, newTransport(t, base, plain(), rationhttp.WithBodyLimit(4)), req)
			if n != 2 || second != "body" {
				t.Errorf("length %d: %d attempts, the second with %q", length, n, second)
			}
		})
	}
}

// The transport of an earlier attempt may hold on to its body. It gets nothing
// more of it, and the read that it has begun is not lost to the next one.
func TestBodyOfEarlierAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, fill := io.Pipe()
		var first io.ReadCloser
		var stray atomic.Int64
		var got string
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			if first == nil {
				first = r.Body
				go func() {
					for {
						n, err := first.Read(make([]byte, 1))
						stray.Add(int64(n))
						if err != nil {
							return
						}
					}
				}()
				synctest.Wait() // the read waits for the pipe
				return &http.Response{StatusCode: 503, Body: http.NoBody}, nil
			}
			go func() {
				io.WriteString(fill, "hello")
				fill.Close()
			}()
			b, err := io.ReadAll(r.Body)
			got = fmt.Sprintf("%s %v", b, err)
			r.Body.Close()
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		})
		req := newRequest(t, "PUT", "http://a.test/", source)
		status, _, err := send(t, newTransport(t, base, plain()), req)
		if status != 200 || err != nil || got != "hello <nil>" {
			t.Errorf("status %d, error %v, second body %q", status, err, got)
		}
		if n := stray.Load(); n != 1 {
			t.Errorf("the first attempt read %d bytes, want the one that it had begun", n)
		}
		if n, err := first.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("the first attempt still reads: %d, %v", n, err)
		}
		if _, err := source.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("the caller's body is not closed: %v", err)
		}
	})
}

// The caller's body is closed whatever becomes of the call, and not before the
// last attempt is done with it.
func TestBodyClosed(t *testing.T) {
	limited := rationhttp.WithLimiter(limiterFunc(func() bool { return false }))
	for _, tc := range []struct {
		name   string
		method string
		length int64
		steps  []step
		policy func(*ration.Policy)
		ctx    func(context.Context) context.Context
		opts   []rationhttp.Option
	}{
		{name: "success", method: "PUT", length: 4, steps: steps(200)},
		{name: "retried", method: "PUT", length: 4, steps: steps(503, 200)},
		{name: "spent", method: "PUT", length: -1, steps: steps(503)},
		{name: "spent on errors", method: "PUT", length: 4, steps: []step{{err: syscall.ECONNRESET}}},
		{name: "post", method: "POST", length: 4, steps: steps(503)},
		{name: "too large", method: "PUT", length: 4 << 20, steps: steps(503)},
		{name: "limited", method: "PUT", length: 4, steps: steps(200),
			opts: []rationhttp.Option{limited}},
		{name: "limited post", method: "POST", length: 4, steps: steps(200),
			opts: []rationhttp.Option{limited}},
		{name: "hook", method: "PUT", length: 4, steps: steps(200), policy: func(p *ration.Policy) {
			p.BeforeAttempt = func(context.Context, int) error { return errors.New("no") }
		}},
		{name: "cancelled", method: "POST", length: 4, steps: steps(200),
			ctx: func(ctx context.Context) context.Context {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return ctx
			}},
		{name: "deadline", method: "PUT", length: -1,
			steps: []step{{status: 429, header: "Retry-After: 86400"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := plain()
				if tc.policy != nil {
					tc.policy(&p)
				}
				body := &trackedBody{Reader: strings.NewReader("body")}
				req := newRequest(t, tc.method, "http://a.test/", body)
				req.ContentLength = tc.length
				if tc.ctx != nil {
					req = req.WithContext(tc.ctx(req.Context()))
				}
				send(t, newTransport(t, newScript(tc.steps...), p, tc.opts...), req)
				if !body.closed() {
					t.Error("the body is open")
				}
				if req.Body != body {
					t.Error("the caller's request was changed")
				}
			})
		})
	}
}

// A response may come while the body is still being sent. The body then belongs
// to the transport until that is done.
func TestBodyOutlivesCall(t *testing.T) {
	for _, length := range []int64{4, -1} {
		body := &trackedBody{Reader: strings.NewReader("body")}
		var sending io.ReadCloser
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			sending = r.Body
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		})
		req := newRequest(t, "PUT", "http://a.test/", body)
		req.ContentLength = length
		send(t, newTransport(t, base, plain()), req)
		if body.closed() {
			t.Error("closed under the transport")
		}
		if b, err := io.ReadAll(sending); string(b) != "body" || err != nil {
			t.Errorf("the rest of the body: %q, %v", b, err)
		}
		sending.Close()
		if !body.closed() {
			t.Error("the transport closed its body, and the caller's is open")
		}
	}
}

// GetBody may fail; the failure before it stays in reach.
func TestGetBodyFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errSpent := errors.New("spent")
		base := newScript(steps(503, 200)...)
		req := newRequest(t, "PUT", "http://a.test/", strings.NewReader("x"))
		req.GetBody = func() (io.ReadCloser, error) { return nil, errSpent }
		_, _, err := send(t, newTransport(t, base, plain()), req)
		var status *rationhttp.StatusError
		if !errors.Is(err, errSpent) || !errors.As(err, &status) || status.StatusCode != 503 {
			t.Errorf("error %v", err)
		}
		if base.attempts() != 1 || base.unclosed() != 0 {
			t.Errorf("%d attempts, %d open bodies", base.attempts(), base.unclosed())
		}
		// An answer that a classifier does not accept is no error to wrap.
		p := plain()
		p.Classify = func(any, error) ration.Verdict {
			return ration.Verdict{Kind: ration.VerdictTransient}
		}
		base = newScript(steps(404)...)
		if _, _, err := send(t, newTransport(t, base, p), req); !errors.Is(err, errSpent) ||
			base.unclosed() != 0 {
			t.Errorf("error %v, %d open bodies", err, base.unclosed())
		}
	})
}

// inProtocols runs a test against a server of each protocol, in a bubble.
func inProtocols(t *testing.T, h http.HandlerFunc, test func(t *testing.T, s *memhttp.Server)) {
	t.Helper()
	for _, p := range []struct {
		name  string
		start func(http.Handler) *memhttp.Server
	}{{"HTTP1", memhttp.New}, {"HTTP2", memhttp.NewHTTP2}} {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := p.start(h)
				defer s.Close()
				test(t, s)
			})
		})
	}
}

// Byte for byte, over real transports: with GetBody and without, declared and
// chunked, with trailers, and through a redirect that the client follows above
// us.
func TestBodyOverTheWire(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	sum := sha256.Sum256(content)
	var mu sync.Mutex
	failures := 0
	var seen []string
	handler := func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil || sha256.Sum256(b) != sum {
			t.Errorf("%s: %d bytes, error %v", r.URL.Path, len(b), err)
		}
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf("%s %d %v %s", r.URL.Path, r.ContentLength,
			r.TransferEncoding, r.Trailer.Get("X-Sum")))
		if failures++; failures%3 != 0 {
			http.Error(w, "again", http.StatusServiceUnavailable)
			return
		}
		if r.URL.Path == "/from" {
			http.Redirect(w, r, "/to", http.StatusTemporaryRedirect)
		}
	}
	inProtocols(t, handler, func(t *testing.T, s *memhttp.Server) {
		client := &http.Client{Transport: newTransport(t, s.Transport(), plain())}
		for _, kind := range []string{"GetBody", "declared", "chunked", "trailer", "redirect"} {
			seen, failures = nil, 0
			var body io.Reader = bytes.NewReader(content)
			path := "/"
			if kind != "GetBody" && kind != "redirect" {
				body = opaque{body}
			}
			if kind == "redirect" {
				path = "/from"
			}
			req := newRequest(t, "PUT", s.URL()+path, body)
			if kind == "declared" {
				req.ContentLength = int64(len(content))
			}
			if kind == "trailer" {
				req.Trailer = http.Header{"X-Sum": {"abc"}}
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			resp.Body.Close()
			if resp.StatusCode != 200 {
				t.Errorf("%s: status %d", kind, resp.StatusCode)
			}
			want := 3
			if kind == "redirect" {
				want = 6
			}
			if len(seen) != want {
				t.Errorf("%s: sent %d times: %q", kind, len(seen), seen)
			}
			for i, line := range seen {
				if kind != "redirect" && line != seen[0] {
					t.Errorf("%s: attempt %d was %q, the first %q", kind, i+1, line, seen[0])
				}
			}
			if kind == "trailer" && !strings.HasSuffix(seen[2], "abc") {
				t.Errorf("trailer lost: %q", seen[2])
			}
		}
	})
}

// Expect: 100-continue: the body is sent only once the server asks for it, and
// a refusal before that is retried without having read it.
func TestExpectContinue(t *testing.T) {
	var hits atomic.Int64
	server, transport := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Expect") != "100-continue" {
			t.Errorf("Expect: %q", r.Header.Get("Expect"))
		}
		if hits.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		b, _ := io.ReadAll(r.Body)
		w.Write(b)
	})
	transport.ExpectContinueTimeout = 1 << 40
	for _, length := range []int64{4, -1} {
		hits.Store(0)
		req := newRequest(t, "PUT", server.URL, opaque{strings.NewReader("body")})
		req.ContentLength = length
		req.Header.Set("Expect", "100-continue")
		status, body, err := send(t, newTransport(t, transport, quick()), req)
		if status != 200 || body != "body" || err != nil || hits.Load() != 2 {
			t.Errorf("length %d: %d %q, %v, %d hits", length, status, body, err, hits.Load())
		}
	}
}

// C02: a server that answers before it has read a body of 2 MiB, while the
// transport is still writing it.
func TestBodyRace(t *testing.T) {
	content := bytes.Repeat([]byte("abcdefgh"), 256<<10)
	sum := sha256.Sum256(content)
	for _, withGetBody := range []bool{true, false} {
		var mu sync.Mutex
		failed := map[string]bool{}
		server, transport := newServer(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			again := failed[r.URL.Path]
			failed[r.URL.Path] = true
			mu.Unlock()
			if !again {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			b, err := io.ReadAll(r.Body)
			if err != nil {
				return // of an attempt whose connection broke
			}
			if sha256.Sum256(b) != sum {
				t.Errorf("%s: accepted %d bytes with another sum", r.URL.Path, len(b))
			}
		})
		p := quick()
		p.Attempts = 6 // a write to the connection that is being closed may fail
		rt := newTransport(t, transport, p, rationhttp.WithBodyLimit(8<<20))
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				var body io.Reader = bytes.NewReader(content)
				if !withGetBody {
					body = opaque{body}
				}
				req := newRequest(t, "POST", fmt.Sprintf("%s/%d", server.URL, i), body)
				req.ContentLength = int64(len(content))
				req.Header.Set("Idempotency-Key", "k")
				resp, err := rt.RoundTrip(req)
				if err != nil {
					t.Errorf("call %d: %v", i, err)
					return
				}
				resp.Body.Close()
				if resp.StatusCode != 200 {
					t.Errorf("call %d: status %d", i, resp.StatusCode)
				}
			})
		}
		wg.Wait()
	}
}
