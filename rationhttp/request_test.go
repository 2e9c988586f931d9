package rationhttp_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

// C12: what may be retried is decided by the method, unless the request says
// more about itself.
func TestRepeatable(t *testing.T) {
	with := func(name string, values ...string) func(*http.Request) *http.Request {
		return func(r *http.Request) *http.Request {
			r.Header[name] = values
			return r
		}
	}
	type declaration func(context.Context) context.Context
	within := func(declare ...declaration) func(*http.Request) *http.Request {
		return func(r *http.Request) *http.Request {
			ctx := r.Context()
			for _, d := range declare {
				ctx = d(ctx)
			}
			return r.WithContext(ctx)
		}
	}
	for _, tc := range []struct {
		name   string
		method string
		edit   func(*http.Request) *http.Request
		want   bool
	}{
		{"get", "GET", nil, true},
		{"no method", "", nil, true},
		{"head", "HEAD", nil, true},
		{"put", "PUT", nil, true},
		{"delete", "DELETE", nil, true},
		{"options", "OPTIONS", nil, true},
		{"trace", "TRACE", nil, true},
		{"post", "POST", nil, false},
		{"patch", "PATCH", nil, false},
		{"connect", "CONNECT", nil, false},
		{"unknown", "PURGE", nil, false},
		{"lower case is another method", "get", nil, false},
		{"keyed post", "POST", with("Idempotency-Key", "k1"), true},
		{"keyed post, other name", "POST", with("X-Idempotency-Key", "k1"), true},
		{"keyed patch", "PATCH", with("Idempotency-Key", "k1"), true},
		{"key that is not sent", "POST", with("Idempotency-Key"), true},
		{"empty key", "POST", with("Idempotency-Key", ""), false},
		{"declared post", "POST", within(rationhttp.Repeatable), true},
		{"declared unknown", "PURGE", within(rationhttp.Repeatable), true},
		{"single-shot get", "GET", within(rationhttp.SingleShot), false},
		{"innermost counts", "POST", within(rationhttp.SingleShot, rationhttp.Repeatable), true},
		{"innermost counts, reverse", "GET", within(rationhttp.Repeatable, rationhttp.SingleShot), false},
		{"single-shot beats a key", "POST", func(r *http.Request) *http.Request {
			r.Header.Set("Idempotency-Key", "k1")
			return r.WithContext(rationhttp.SingleShot(r.Context()))
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := newScript(steps(503)...)
				req := get(t)
				req.Method = tc.method
				if tc.edit != nil {
					req = tc.edit(req)
				}
				status, _, err := send(t, newTransport(t, base, plain()), req)
				if status != 503 || err != nil {
					t.Errorf("status %d, error %v", status, err)
				}
				want, marker := 1, ""
				if tc.want {
					want, marker = 3, "1"
				}
				if n := base.attempts(); n != want {
					t.Errorf("%d attempts, want %d", n, want)
				}
				for i, s := range base.requests() {
					if got := s.header.Get(rationhttp.RetryingHeader); got != marker {
						t.Errorf("attempt %d: marker %q, want %q", i+1, got, marker)
					}
					if key := req.Header.Get("Idempotency-Key"); s.header.Get("Idempotency-Key") != key {
						t.Errorf("attempt %d: key %q, want %q", i+1, s.header.Get("Idempotency-Key"), key)
					}
				}
			})
		})
	}
}

// A request that may not be retried still runs the policy: the breaker sees it,
// and its success funds the retries of others.
func TestSingleAttemptCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget, err := ration.NewBudget(0.5, 0.2) // two tokens
		if err != nil {
			t.Fatal(err)
		}
		base := newScript(steps(503)...)
		rt := newTransport(t, base, ration.Policy{Budget: budget})
		for range 5 {
			send(t, rt, newRequest(t, "POST", "http://a.test/", nil))
		}
		if n := base.attempts(); n != 5 {
			t.Errorf("%d attempts for 5 calls", n)
		}
		if u := budget.Utilization(); u != 0 {
			t.Errorf("single attempts drew on the budget: %v", u)
		}
		if s := rt.Hosts()[0].Breaker.State; s != ration.BreakerOpen {
			t.Errorf("breaker %v after five failures", s)
		}

		base = newScript(append(steps(503, 503, 503), step{status: 200})...)
		rt = newTransport(t, base, ration.Policy{Budget: budget, Breaker: ration.NoBreaker})
		send(t, rt, get(t))
		spent := budget.Utilization()
		send(t, rt, newRequest(t, "POST", "http://a.test/", nil))
		if u := budget.Utilization(); u >= spent || spent == 0 {
			t.Errorf("utilization %v after a success, %v before it", u, spent)
		}
	})
}

// C29: one attempt means one, and carries no marker.
func TestOneAttempt(t *testing.T) {
	p := plain()
	p.Attempts = 1
	base := newScript(steps(503)...)
	send(t, newTransport(t, base, p), get(t))
	if n := base.attempts(); n != 1 {
		t.Errorf("%d attempts", n)
	}
	if h := base.requests()[0].header; h.Get(rationhttp.RetryingHeader) != "" {
		t.Error("a request that could not be retried carries the marker")
	}
}
