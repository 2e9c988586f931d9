package memhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var protocols = []struct {
	name  string
	major int
	start func(http.Handler) *Server
}{
	{"HTTP1", 1, New},
	{"HTTP2", 2, NewHTTP2},
}

// inBubbles runs a test over each protocol, each in a bubble of its own.
func inBubbles(t *testing.T, h http.Handler, test func(t *testing.T, s *Server)) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := p.start(h)
				defer s.Close()
				test(t, s)
			})
		})
	}
}

func get(t *testing.T, c *http.Client, url string) (status int, body string) {
	t.Helper()
	res, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func TestServer(t *testing.T) {
	for _, p := range protocols {
		s := p.start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "%d %s%s", r.ProtoMajor, r.Host, r.URL.Path)
		}))
		defer s.Close()
		for _, host := range []string{s.URL(), "http://other.test", "http://other.test:8080"} {
			status, body := get(t, s.Client(), host+"/x")
			want := fmt.Sprintf("%d %s/x", p.major, strings.TrimPrefix(host, "http://"))
			if status != http.StatusOK || body != want {
				t.Errorf("%s: %s: %d %q, want %q", p.name, host, status, body, want)
			}
		}
		if s.Client().Transport != http.RoundTripper(s.Transport()) {
			t.Errorf("%s: the client has a transport of its own", p.name)
		}
	}
}

// TestRetryAfter obeys a server that asks for patience, twelve minutes in all.
//
// sleep: in the bubble of inBubbles
func TestRetryAfter(t *testing.T) {
	var calls int
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls%7 != 0 {
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, "not yet")
			return
		}
		io.WriteString(w, "now")
	})
	inBubbles(t, h, func(t *testing.T, s *Server) {
		start := time.Now()
		for {
			res, err := s.Client().Get(s.URL())
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				break
			}
			seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(seconds) * time.Second)
		}
		if got := time.Since(start); got != 12*time.Minute {
			t.Errorf("took %v, want 12m", got)
		}
		if got := s.Connections(); got != 1 {
			t.Errorf("%d connections for 7 requests, want 1", got)
		}
	})
}

// TestCounts tells a client that leaks response bodies from one that does not,
// over HTTP/1.1: HTTP/2 needs one connection either way.
func TestCounts(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("body")) })
	synctest.Test(t, func(t *testing.T) {
		s := New(h)
		defer s.Close()
		check := func(when string, connections, open int) {
			t.Helper()
			if c, o := s.Connections(), s.Open(); c != connections || o != open {
				t.Errorf("%s: %d connections, %d open, want %d and %d", when, c, o, connections, open)
			}
		}
		check("at first", 0, 0)
		for range 10 {
			get(t, s.Client(), s.URL())
		}
		check("idle", 1, 1)
		s.Transport().CloseIdleConnections()
		check("closed", 1, 0)
		var leaked []io.Closer
		for range 5 {
			res, err := s.Client().Get(s.URL())
			if err != nil {
				t.Fatal(err)
			}
			leaked = append(leaked, res.Body)
		}
		s.Transport().CloseIdleConnections()
		check("leaking", 6, 5)
		for _, body := range leaked {
			body.Close()
		}
		synctest.Wait()
		s.Transport().CloseIdleConnections()
		check("in the end", 6, 0)
		get(t, s.Client(), s.URL())
		s.Close()
		check("closed by the server", 7, 0)
	})
}

// TestEarlyAnswer refuses an upload without reading it: with an unbuffered pipe
// the client would still be writing.
func TestEarlyAnswer(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	})
	inBubbles(t, h, func(t *testing.T, s *Server) {
		for _, size := range []int{1, capacity, 8 << 20} {
			body := bytes.NewReader(make([]byte, size))
			res, err := s.Client().Post(s.URL(), "application/octet-stream", body)
			if err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
			res.Body.Close()
			if res.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("%d bytes: status %d", size, res.StatusCode)
			}
		}
	})
}

// TestSlowReader takes minutes over a response of more than the buffers hold.
//
// sleep: in the bubble of inBubbles
func TestSlowReader(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcdef"), 32<<10) // 512 KiB
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(want) })
	inBubbles(t, h, func(t *testing.T, s *Server) {
		res, err := s.Client().Get(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var got []byte
		for buf := make([]byte, 10_000); err == nil; {
			var n int
			n, err = res.Body.Read(buf)
			got = append(got, buf[:n]...)
			time.Sleep(time.Second)
		}
		if err != io.EOF || !bytes.Equal(got, want) {
			t.Errorf("%d bytes of %d, error %v", len(got), len(want), err)
		}
	})
}

