package rationhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

func TestWriteError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget, err := ration.NewBudget(0.1, 0.3) // three tokens, one in 3.3 s
		if err != nil {
			t.Fatal(err)
		}
		for budget.Withdraw(time.Now(), ration.Critical) {
		}
		stopped := func(p ration.Policy, fail error) error {
			e := ration.MustNew(p)
			return e.Run(t.Context(), func(context.Context) error { return fail })
		}
		hung := func(p ration.Policy) error {
			e := ration.MustNew(p)
			return e.Run(t.Context(), func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			})
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		down := ration.Transient(errors.New("S3CRET down"))
		for _, tc := range []struct {
			name   string
			err    error
			status int // 0 = not ours
			kind   string
			after  string
		}{
			{"budget", stopped(ration.Policy{Budget: budget}, down), 503, "retry-budget-exhausted", "4"},
			{"breaker", stopped(ration.Policy{Breaker: &ration.BreakerSettings{ConsecutiveFailures: 1,
				Break: time.Nanosecond, MaxBreak: time.Nanosecond}}, down), 503, "dependency-unavailable", ""},
			{"deadline", hung(ration.Policy{Deadline: time.Second}), 504, "deadline-exceeded", ""},
			{"deadline with a hint", stopped(ration.Policy{},
				ration.Throttled(down, 86399*time.Second+1)), 504, "deadline-exceeded", "86400"},
			{"attempt", hung(ration.Policy{Attempts: 1, AttemptTimeout: time.Second}), 504,
				"attempt-timeout", ""},
			{"stalled", rationhttp.ErrBodyStalled, 504, "attempt-timeout", ""},
			{"limiter", &rationhttp.LimitedError{RetryAfter: time.Millisecond}, 503, "rate-limited", "1"},
			{"limiter without a hint", &rationhttp.LimitedError{}, 503, "rate-limited", ""},
			{"cancelled", ration.MustNew(ration.Policy{}).Run(cancelled,
				func(context.Context) error { return nil }), 503, "canceled", ""},
			{"other", errors.New("other"), 0, "", ""},
			{"none", nil, 0, "", ""},
		} {
			for _, wrap := range []func(error) error{
				func(err error) error { return err },
				func(err error) error { return &url.Error{Op: "Get", URL: "http://a.test/S3CRET", Err: err} },
			} {
				if tc.err == nil {
					wrap = func(err error) error { return err }
				}
				w := httptest.NewRecorder()
				w.Header().Set("Content-Length", "7")
				ok := rationhttp.WriteError(w, httptest.NewRequest("GET", "/", nil), wrap(tc.err))
				if ok != (tc.status != 0) {
					t.Errorf("%s: %t", tc.name, ok)
				}
				if !ok {
					if w.Body.Len() != 0 || len(w.Header()) != 1 {
						t.Errorf("%s: something was written", tc.name)
					}
					continue
				}
				var p map[string]any
				if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
					t.Fatal(err)
				}
				want := map[string]any{"type": "urn:nresilience:" + tc.kind,
					"title": p["title"], "status": float64(tc.status)}
				if !reflect.DeepEqual(p, want) || w.Code != tc.status || p["title"] == "" {
					t.Errorf("%s: %d with %v", tc.name, w.Code, p)
				}
				if got := w.Header().Get("Retry-After"); got != tc.after {
					t.Errorf("%s: Retry-After %q, want %q", tc.name, got, tc.after)
				}
				if w.Header().Get("Content-Type") != "application/problem+json" ||
					w.Header().Get("Content-Length") != "" || strings.Contains(w.Body.String(), "S3CRET") {
					t.Errorf("%s: %v %s", tc.name, w.Header(), w.Body)
				}
			}
		}
	})
}

// C38: no user, password, path, query or header value of a request or response
// is in any text that this library makes.
func TestSecrets(t *testing.T) {
	base := newScript(step{status: 503, header: "Set-Cookie: S3CRET", body: "S3CRET"})
	down := roundTripper(func(r *http.Request) (*http.Response, error) { return nil, nil })
	budget, err := ration.NewBudget(0.1, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	for _, rt := range []http.RoundTripper{base, down} {
		for _, p := range []ration.Policy{
			{}, {Budget: budget}, {Breaker: &ration.BreakerSettings{ConsecutiveFailures: 1}},
			{Deadline: time.Millisecond},
		} {
			synctest.Test(t, func(t *testing.T) {
				var texts []string
				n := 0
				note := func(v any) {
					texts = append(texts, fmt.Sprintf("%v %+v %#v %s", v, v, v, v))
				}
				p.OnEvent = func(ev ration.Event) {
					note(ev)
					note(ev.Err)
				}
				tr := newTransport(t, rt, p, rationhttp.WithBodyLimit(1))
				for _, location := range []string{
					"http://user:S3CRET@a.test/S3CRET?S3CRET=S3CRET#S3CRET", "//a.test/S3CRET",
					"https://user:S3CRET@b.test/S3CRET",
				} {
					req := newRequest(t, "PUT", location, strings.NewReader("S3CRET"))
					if n++; n%2 == 0 {
						req.GetBody = nil // then it is too large
					}
					req.Header.Set("Authorization", "Bearer S3CRET")
					req.Header.Set("Idempotency-Key", "S3CRET")
					resp, err := tr.RoundTrip(req)
					note(err)
					for ; err != nil; err = errors.Unwrap(err) {
						note(err)
						var status *rationhttp.StatusError
						if errors.As(err, &status) {
							note(status)
							note(status.Header)
						}
					}
					if resp != nil {
						resp.Body.Close()
					}
				}
				note(tr.Hosts())
				for _, text := range texts {
					if strings.Contains(text, "S3CRET") {
						t.Errorf("a secret in %s", text)
					}
				}
			})
		}
	}
}

// C31: what is told of a request does not grow with the requests.
func TestCardinality(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		labels := map[string]bool{}
		p := plain()
		p.Attempts = 1
		p.OnEvent = func(ev ration.Event) {
			labels[fmt.Sprint(ev.Kind, ev.Policy, ev.Key, ev.Verdict, ev.Reason, ev.Unclassified)] = true
		}
		rt := newTransport(t, newScript(steps(503)...), p)
		for i := range 1000 {
			send(t, rt, newRequest(t, "GET", fmt.Sprintf("http://a.test/%d?q=%d", i, i), nil))
			if i == 9 && len(labels) != 2 || i == 999 && len(labels) != 2 {
				t.Errorf("%d sets of labels after %d requests", len(labels), i+1)
			}
		}
	})
}
