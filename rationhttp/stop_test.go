package rationhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// A failure that the library ended as such is an [*ration.Error] whose last
// cause has the status and the header, and the response's body is closed.
func TestStopped(t *testing.T) {
	empty := func(t *testing.T) *ration.Budget {
		b, err := ration.NewBudget(0.1, 0.1) // one token
		if err != nil {
			t.Fatal(err)
		}
		for b.Withdraw(time.Now(), ration.Critical) {
		}
		return b
	}
	for _, tc := range []struct {
		name   string
		policy func(t *testing.T, p *ration.Policy)
		step   step
		reason ration.StopReason
	}{
		{"budget", func(t *testing.T, p *ration.Policy) { p.Budget = empty(t) },
			step{status: 503}, ration.StopBudgetExhausted},
		{"breaker", func(_ *testing.T, p *ration.Policy) {
			p.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 1}
		}, step{status: 503}, ration.StopUnavailable},
		{"deadline", func(*testing.T, *ration.Policy) {},
			step{status: 429, header: "Retry-After: 86400"}, ration.StopDeadlineExceeded},
	} {
		for _, handOver := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%t", tc.name, handOver), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := plain()
					tc.policy(t, &p)
					tc.step.body = "why"
					if tc.step.header == "" {
						tc.step.header = "X-Reason: tired"
					}
					var opts []rationhttp.Option
					if handOver {
						opts = append(opts, rationhttp.WithFailingResponse())
					}
					base := newScript(tc.step)
					rt := newTransport(t, base, p, opts...)
					start := time.Now()
					status, body, err := send(t, rt, newRequest(t, "GET", "http://a.test/secret?q", nil))
					if took := time.Since(start); took > 100*time.Millisecond {
						t.Errorf("took %v", took)
					}
					if base.attempts() != 1 || base.unclosed() != 0 {
						t.Errorf("%d attempts, %d open", base.attempts(), base.unclosed())
					}
					if handOver {
						if status != tc.step.status || body != "why" || err != nil {
							t.Errorf("got %d %q, %v", status, body, err)
						}
						return
					}
					var stop *ration.Error
					var last *rationhttp.StatusError
					if !errors.As(err, &stop) || !errors.As(stop.Last, &last) {
						t.Fatalf("error %v", err)
					}
					name, value, _ := strings.Cut(tc.step.header, ": ")
					if stop.Reason != tc.reason || last.StatusCode != tc.step.status ||
						last.Header.Get(name) != value || last.Method != "GET" || last.Host != "a.test" {
						t.Errorf("stop %v, last %#v with %v", stop.Reason, last, last.Header)
					}
				})
			})
		}
	}
}

// With the option, a response stays in hand until a retry really replaces it.
func TestFailingResponseAfterWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := newScript(step{status: 503, body: "why"})
		p := plain()
		p.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 2}
		p.Backoff = ration.Backoff{Transient: time.Second, Jitter: ration.NoJitter}
		rt := newTransport(t, base, p, rationhttp.WithFailingResponse())
		done := make(chan struct{})
		go func() {
			defer close(done)
			status, body, err := send(t, rt, get(t))
			if status != 503 || body != "why" || err != nil {
				t.Errorf("got %d %q, %v", status, body, err)
			}
		}()
		time.Sleep(500 * time.Millisecond) // another call opens the breaker meanwhile
		send(t, rt, newRequest(t, "POST", "http://a.test/", nil))
		<-done
		if base.attempts() != 2 || base.unclosed() != 0 {
			t.Errorf("%d attempts, %d open", base.attempts(), base.unclosed())
		}
	})
	// Nobody can read a body through a context that is over.
	synctest.Test(t, func(t *testing.T) {
		base := newScript(step{status: 503, body: "why"})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		p := plain()
		p.Backoff = ration.Backoff{Transient: time.Second, Jitter: ration.NoJitter}
		rt := newTransport(t, base, p, rationhttp.WithFailingResponse())
		_, _, err := send(t, rt, get(t).WithContext(ctx))
		if !errors.Is(err, context.Canceled) || base.unclosed() != 0 {
			t.Errorf("error %v, %d open", err, base.unclosed())
		}
	})
}

