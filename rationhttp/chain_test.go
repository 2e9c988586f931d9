package rationhttp_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/internal/memhttp"
	"github.com/ration-go/ration/rationhttp"
)

// A hop is a service in a chain: it answers with what the next one answers.
type hop struct {
	events recorder
	hits   atomic.Int64
	server *memhttp.Server
}

// newHop starts a service that calls next under p.
func newHop(
	t *testing.T, next *hop, p ration.Policy, breakLoops bool, status int,
) *hop {
	h := &hop{}
	p.OnEvent = h.events.hear
	var opts []rationhttp.Option
	var middleware []rationhttp.MiddlewareOption
	if breakLoops {
		opts = append(opts, rationhttp.ObeyBrokenLoops())
		middleware = append(middleware, rationhttp.BreakLoops())
	}
	var rt http.RoundTripper
	if next != nil {
		rt = newTransport(t, next.server.Transport(), p, opts...)
	}
	h.server = memhttp.New(rationhttp.Middleware(middleware...)(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			h.hits.Add(1)
			if next == nil {
				if ration.IsNestedRetry(r.Context()) != (r.Header.Get(rationhttp.RetryingHeader) == "1") {
					t.Error("the marker and the context disagree")
				}
				w.WriteHeader(status)
				return
			}
			req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, next.server.URL(), nil)
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := rt.RoundTrip(req)
			if err != nil {
				if !rationhttp.WriteError(w, r, err) {
					w.WriteHeader(http.StatusBadGateway)
				}
				return
			}
			resp.Body.Close()
			w.WriteHeader(resp.StatusCode)
		})))
	return h
}

// C26: A calls B calls C, which always fails. Each of A and B makes three
// attempts: nine arrive, and B reports that it retries within A's retries, from
// the first attempt on. With the loop broken, B's three are all.
func TestNestedChain(t *testing.T) {
	for _, tc := range []struct {
		breakLoops bool
		hits       int64
		reports    int // of B
		attempts   int // of A
	}{{false, 9, 3, 3}, {true, 3, 1, 1}} {
		t.Run(fmt.Sprint(tc.breakLoops), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newHop(t, nil, plain(), tc.breakLoops, 503)
				b := newHop(t, c, plain(), tc.breakLoops, 0)
				a := newHop(t, b, plain(), tc.breakLoops, 0)
				defer func() {
					for _, h := range []*hop{a, b, c} {
						h.server.Close()
					}
				}()
				resp, err := a.server.Client().Get(a.server.URL())
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if resp.StatusCode != 503 || c.hits.Load() != tc.hits {
					t.Errorf("status %d after %d hits, want %d", resp.StatusCode, c.hits.Load(), tc.hits)
				}
				if n := b.events.count(ration.EventNestedRetry); n != tc.reports {
					t.Errorf("B reported %d nested retries, want %d", n, tc.reports)
				}
				if n := a.events.count(ration.EventNestedRetry); n != 0 {
					t.Errorf("A, at the top, reported %d", n)
				}
				if n := a.events.count(ration.EventAttempt); n != tc.attempts {
					t.Errorf("A made %d attempts, want %d", n, tc.attempts)
				}
			})
		})
	}
}

// A chain of any depth is broken at its bottom: the word travels up through
// services that have nothing of their own to give up.
func TestBrokenLoopTravels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hops := []*hop{newHop(t, nil, plain(), true, 503)}
		for range 6 {
			hops = append(hops, newHop(t, hops[len(hops)-1], plain(), true, 0))
		}
		top := hops[len(hops)-1]
		resp, err := top.server.Client().Get(top.server.URL())
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if n := hops[0].hits.Load(); n != 3 {
			t.Errorf("%d hits at the bottom of seven", n)
		}
		for _, h := range hops {
			h.server.Close()
		}
	})
}

// The breaker and the budget refuse too, and that is said as well.
func TestRefusalTravels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newHop(t, nil, plain(), true, 503)
		p := plain()
		p.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 1}
		b := newHop(t, c, p, true, 0)
		a := newHop(t, b, plain(), true, 0)
		for range 5 {
			resp, err := a.server.Client().Get(a.server.URL())
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		if c.hits.Load() != 1 || b.hits.Load() != 5 {
			t.Errorf("%d hits at C, %d at B", c.hits.Load(), b.hits.Load())
		}
		for _, h := range []*hop{a, b, c} {
			h.server.Close()
		}
	})
}

// Without the opt-in the header is a header like any other.
func TestBrokenLoopNotObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for header, opts := range map[string][]rationhttp.Option{
			"X-Ration-Retry: never": nil,
			"X-Ration-Retry: 1":     {rationhttp.ObeyBrokenLoops()},
			"X-Other: never":        {rationhttp.ObeyBrokenLoops()},
		} {
			base := newScript(step{status: 503, header: header})
			send(t, newTransport(t, base, plain(), opts...), get(t))
			if base.attempts() != 3 {
				t.Errorf("%s: %d attempts", header, base.attempts())
			}
		}
		base := newScript(step{status: 503, header: "X-Ration-Retry: never", body: "why"})
		r := &recorder{}
		p := ration.Policy{OnEvent: r.hear, Breaker: &ration.BreakerSettings{ConsecutiveFailures: 1}}
		rt := newTransport(t, base, p, rationhttp.ObeyBrokenLoops())
		status, body, err := send(t, rt, get(t))
		if status != 503 || body != "why" || err != nil || base.attempts() != 1 || base.unclosed() != 0 {
			t.Errorf("%d %q, %v after %d attempts", status, body, err, base.attempts())
		}
		if s := rt.Hosts()[0].Breaker.State; s != ration.BreakerOpen {
			t.Errorf("a failure that is passed through is a failure, but the breaker is %v", s)
		}
	})
}
