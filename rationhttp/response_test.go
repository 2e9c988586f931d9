package rationhttp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/internal/memhttp"
	"github.com/ration-go/ration/rationhttp"
)

// C03: superseded responses are closed before the wait, and the caller owns the
// one that is left.
func TestSupersededClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := newScript(steps(503, 503, 503, 503, 503, 200)...)
		r := &recorder{}
		p := plain()
		p.Attempts, p.OnEvent = 6, r.hear
		resp, err := newTransport(t, base, p).RoundTrip(get(t))
		if err != nil || resp.StatusCode != 200 || base.unclosed() != 1 {
			t.Fatalf("response %v, error %v, %d open", resp, err, base.unclosed())
		}
		for i, s := range base.requests() {
			if s.open != 0 {
				t.Errorf("attempt %d began with %d open bodies", i+1, s.open)
			}
		}
		resp.Body.Close()
		if base.unclosed() != 0 {
			t.Errorf("%d open after the caller's Close", base.unclosed())
		}
	})
	for name, change := range map[string]func(*ration.Policy){
		"wait": func(p *ration.Policy) {
			p.Backoff = ration.Backoff{Transient: time.Second, Jitter: ration.NoJitter}
		},
		"pause": func(p *ration.Policy) {
			p.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 1}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			base := newScript(steps(503, 200)...)
			p := plain()
			change(&p)
			rt := newTransport(t, base, p)
			done := make(chan struct{})
			go func() {
				defer close(done)
				rt.RoundTrip(get(t))
			}()
			synctest.Wait()
			select {
			case <-done:
				t.Errorf("%s: over already", name)
			default:
			}
			if base.attempts() != 1 || base.unclosed() != 0 {
				t.Errorf("in the %s: %d attempts, %d open", name, base.attempts(), base.unclosed())
			}
			<-done
		})
	}
}

// twice503 answers each path with two 503s that have bodies, and then with 200.
func twice503(size int) http.HandlerFunc {
	var mu sync.Mutex
	hits := map[string]int{}
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		hits[r.URL.Path]++
		n := hits[r.URL.Path]
		mu.Unlock()
		if n <= 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		io.WriteString(w, strings.Repeat("x", size))
	}
}

// Fifty requests that each meet two 503s with bodies use one connection, and
// leave no goroutine behind. A peer opens 101 connections here and keeps 100.
func TestOneConnection(t *testing.T) {
	for _, size := range []int{10, 2 << 10, 48 << 10} {
		before := runtime.NumGoroutine()
		connections := atomic.Int64{}
		server, transport := newServer(t, twice503(size))
		dial := (&net.Dialer{}).DialContext
		transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			connections.Add(1)
			return dial(ctx, network, addr)
		}
		rt := newTransport(t, transport, quick())
		for i := range 50 {
			req := newRequest(t, "GET", fmt.Sprint(server.URL, "/", i), nil)
			if status, body, err := send(t, rt, req); status != 200 || len(body) != size || err != nil {
				t.Fatalf("call %d: %d, %d bytes, %v", i, status, len(body), err)
			}
		}
		if n := connections.Load(); n != 1 {
			t.Errorf("bodies of %d bytes: %d connections", size, n)
		}
		rt.CloseIdleConnections()
		server.Close()
		settle(t, before)
	}
}

// settle waits until no more goroutines run than before.
func settle(t *testing.T, before int) {
	t.Helper()
	for range 1_000_000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
	}
	buf := make([]byte, 1<<16)
	t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before,
		buf[:runtime.Stack(buf, true)])
}