// Retry-After 86400 does not sleep, nor does an overflow; what can be waited
// for is waited for to the millisecond. C10 and C09.
func TestRetryAfterWaits(t *testing.T) {
	for _, tc := range []struct {
		header string
		want   time.Duration // before the second attempt; 0 = there is none
	}{
		{"86400", 0},
		{"9223372037", 0},
		{"9223372036854775807", 0},
		{"7", 7 * time.Second},
		{"Sat, 01 Jan 2000 00:00:09 GMT", 9 * time.Second}, // a bubble begins then
	} {
		t.Run(tc.header, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				base := newScript(step{status: 429, header: "Retry-After: " + tc.header}, step{status: 200})
				_, _, err := send(t, newTransport(t, base, plain()), get(t))
				if tc.want == 0 {
					var stop *ration.Error
					if !errors.As(err, &stop) || time.Since(start) != 0 || base.attempts() != 1 {
						t.Fatalf("error %v after %v", err, time.Since(start))
					}
					if d, ok := stop.RetryAfter(); !ok || d < 24*time.Hour {
						t.Errorf("the error's hint is %v, %t", d, ok)
					}
					return
				}
				if err != nil || base.requests()[1].at.Sub(start) != tc.want {
					t.Errorf("error %v; waited %v", err, base.requests()[1].at.Sub(start))
				}
			})
		})
	}
	// Without a deadline the policy's maximum caps it.
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p := plain()
		p.Deadline, p.Backoff.Max = ration.NoLimit, time.Minute
		base := newScript(
			step{status: 429, header: "Retry-After: 9223372036854775807"}, step{status: 200})
		send(t, newTransport(t, base, p), get(t))
		if got := base.requests()[1].at.Sub(start); got != time.Minute {
			t.Errorf("waited %v", got)
		}
	})
	// C08: what is no hint is retried after the policy's own wait, never at once.
	for _, field := range []string{"0", "-5", "soon", "1.5", "Fri, 31 Dec 1999 23:59:59 GMT"} {
		for status, want := range map[int]time.Duration{429: time.Second, 503: 100 * time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				p := plain()
				p.Backoff.Jitter = ration.NoJitter
				base := newScript(step{status: status, header: "Retry-After: " + field}, step{status: 200})
				send(t, newTransport(t, base, p), get(t))
				if got := base.requests()[1].at.Sub(start); got != want {
					t.Errorf("%d with %q: waited %v, want %v", status, field, got, want)
				}
			})
		}
	}
}

var errShutdown = errors.New("shutting down")

// Cancellation in each phase ends the call at once, with the caller's cause,
// and leaves nothing open. C06 and C13.
func TestCancel(t *testing.T) {
	for _, tc := range []struct {
		name     string
		at       time.Duration
		step     step
		slow     time.Duration // before the headers
		policy   func(*ration.Policy)
		attempts int
		last     bool // the failure before is in reach
	}{
		{name: "before", at: -1, step: step{status: 503}, attempts: 0},
		{name: "attempt", at: time.Second, slow: time.Minute, step: step{status: 200}, attempts: 1},
		{name: "backoff", at: 20 * time.Millisecond, attempts: 1, last: true,
			step: step{status: 429, header: "Retry-After: 1", body: "busy"}},
		{name: "pause", at: 20 * time.Millisecond, attempts: 1, last: true, step: step{status: 503},
			policy: func(p *ration.Policy) { p.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 1} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := newScript(tc.step)
				slow := roundTripper(func(r *http.Request) (*http.Response, error) {
					if tc.slow > 0 {
						select {
						case <-time.After(tc.slow):
						case <-r.Context().Done():
							base.RoundTrip(r) // counts it
							return nil, context.Cause(r.Context())
						}
					}
					return base.RoundTrip(r)
				})
				p := plain()
				p.AttemptTimeout = ration.NoLimit
				if tc.policy != nil {
					tc.policy(&p)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				if tc.at < 0 {
					cancel(errShutdown)
				} else {
					time.AfterFunc(tc.at, func() { cancel(errShutdown) })
				}
				start := time.Now()
				body := &trackedBody{Reader: strings.NewReader("x")}
				req := newRequest(t, "PUT", "http://a.test/", body).WithContext(ctx)
				_, _, err := send(t, newTransport(t, slow, p), req)
				if took := time.Since(start); took > max(tc.at, 0) {
					t.Errorf("returned after %v", took)
				}
				if tc.name == "pause" { // the refusal stands
					if !errors.Is(err, ration.ErrUnavailable) {
						t.Errorf("error %v", err)
					}
				} else if !errors.Is(err, errShutdown) || !errors.Is(err, context.Canceled) {
					t.Errorf("error %v", err)
				}
				var last *rationhttp.StatusError
				if errors.As(err, &last) != tc.last {
					t.Errorf("error %v, last failure in reach: %t", err, last != nil)
				}
				if base.attempts() != tc.attempts || !body.closed() {
					t.Errorf("%d attempts, request body closed %t", base.attempts(), body.closed())
				}
				if tc.slow == 0 && base.unclosed() != 0 {
					t.Errorf("%d response bodies open", base.unclosed())
				}
			})
		})
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "some")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	inProtocols(t, handler, func(t *testing.T, s *memhttp.Server) {
		ctx, cancel := context.WithCancelCause(t.Context())
		rt := newTransport(t, s.Transport(), plain())
		resp, err := rt.RoundTrip(newRequest(t, "GET", s.URL(), nil).WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { cancel(errShutdown) })
		start := time.Now()
		body, err := io.ReadAll(resp.Body)
		if string(body) != "some" || time.Since(start) != time.Second ||
			!errors.Is(err, errShutdown) && !errors.Is(err, context.Canceled) {
			t.Errorf("read %q, then %v after %v", body, err, time.Since(start))
		}
		resp.Body.Close()
	})
}

