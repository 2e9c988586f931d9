package rationhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

var errBase = errors.New("the base failed")

// C28: a response or an error, never both and never neither.
func TestContract(t *testing.T) {
	t.Run("attempts end on a failing response", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			base := newScript(steps(503)...)
			client := &http.Client{Transport: newTransport(t, base, plain())}
			resp, err := client.Get("http://a.test/")
			if err != nil || resp.StatusCode != 503 {
				t.Fatalf("%v, %v", resp, err)
			}
			body, err := io.ReadAll(resp.Body)
			if string(body) != "Service Unavailable" || err != nil {
				t.Errorf("body %q, %v", body, err)
			}
			resp.Body.Close()
			if base.attempts() != 3 || base.unclosed() != 0 {
				t.Errorf("%d attempts, %d open", base.attempts(), base.unclosed())
			}
		})
	})
	for _, tc := range []struct {
		name string
		err  error
		want int
	}{
		{"unknown error", errBase, 1},
		{"transient error", syscall.ECONNRESET, 3},
		{"marked error", ration.Transient(errBase), 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := newScript(step{err: tc.err})
				_, err := newTransport(t, base, plain()).RoundTrip(get(t))
				if err != tc.err || base.attempts() != tc.want {
					t.Errorf("error %v, %d attempts, want the base's own after %d", err, base.attempts(), tc.want)
				}
			})
		})
	}
	t.Run("neither", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			base := roundTripper(func(*http.Request) (*http.Response, error) { n++; return nil, nil })
			p := ration.Policy{Breaker: &ration.BreakerSettings{ConsecutiveFailures: 3}}
			rt := newTransport(t, base, p)
			_, _, err := send(t, rt, get(t))
			if err == nil || !strings.HasPrefix(err.Error(), "rationhttp: ") || n != 3 {
				t.Errorf("%d attempts, error %v", n, err)
			}
			if s := rt.Hosts()[0].Breaker.State; s != ration.BreakerOpen {
				t.Errorf("breaker %v", s)
			}
		})
	})
	t.Run("both", func(t *testing.T) {
		body := &trackedBody{Reader: strings.NewReader("")}
		base := roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: body}, errBase
		})
		_, _, err := send(t, newTransport(t, base, plain()), get(t))
		if err != errBase || !body.closed() {
			t.Errorf("error %v, body closed %t", err, body.closed())
		}
	})
	t.Run("no URL", func(t *testing.T) {
		rt := newTransport(t, &http.Transport{}, plain())
		body := &trackedBody{Reader: strings.NewReader("")}
		_, _, err := send(t, rt, &http.Request{Body: body, Header: http.Header{}})
		if err == nil || !body.closed() {
			t.Errorf("error %v, body closed %t", err, body.closed())
		}
	})
	t.Run("no header", func(t *testing.T) {
		base := newScript(steps(200)...)
		req := get(t)
		req.Header = nil
		send(t, newTransport(t, base, plain()), req)
		send(t, newTransport(t, base, plain()), req.WithContext(rationhttp.SingleShot(t.Context())))
		for _, s := range base.requests() {
			if s.req.Header == nil {
				t.Error("the base was given no header")
			}
		}
	})
}

// The caller's request is not touched, by any option.
func TestRequestUntouched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		req := newRequest(t, "PUT", "http://A.test/p?q=1", opaque{strings.NewReader("x")})
		req.Header.Set("A", "1")
		req.Trailer = http.Header{"T": nil}
		before, header := *req, req.Header.Clone()
		// A base that sets what it may not does not reach the caller's header.
		base := newScript(steps(503)...)
		careless := roundTripper(func(r *http.Request) (*http.Response, error) {
			r.Header.Set("A", "2")
			return base.RoundTrip(r)
		})
		rt := newTransport(t, careless, plain(), rationhttp.WithDeadlineHeader(),
			rationhttp.WithCriticalityHeader(), rationhttp.ObeyBrokenLoops())
		send(t, rt, req)
		after := *req
		if !reflect.DeepEqual(req.Header, header) {
			t.Errorf("header %v, before %v", req.Header, header)
		}
		before.Header, after.Header = nil, nil
		before.GetBody, after.GetBody = nil, nil
		if !reflect.DeepEqual(before, after) {
			t.Errorf("request %+v, before %+v", after, before)
		}
	})
}

