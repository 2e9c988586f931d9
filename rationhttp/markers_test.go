package rationhttp_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

// Header names must be canonical where they are written into a map.
func TestHeaderNames(t *testing.T) {
	for _, name := range []string{
		rationhttp.DeadlineHeader, rationhttp.CriticalityHeader, rationhttp.RetryHeader,
	} {
		if http.CanonicalHeaderKey(name) != name {
			t.Errorf("%s is not canonical", name)
		}
	}
}

// C27: headers are set and do not pile up, whatever the request brought, and
// what an inner transport sets for one attempt is not there in the next.
func TestMarkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := newScript(steps(503, 503, 200)...)
		n := 0
		signs := roundTripper(func(r *http.Request) (*http.Response, error) {
			n++
			r = r.Clone(r.Context())
			r.Header.Add("Authorization", "Bearer "+strings.Repeat("i", n))
			return base.RoundTrip(r)
		})
		req := get(t)
		req.Header.Set(rationhttp.RetryingHeader, "1")
		req.Header.Set("X-Other", "kept")
		send(t, newTransport(t, signs, plain()), req)
		for i, s := range base.requests() {
			want := "Bearer " + strings.Repeat("i", i+1)
			if got := s.header["Authorization"]; len(got) != 1 || got[0] != want {
				t.Errorf("attempt %d: Authorization %q", i+1, got)
			}
			if got := s.header.Values(rationhttp.RetryingHeader); len(got) != 1 || got[0] != "1" {
				t.Errorf("attempt %d: marker %q", i+1, got)
			}
			if len(s.header) != 3 || s.header.Get("X-Other") != "kept" {
				t.Errorf("attempt %d: header %v", i+1, s.header)
			}
		}
	})
}

func TestDeadlineHeader(t *testing.T) {
	for _, tc := range []struct {
		name   string
		policy func(*ration.Policy)
		ctx    time.Duration // 0 = no deadline of the caller's
		slow   time.Duration // of each attempt
		wait   time.Duration
		want   []string // of each attempt; "" = none
	}{
		{"attempt timeout", nil, 0, 0, time.Second, []string{"10000", "10000", "10000"}},
		{"what is left", func(p *ration.Policy) { p.AttemptTimeout = ration.NoLimit }, 0, 0,
			1500 * time.Microsecond, []string{"30000", "29998", "29997"}},
		{"the caller's", nil, 2500 * time.Millisecond, 0, time.Second, []string{"2500", "1500", "500"}},
		{"at least one", nil, 100 * time.Microsecond, 0, 10 * time.Microsecond, []string{"1", "1", "1"}},
		{"none", func(p *ration.Policy) {
			p.AttemptTimeout, p.Deadline = ration.NoLimit, ration.NoLimit
		}, 0, 0, time.Second, []string{"", "", ""}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := plain()
				p.Backoff = ration.Backoff{Transient: tc.wait, Factor: 1, Jitter: ration.NoJitter}
				if tc.policy != nil {
					tc.policy(&p)
				}
				ctx := t.Context()
				if tc.ctx > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.ctx)
					defer cancel()
				}
				base := newScript(steps(503)...)
				req := get(t).WithContext(ctx)
				send(t, newTransport(t, base, p, rationhttp.WithDeadlineHeader()), req)
				for i, s := range base.requests() {
					if got := s.header.Get(rationhttp.DeadlineHeader); got != tc.want[i] {
						t.Errorf("attempt %d: %q, want %q", i+1, got, tc.want[i])
					}
				}
				if base.attempts() != len(tc.want) {
					t.Errorf("%d attempts", base.attempts())
				}
			})
		})
	}
}

// The level is the same on each attempt, is sent for unlabelled calls too, and
// replaces what the caller set. A single attempt carries it as well.
func TestCriticalityHeader(t *testing.T) {
	for level, want := range map[ration.Criticality]string{
		ration.Sheddable: "Sheddable", ration.Critical: "Critical", ration.CriticalPlus: "CriticalPlus",
	} {
		for _, method := range []string{"GET", "POST"} {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if level != ration.Critical {
					ctx = ration.WithCriticality(ctx, level)
				}
				base := newScript(steps(503)...)
				req := newRequest(t, method, "http://a.test/", nil).WithContext(ctx)
				req.Header.Set(rationhttp.CriticalityHeader, "Sheddable")
				send(t, newTransport(t, base, plain(), rationhttp.WithCriticalityHeader()), req)
				for i, s := range base.requests() {
					if got := s.header.Values(rationhttp.CriticalityHeader); len(got) != 1 || got[0] != want {
						t.Errorf("%s, attempt %d: %q, want %q", method, i+1, got, want)
					}
				}
			})
		}
	}
}

// Nothing is sent unless it was asked for.
func TestHeadersByOption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := newScript(steps(200)...)
		ctx := ration.WithCriticality(t.Context(), ration.Sheddable)
		send(t, newTransport(t, base, plain()), get(t).WithContext(ctx))
		if h := base.requests()[0].header; len(h) != 1 {
			t.Errorf("header %v", h)
		}
	})
}

// A call that retries inside something that retries says so once, before it is
// admitted: under a marked context, behind a marked request, within an outer
// transport's attempt. One that could not be retried has nothing to say.
func TestNestedRetry(t *testing.T) {
	for _, tc := range []struct {
		name   string
		method string
		edit   func(*http.Request) *http.Request
		want   int
	}{
		{"plain", "GET", nil, 0},
		{"context", "GET", func(r *http.Request) *http.Request {
			return r.WithContext(ration.WithNestedRetry(r.Context()))
		}, 1},
		{"request", "GET", func(r *http.Request) *http.Request {
			r.Header.Set(rationhttp.RetryingHeader, "1")
			return r
		}, 1},
		{"request with another value", "GET", func(r *http.Request) *http.Request {
			r.Header.Set(rationhttp.RetryingHeader, "true")
			return r
		}, 0},
		{"request with two values", "GET", func(r *http.Request) *http.Request {
			r.Header["X-Nresilience-Retrying"] = []string{"1", "1"}
			return r
		}, 0},
		{"post", "POST", func(r *http.Request) *http.Request {
			return r.WithContext(ration.WithNestedRetry(r.Context()))
		}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{}
				p := plain()
				p.OnEvent = r.hear
				req := newRequest(t, tc.method, "http://a.test/", nil)
				if tc.edit != nil {
					req = tc.edit(req)
				}
				base := newScript(steps(503)...)
				send(t, newTransport(t, base, p), req)
				if n := r.count(ration.EventNestedRetry); n != tc.want {
					t.Errorf("%d reports, want %d", n, tc.want)
				}
				if tc.want == 1 && r.all()[0].Kind != ration.EventNestedRetry {
					t.Errorf("the first event is %v", r.all()[0].Kind)
				}
				if tc.method == "GET" && base.attempts() != 3 {
					t.Errorf("the report changed something: %d attempts", base.attempts())
				}
			})
		})
	}
	for _, bounds := range []time.Duration{time.Second, ration.NoLimit} {
		synctest.Test(t, func(t *testing.T) {
			r := &recorder{}
			p := plain()
			p.OnEvent = r.hear
			inner := newTransport(t, newScript(steps(503)...), p)
			outer := plain()
			outer.AttemptTimeout, outer.Deadline = bounds, ration.NoLimit
			send(t, newTransport(t, inner, outer), get(t))
			if n := r.count(ration.EventNestedRetry); n != 3 {
				t.Errorf("%d reports from three calls within another", n)
			}
		})
	}
}