// An attempt that takes too long is given up and retried, and is never reported
// as a cancellation: the caller did not cancel.
func TestAttemptTimeout(t *testing.T) {
	var hits atomic.Int64
	handler := func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		<-r.Context().Done()
	}
	check := func(t *testing.T, rt http.RoundTripper, url string) {
		t.Helper()
		start := time.Now()
		_, _, err := send(t, rt, newRequest(t, "GET", url, nil))
		if !errors.Is(err, ration.ErrAttemptTimeout) || !errors.Is(err, context.DeadlineExceeded) ||
			errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(start); took < 3*time.Second || took > 4*time.Second {
			t.Errorf("three attempts of a second took %v", took)
		}
	}
	p := plain()
	p.AttemptTimeout = time.Second
	inProtocols(t, handler, func(t *testing.T, s *memhttp.Server) {
		hits.Store(0)
		check(t, newTransport(t, s.Transport(), p), s.URL())
		if hits.Load() != 3 {
			t.Errorf("%d hits", hits.Load())
		}
	})
	for name, report := range map[string]func(request, derived context.Context) error{
		"err":     func(ctx, _ context.Context) error { return ctx.Err() },
		"cause":   func(ctx, _ context.Context) error { return context.Cause(ctx) },
		"derived": func(_, ctx context.Context) error { return ctx.Err() },
		"own":     func(context.Context, context.Context) error { return errBase },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := roundTripper(func(r *http.Request) (*http.Response, error) {
					derived, cancel := context.WithCancel(r.Context())
					defer cancel()
					<-derived.Done()
					return nil, report(r.Context(), derived)
				})
				check(t, newTransport(t, base, p), "http://a.test/")
			})
		})
	}
	// A response that comes as the timer fires cannot be read any more.
	synctest.Test(t, func(t *testing.T) {
		n := 0
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			if n++; n == 1 {
				<-r.Context().Done()
			}
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		})
		status, _, err := send(t, newTransport(t, base, p), get(t))
		if status != 200 || n != 2 {
			t.Errorf("%d, %v after %d attempts", status, err, n)
		}
	})
	// A base that ignores its context is waited for, and what it brings is used.
	synctest.Test(t, func(t *testing.T) {
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			time.Sleep(2 * time.Second)
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		})
		if status, _, err := send(t, newTransport(t, base, p), get(t)); status != 200 {
			t.Errorf("%d, %v", status, err)
		}
	})
}