// Twenty calls at once over a single connection: a peer hangs here, each
// waiting for the connection that the others' superseded responses hold.
func TestConnectionLimit(t *testing.T) {
	for _, opts := range [][]rationhttp.Option{nil, {rationhttp.WithFailingResponse()}} {
		inProtocols(t, twice503(10), func(t *testing.T, s *memhttp.Server) {
			transport := s.Transport()
			transport.MaxConnsPerHost = 1
			rt := newTransport(t, transport, plain(), opts...)
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() {
					req := newRequest(t, "GET", fmt.Sprint(s.URL(), "/", i, opts == nil), nil)
					if status, _, err := send(t, rt, req); status != 200 || err != nil {
						t.Errorf("call %d: %d, %v", i, status, err)
					}
				})
			}
			wg.Wait()
			if n := s.Connections(); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// A body that is too long to drain, or that drips, costs a connection but does
// not hold up the retry.
func TestDrainLimits(t *testing.T) {
	for _, tc := range []struct {
		name  string
		serve func(w http.ResponseWriter, r *http.Request)
	}{
		{"long", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(1<<30))
			w.WriteHeader(503)
			w.Write(make([]byte, 1<<10))
		}},
		{"endless", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(503)
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<10)); err != nil {
					return
				}
			}
		}},
		{"dripping", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(503)
			for r.Context().Err() == nil {
				w.Write([]byte("x"))
				http.NewResponseController(w).Flush()
				time.Sleep(100 * time.Millisecond) // sleep: served in a bubble
			}
		}},
		{"silent", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(503)
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var hits atomic.Int64
			handler := func(w http.ResponseWriter, r *http.Request) {
				if hits.Add(1) == 1 {
					tc.serve(w, r)
				}
			}
			inProtocols(t, handler, func(t *testing.T, s *memhttp.Server) {
				hits.Store(0)
				start := time.Now()
				rt := newTransport(t, s.Transport(), plain())
				if status, _, err := send(t, rt, newRequest(t, "GET", s.URL(), nil)); status != 200 {
					t.Errorf("status %d, error %v", status, err)
				}
				if took := time.Since(start); took > 200*time.Millisecond {
					t.Errorf("the retry came after %v", took)
				}
			})
		})
	}
}

// A body that is declared to be too long to drain is not begun.
func TestNotDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := false
		n := 0
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			if n++; n > 1 {
				return stub(r)
			}
			body := readerFunc(func(p []byte) (int, error) { read = true; return len(p), nil })
			return &http.Response{StatusCode: 503, Body: io.NopCloser(body), ContentLength: 1 << 20}, nil
		})
		if status, _, err := send(t, newTransport(t, base, plain()), get(t)); status != 200 || read {
			t.Errorf("%d, %v, read %t", status, err, read)
		}
	})
}

// C04: the attempt's timer does not touch a body whose bytes flow, however long
// it takes in all and however slowly it is read.
func TestBodyInTime(t *testing.T) {
	const size = 512 << 10
	chunk := make([]byte, size/8)
	handler := func(w http.ResponseWriter, r *http.Request) {
		for range 8 {
			w.Write(chunk)
			http.NewResponseController(w).Flush()
			time.Sleep(9 * time.Second) // sleep: served in a bubble
		}
	}
	inProtocols(t, handler, func(t *testing.T, s *memhttp.Server) {
		rt := newTransport(t, s.Transport(), plain())
		resp, err := rt.RoundTrip(newRequest(t, "GET", s.URL(), nil))
		if err != nil {
			t.Fatal(err)
		}
		var n int
		buf := make([]byte, 20<<10)
		for err == nil {
			var m int
			m, err = resp.Body.Read(buf)
			n += m
			time.Sleep(11 * time.Second) // longer than the attempt timeout
		}
		if n != size || err != io.EOF {
			t.Errorf("%d bytes, then %v", n, err)
		}
		resp.Body.Close()
	})
}

// C04 again on real sockets, since it was a race: a hundred bodies each.
func TestBodyNotCut(t *testing.T) {
	const size = 512 << 10
	server, transport := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Write(make([]byte, size))
	})
	rt := newTransport(t, transport, quick())
	for range 100 {
		_, body, err := send(t, rt, newRequest(t, "GET", server.URL, nil))
		if len(body) != size || err != nil {
			t.Fatalf("%d bytes, error %v", len(body), err)
		}
	}
}