// A panic of the base passes through, and leaves neither body nor context
// behind.
func TestPanic(t *testing.T) {
	for _, length := range []int64{1, -1} {
		synctest.Test(t, func(t *testing.T) {
			var inner context.Context
			base := newScript(steps(503)...)
			n := 0
			panics := roundTripper(func(r *http.Request) (*http.Response, error) {
				if n++; n == 2 {
					inner = r.Context()
					inner.Done()
					panic("boom")
				}
				return base.RoundTrip(r)
			})
			body := &trackedBody{Reader: strings.NewReader("x")}
			req := newRequest(t, "PUT", "http://a.test/", body)
			req.ContentLength = length
			r := &recorder{}
			p := plain()
			p.OnEvent = r.hear
			func() {
				defer func() {
					if got := recover(); got != "boom" {
						t.Errorf("recovered %v", got)
					}
				}()
				newTransport(t, panics, p).RoundTrip(req)
			}()
			if !body.closed() || base.unclosed() != 0 || inner.Err() == nil {
				t.Errorf("body closed %t, %d responses open, context %v",
					body.closed(), base.unclosed(), inner.Err())
			}
			if ev := r.last(t); ev.Kind != ration.EventAbandoned {
				t.Errorf("last event %v", ev.Kind)
			}
		})
	}
}

// C35: calls at once do not end each other, and each has its own context
// values.
func TestCallsApart(t *testing.T) {
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			if got := fmt.Sprint("/", r.Context().Value(key{})); got != r.URL.Path {
				t.Errorf("%s has the context of %s", r.URL.Path, got)
			}
			select {
			case <-time.After(time.Second):
				return stub(r)
			case <-r.Context().Done():
				return nil, context.Cause(r.Context())
			}
		})
		rt := newTransport(t, base, plain())
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, i))
				defer cancel()
				if i%2 == 0 {
					time.AfterFunc(time.Duration(i)*time.Millisecond, cancel)
				}
				req := newRequest(t, "GET", fmt.Sprint("http://a.test/", i), nil).WithContext(ctx)
				_, _, err := send(t, rt, req)
				if errors.Is(err, context.Canceled) != (i%2 == 0) {
					t.Errorf("call %d: %v", i, err)
				}
			})
		}
		wg.Wait()
	})
}

// C21: a drained budget comes back with successes.
func TestBudgetRefills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing := true
		n := 0
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			n++
			if failing {
				return &http.Response{StatusCode: 503, Body: http.NoBody}, nil
			}
			return stub(r)
		})
		rt := newTransport(t, base, ration.Policy{Breaker: ration.NoBreaker, Backoff: ration.NoBackoff})
		call := func() error {
			_, _, err := send(t, rt, get(t))
			return err
		}
		for !errors.Is(call(), ration.ErrBudgetExhausted) {
		}
		failing = false
		for range 1000 {
			call()
		}
		failing, n = true, 0
		if call(); n != 3 {
			t.Errorf("%d attempts after a thousand successes", n)
		}
	})
}

// Everything that is wrong is said at once.
func TestNewTransportRefuses(t *testing.T) {
	_, err := rationhttp.NewTransport(nil, ration.Policy{Attempts: -1, Deadline: -5},
		nil, rationhttp.WithBodyLimit(-1), rationhttp.WithStallTimeout(0), rationhttp.WithExecutor(nil),
		rationhttp.WithLimiter(nil), rationhttp.WithReservation(nil))
	var config *ration.ConfigError
	if !errors.As(err, &config) || len(config.Problems) != 2 {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{
		"WithBodyLimit", "WithStallTimeout", "WithExecutor", "WithLimiter", "WithReservation",
	} {
		if !strings.Contains(err.Error(), "rationhttp: "+want) {
			t.Errorf("nothing about %s in %v", want, err)
		}
	}
	if c, err := rationhttp.NewClient(ration.Policy{Attempts: -1}); err == nil || c != nil {
		t.Errorf("client %v, error %v", c, err)
	}
}

// A shared executor brings its policy, breaker or none, and may change.
func TestWithExecutor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := ration.MustNew(ration.Policy{Attempts: 2})
		base := newScript(steps(503)...)
		rt := newTransport(t, base, ration.Policy{Attempts: 7}, nil, rationhttp.WithExecutor(e))
		send(t, rt, get(t))
		if base.attempts() != 2 || rt.Hosts()[0].Breaker.State != ration.BreakerOff ||
			rt.Executor() != e {
			t.Errorf("%d attempts, hosts %v", base.attempts(), rt.Hosts())
		}
		if err := e.Update(ration.Policy{Attempts: 4}); err != nil {
			t.Fatal(err)
		}
		send(t, rt, get(t))
		if base.attempts() != 6 {
			t.Errorf("%d attempts after the update", base.attempts()-2)
		}
	})
}