// TestDialogue sends and receives on one request in turn.
func TestDialogue(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).EnableFullDuplex() // HTTP/2 always is
		buf := make([]byte, 1)
		for {
			if _, err := r.Body.Read(buf); err != nil {
				return
			}
			w.Write(bytes.ToUpper(buf))
			w.(http.Flusher).Flush()
		}
	})
	inBubbles(t, h, func(t *testing.T, s *Server) {
		in, out := io.Pipe()
		go io.WriteString(out, "a")
		res, err := s.Client().Post(s.URL(), "text/plain", in)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		buf := make([]byte, 1)
		io.ReadFull(res.Body, buf)
		got := string(buf)
		for _, c := range []string{"b", "c"} {
			io.WriteString(out, c)
			io.ReadFull(res.Body, buf)
			got += string(buf)
		}
		out.Close()
		if got != "ABC" {
			t.Errorf("got %q", got)
		}
	})
}

// TestClientGivesUp ends the server's context at the moment of the client's.
func TestClientGivesUp(t *testing.T) {
	noticed := make(map[string]time.Duration)
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		start := time.Now()
		<-r.Context().Done()
		noticed[r.URL.Path] = time.Since(start)
	})
	inBubbles(t, h, func(t *testing.T, s *Server) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/"+t.Name(), nil)
		if _, err := s.Client().Do(req); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		s.Close()
		if got := noticed[req.URL.Path]; got != 3*time.Minute {
			t.Errorf("the handler noticed after %v, want 3m", got)
		}
	})
}

// TestClose breaks what is under way, waits for handlers that take their time,
// and refuses what comes later.
func TestClose(t *testing.T) {
	var mu sync.Mutex
	returned := make(map[string]int)
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		time.Sleep(time.Minute) // sleep: in the bubble of inBubbles
		mu.Lock()
		returned[r.URL.Path]++
		mu.Unlock()
	})
	inBubbles(t, h, func(t *testing.T, s *Server) {
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if res, err := s.Client().Get(s.URL() + "/" + t.Name()); err == nil {
					t.Error("no error from a server that was closed")
					res.Body.Close()
				}
			})
		}
		synctest.Wait()
		s.Close()
		if got := returned["/"+t.Name()]; got != 3 {
			t.Errorf("Close returned with %d of 3 handlers done", got)
		}
		wg.Wait()
		s.Close()
		if _, err := s.Client().Get(s.URL()); !errors.Is(err, errRefused) {
			t.Errorf("after Close: %v, want %v", err, errRefused)
		}
		if got := s.Open(); got != 0 {
			t.Errorf("%d connections open after Close", got)
		}
	})
}

// TestCloseWhileDialing closes while connections are being made. One that was
// forgotten would leave goroutines blocked, which fails the bubble.
func TestCloseWhileDialing(t *testing.T) {
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			s := New(h)
			for range 4 {
				go func() {
					if res, err := s.Client().Get(s.URL()); err == nil {
						res.Body.Close()
					}
				}()
			}
			runtime.Gosched()
			s.Close()
		})
	}
}

// TestCloseOutsideBubbles counts goroutines, as nobody else does there.
func TestCloseOutsideBubbles(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, p := range protocols {
		s := p.start(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Write([]byte("body"))
		}))
		clone := &http.Client{Transport: s.Transport().Clone()}
		for range 3 {
			get(t, s.Client(), s.URL())
			get(t, clone, s.URL())
		}
		if got := s.Connections(); got != 2 {
			t.Errorf("%s: %d connections for two transports", p.name, got)
		}
		s.Close()
	}
	// Those of the clients end soon after; the deadline of the test is the limit.
	for runtime.NumGoroutine() > before {
		runtime.Gosched()
	}
}

func TestHijack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			c.Close() // without a word
		}))
		defer s.Close()
		if _, err := s.Client().Get(s.URL()); !errors.Is(err, io.EOF) {
			t.Errorf("error %v, want %v", err, io.EOF)
		}
	})
}

// A dial that nobody accepts ends with its context.
func TestDialCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		l := newListener()
		if _, err := l.dial(ctx, "tcp", "x"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if total, open := l.counts(); total != 0 || open != 0 {
			t.Errorf("%d connections, %d open", total, open)
		}
	})
}

func TestConcurrentRequests(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Second) // sleep: in the bubble of inBubbles
		io.Copy(w, r.Body)
	})
	inBubbles(t, h, func(t *testing.T, s *Server) {
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				want := strings.Repeat(strconv.Itoa(i), 1000)
				res, err := s.Client().Post(s.URL(), "text/plain", strings.NewReader(want))
				if err != nil {
					t.Error(err)
					return
				}
				defer res.Body.Close()
				if got, err := io.ReadAll(res.Body); err != nil || string(got) != want {
					t.Errorf("%d: %d bytes, error %v", i, len(got), err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v, want 1s: all at once", took)
		}
	})
}