// A body that stalls ends after the attempt timeout, whoever made it wait, and
// with an error that says so.
func TestBodyStalls(t *testing.T) {
	for _, tc := range []struct {
		name   string
		policy ration.Policy
		opt    rationhttp.Option
		want   time.Duration // 0 = never
	}{
		{name: "default", want: 10 * time.Second},
		{name: "attempt timeout", policy: ration.Policy{AttemptTimeout: time.Second}, want: time.Second},
		{name: "no attempt timeout", policy: ration.Policy{AttemptTimeout: ration.NoLimit}},
		{name: "own", opt: rationhttp.WithStallTimeout(time.Minute), want: time.Minute},
		{name: "own, off", opt: rationhttp.WithStallTimeout(ration.NoLimit)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			handler := func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, "some")
				http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}
			inProtocols(t, handler, func(t *testing.T, s *memhttp.Server) {
				p := tc.policy
				p.Deadline = ration.NoLimit
				rt := newTransport(t, s.Transport(), p, tc.opt)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				req := newRequest(t, "GET", s.URL(), nil).WithContext(ctx)
				resp, err := rt.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				time.Sleep(5 * time.Second) // sleep: in a bubble, thinking before the read
				start := time.Now()
				body, err := io.ReadAll(resp.Body)
				took := time.Since(start)
				if string(body) != "some" {
					t.Errorf("read %q", body)
				}
				stalled := errors.Is(err, rationhttp.ErrBodyStalled)
				if tc.want == 0 {
					if stalled || took != time.Hour-5*time.Second || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("ended after %v with %v", took, err)
					}
					return
				}
				var timeout interface{ Timeout() bool }
				if !stalled || !errors.Is(err, context.DeadlineExceeded) ||
					!errors.Is(err, ration.ErrAttemptTimeout) || !errors.As(err, &timeout) ||
					!timeout.Timeout() || took != tc.want {
					t.Errorf("ended after %v with %v", took, err)
				}
			})
		})
	}
}

// A base of one's own stalls too, if it only looks at the context once it
// reads.
func TestBodyStallsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			body := readerFunc(func([]byte) (int, error) {
				<-r.Context().Done()
				return 0, context.Cause(r.Context())
			})
			return &http.Response{StatusCode: 200, Body: io.NopCloser(body)}, nil
		})
		resp, err := newTransport(t, base, plain()).RoundTrip(get(t))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := io.ReadAll(resp.Body); err != rationhttp.ErrBodyStalled ||
			time.Since(start) != 10*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// The attempt's context lives until the body is closed or read to its end, and
// no longer.
func TestContextLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inner context.Context
		for _, end := range []string{"close", "read", "no body", "HEAD", "error"} {
			s := newScript(step{status: 200, body: "body"})
			capture := roundTripper(func(r *http.Request) (*http.Response, error) {
				inner = r.Context()
				inner.Done()
				resp, err := s.RoundTrip(r)
				if end == "no body" {
					resp.Body = http.NoBody
				}
				if end == "HEAD" {
					resp.Body = nil
				}
				if end == "error" {
					return nil, errBase
				}
				return resp, err
			})
			req := get(t)
			resp, err := newTransport(t, capture, plain()).RoundTrip(req)
			if err != nil && end != "error" {
				t.Fatal(err)
			}
			if err == nil && resp.Request != req {
				t.Error("the response names another request than the caller's")
			}
			open := end == "close" || end == "read"
			if ended := inner.Err() != nil; ended == open {
				t.Errorf("%s: before, the context's error is %v", end, inner.Err())
			}
			switch end {
			case "close":
				resp.Body.Close()
			case "read":
				io.ReadAll(resp.Body)
			}
			if inner.Err() != context.Canceled {
				t.Errorf("%s: afterwards, the context's error is %v", end, inner.Err())
			}
		}
	})
}

// A connection that was switched to another protocol can be written to, and be
// silent for as long as it likes.
func TestUpgrade(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(rw, "HTTP/1.1 101 Switching Protocols\r\n"+
			"Connection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		rw.Flush()
		io.Copy(conn, rw.Reader)
	}
	synctest.Test(t, func(t *testing.T) {
		s := memhttp.New(http.HandlerFunc(handler))
		defer s.Close()
		req := newRequest(t, "GET", s.URL(), nil)
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "echo")
		resp, err := newTransport(t, s.Transport(), plain()).RoundTrip(req)
		if err != nil || resp.StatusCode != 101 {
			t.Fatalf("%v, %v", resp, err)
		}
		conn, ok := resp.Body.(io.ReadWriteCloser)
		if !ok {
			t.Fatalf("%T cannot be written to", resp.Body)
		}
		go func() {
			time.Sleep(time.Hour)
			io.WriteString(conn, "ping\n")
		}()
		if line, err := bufio.NewReader(conn).ReadString('\n'); line != "ping\n" || err != nil {
			t.Errorf("read %q, %v", line, err)
		}
		conn.Close()
	})
}