// The deadline, of the policy or of the caller, covers the way to the headers,
// and the last failure stays in reach. C14.
func TestDeadline(t *testing.T) {
	for _, own := range []bool{true, false} {
		handler := func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				<-r.Context().Done()
			}
			w.WriteHeader(503)
		}
		inProtocols(t, handler, func(t *testing.T, s *memhttp.Server) {
			p := plain()
			p.Attempts = 1000
			p.AttemptTimeout = ration.NoLimit
			ctx := t.Context()
			if own {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 5*time.Second)
				defer cancel()
			} else {
				p.Deadline = 5 * time.Second
			}
			rt := newTransport(t, s.Transport(), p)
			for _, path := range []string{"/", "/slow"} {
				start := time.Now()
				_, _, err := send(t, rt, newRequest(t, "GET", s.URL()+path, nil).WithContext(ctx))
				if !errors.Is(err, ration.ErrDeadlineExceeded) || !errors.Is(err, context.DeadlineExceeded) ||
					time.Since(start) > 5*time.Second {
					t.Errorf("%s: %v after %v", path, err, time.Since(start))
				}
				var last *rationhttp.StatusError
				if path == "/" && !errors.As(err, &last) {
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	}
}

// C25: the deadline may pass at any moment between and within attempts.
func TestDeadlineSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(10 * time.Millisecond)
			w.WriteHeader(503)
		}))
		defer s.Close()
		p := plain()
		p.Attempts = 1000
		p.Backoff = ration.Backoff{Transient: 10 * time.Millisecond, Factor: 1, Jitter: ration.NoJitter}
		rt := newTransport(t, s.Transport(), p)
		for d := time.Duration(0); d <= 60*time.Millisecond; d += 250 * time.Microsecond {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			start := time.Now()
			_, _, err := send(t, rt, newRequest(t, "GET", s.URL(), nil).WithContext(ctx))
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > d {
				t.Errorf("deadline %v: %v after %v", d, err, time.Since(start))
			}
			cancel()
		}
	})
}

// C18: callers who go away are no evidence against the server.
func TestCallersGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := true
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			if hang {
				<-r.Context().Done()
				return nil, context.Cause(r.Context())
			}
			return &http.Response{StatusCode: 503, Body: http.NoBody}, nil
		})
		rt := newTransport(t, base, ration.Policy{Budget: ration.NoBudget})
		for i := range 100 {
			ctx, cancel := context.WithCancel(t.Context())
			if i%2 == 0 {
				ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
			}
			time.AfterFunc(time.Millisecond, cancel)
			send(t, rt, get(t).WithContext(ctx))
		}
		if s := rt.Hosts()[0].Breaker.State; s != ration.BreakerClosed {
			t.Errorf("breaker %v after calls that their callers gave up", s)
		}
		hang = false
		for range 2 {
			send(t, rt, get(t))
		}
		if s := rt.Hosts()[0].Breaker.State; s != ration.BreakerOpen {
			t.Errorf("breaker %v after five failures", s)
		}
	})
}

// The timeout of a client is a deadline like any other.
func TestClientTimeout(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			<-r.Context().Done()
		}
		w.WriteHeader(503)
	}
	inProtocols(t, handler, func(t *testing.T, s *memhttp.Server) {
		p := plain()
		p.Attempts = 1000
		client := &http.Client{Transport: newTransport(t, s.Transport(), p), Timeout: time.Second}
		for _, path := range []string{"/", "/hang"} {
			start := time.Now()
			_, err := client.Get(s.URL() + path)
			var timeout interface{ Timeout() bool }
			if !errors.As(err, &timeout) || !timeout.Timeout() || time.Since(start) > time.Second {
				t.Errorf("%s: %v after %v", path, err, time.Since(start))
			}
		}
	})
}

// Whatever ends a call, on real sockets: no goroutine stays behind. C05.
func TestNothingLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	server, transport := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ok":
			io.WriteString(w, "ok")
		case "/stall":
			io.WriteString(w, "some")
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case "/hang":
			<-r.Context().Done()
		default:
			http.Error(w, "busy", http.StatusServiceUnavailable)
		}
	})
	p := quick()
	p.AttemptTimeout = 5 * time.Millisecond
	rt := newTransport(t, transport, p)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			path := []string{"/ok", "/fail", "/hang", "/stall"}[i%4]
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%8 >= 4 {
				time.AfterFunc(time.Duration(i%16)*time.Millisecond, cancel)
			}
			resp, err := rt.RoundTrip(newRequest(t, "GET", server.URL+path, nil).WithContext(ctx))
			if err == nil {
				io.Copy(io.Discard, resp.Body)
				if i%3 > 0 { // a body that was read to its end or failed needs no Close
					resp.Body.Close()
				}
			}
		})
	}
	wg.Wait()
	rt.CloseIdleConnections()
	server.Close()
	settle(t, before)
}
