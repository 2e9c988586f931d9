package rationhttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

type options = []rationhttp.MiddlewareOption

// serve runs a request with the given header through the middleware, and hands
// its context to look.
func serve(
	t *testing.T, h http.Header, look func(r *http.Request), opts ...rationhttp.MiddlewareOption,
) {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.Header = h
	served := false
	rationhttp.Middleware(opts...)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		served = true
		look(r)
	})).ServeHTTP(httptest.NewRecorder(), req)
	if !served {
		t.Error("the handler was not called")
	}
}

func TestMiddlewareMarker(t *testing.T) {
	for _, tc := range []struct {
		values []string
		want   bool
	}{
		{nil, false}, {[]string{"1"}, true}, {[]string{""}, false}, {[]string{"0"}, false},
		{[]string{"2"}, false}, {[]string{"true"}, false}, {[]string{" 1"}, false},
		{[]string{"11"}, false}, {[]string{"1", "1"}, false},
	} {
		h := http.Header{"X-Nresilience-Retrying": tc.values}
		serve(t, h, func(r *http.Request) {
			if got := ration.IsNestedRetry(r.Context()); got != tc.want {
				t.Errorf("%q: nested %t", tc.values, got)
			}
		})
	}
}

func TestMiddlewareDeadline(t *testing.T) {
	const none = time.Duration(-1)
	maximum := rationhttp.MaximumDeadline(time.Minute)
	for _, tc := range []struct {
		values []string
		opts   []rationhttp.MiddlewareOption
		want   time.Duration
	}{
		{nil, nil, none},
		{[]string{"1500"}, nil, 1500 * time.Millisecond},
		{[]string{"1"}, nil, time.Millisecond},
		{[]string{"0"}, nil, none},
		{[]string{"-1"}, nil, none},
		{[]string{"+1"}, nil, none},
		{[]string{" 1"}, nil, none},
		{[]string{"1.5"}, nil, none},
		{[]string{"1s"}, nil, none},
		{[]string{""}, nil, none},
		{[]string{"1", "1"}, nil, none},
		{[]string{"2147483647"}, nil, 2147483647 * time.Millisecond},
		{[]string{"2147483648"}, nil, none},
		{[]string{"99999999999999999999"}, nil, none},
		{[]string{"60000"}, options{maximum}, time.Minute},
		{[]string{"60001"}, options{maximum}, none},
		{[]string{"60500"}, options{maximum, rationhttp.ReserveDeadline(time.Second)}, none},
		{[]string{"1"}, options{rationhttp.MaximumDeadline(0)}, none},
		{[]string{"1500"}, options{nil, rationhttp.ReserveDeadline(500 * time.Millisecond)},
			time.Second},
		{[]string{"60000"}, options{maximum, rationhttp.ReserveDeadline(time.Second)},
			59 * time.Second},
		{[]string{"1500"}, options{rationhttp.ReserveDeadline(-time.Second)},
			1500 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			serve(t, http.Header{"X-Deadline-Ms": tc.values}, func(r *http.Request) {
				d, ok := r.Context().Deadline()
				got := none
				if ok {
					got = time.Until(d)
				}
				if got != tc.want {
					t.Errorf("%q: %v left, want %v", tc.values, got, tc.want)
				}
			}, tc.opts...)
		})
	}
	// What is reserved may be all there is. The request is served, its calls fail.
	synctest.Test(t, func(t *testing.T) {
		base := newScript(steps(200)...)
		rt := newTransport(t, base, plain())
		serve(t, http.Header{"X-Deadline-Ms": {"100"}}, func(r *http.Request) {
			_, _, err := send(t, rt, get(t).WithContext(r.Context()))
			if !errors.Is(err, ration.ErrDeadlineExceeded) ||
				!errors.Is(err, rationhttp.ErrCallerDeadline) || base.attempts() != 0 {
				t.Errorf("%v after %d attempts", err, base.attempts())
			}
		}, rationhttp.ReserveDeadline(time.Second))
	})
}

func TestMiddlewareCriticality(t *testing.T) {
	for _, tc := range []struct {
		values []string
		opts   []rationhttp.MiddlewareOption
		want   ration.Criticality
	}{
		{nil, nil, ration.Critical},
		{[]string{"Sheddable"}, nil, ration.Sheddable},
		{[]string{"sheddableplus"}, nil, ration.SheddablePlus},
		{[]string{"CRITICAL"}, nil, ration.Critical},
		{[]string{"CriticalPlus"}, nil, ration.Critical},
		{[]string{"-2"}, nil, ration.Critical},
		{[]string{"Sheddable "}, nil, ration.Critical},
		{[]string{"urgent"}, nil, ration.Critical},
		{[]string{"Sheddable", "Sheddable"}, nil, ration.Critical},
		{[]string{"Sheddable"}, options{rationhttp.IgnoreCriticality()}, ration.Critical},
	} {
		serve(t, http.Header{"X-Criticality": tc.values}, func(r *http.Request) {
			// Within a context that has a level already, what cannot be read changes
			// nothing.
			if got := ration.CriticalityOf(r.Context()); got != tc.want {
				t.Errorf("%q: %v, want %v", tc.values, got, tc.want)
			}
		}, tc.opts...)
	}
}

// A request that says nothing is handed on as it is.
func TestMiddlewareSilent(t *testing.T) {
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	w := httptest.NewRecorder()
	rationhttp.Middleware(rationhttp.BreakLoops())(http.HandlerFunc(
		func(gotW http.ResponseWriter, gotR *http.Request) {
			if gotR != req || gotW != http.ResponseWriter(w) {
				t.Error("the request or the writer was replaced")
			}
		})).ServeHTTP(w, req)
}

// The word is said on failing responses alone, and only once calls have given
// up.
func TestGiveUpHeader(t *testing.T) {
	for _, tc := range []struct {
		name   string
		marker string
		opts   []rationhttp.MiddlewareOption
		mark   bool
		status int // 0 = none is written
		want   string
	}{
		{"failure", "1", options{rationhttp.BreakLoops()}, true, 503, "never"},
		{"throttled", "1", options{rationhttp.BreakLoops()}, true, 429, "never"},
		{"not given up", "1", options{rationhttp.BreakLoops()}, false, 503, ""},
		{"answered all the same", "1", options{rationhttp.BreakLoops()}, true, 200, ""},
		{"nothing written", "1", options{rationhttp.BreakLoops()}, true, 0, ""},
		{"what nobody retries", "1", options{rationhttp.BreakLoops()}, true, 404, ""},
		{"caller does not retry", "", options{rationhttp.BreakLoops()}, true, 503, ""},
		{"not opted in", "1", nil, true, 503, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := httptest.NewRequest(http.MethodGet, "/", nil)
			if tc.marker != "" {
				req.Header.Set(rationhttp.RetryingHeader, tc.marker)
			}
			w := httptest.NewRecorder()
			rationhttp.Middleware(tc.opts...)(http.HandlerFunc(
				func(w http.ResponseWriter, r *http.Request) {
					if tc.mark {
						ration.GiveUpOf(r.Context()).Mark()
					}
					if tc.status != 0 {
						w.WriteHeader(tc.status)
					}
					io.WriteString(w, "body")
				})).ServeHTTP(w, req)
			if got := w.Header().Get(rationhttp.RetryHeader); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
			if w.Body.String() != "body" {
				t.Errorf("body %q", w.Body)
			}
		})
	}
}

// Wrapping the writer must not cost what it can do: streaming, hijacking, the
// kernel's copy, and everything that a ResponseController reaches.
func TestGiveUpWriter(t *testing.T) {
	wrapped := rationhttp.Middleware(rationhttp.BreakLoops())
	in := func(w http.ResponseWriter, h http.HandlerFunc) {
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.Header.Set(rationhttp.RetryingHeader, "1")
		wrapped(h).ServeHTTP(w, req)
	}
	for _, tc := range []struct {
		name             string
		w                http.ResponseWriter
		flushes, hijacks bool
	}{
		{"none", struct{ http.ResponseWriter }{httptest.NewRecorder()}, false, false},
		{"flusher", httptest.NewRecorder(), true, false},
		{"hijacker", struct {
			http.ResponseWriter
			http.Hijacker
		}{httptest.NewRecorder(), nil}, false, true},
		{"both", struct {
			http.ResponseWriter
			http.Flusher
			http.Hijacker
		}{httptest.NewRecorder(), httptest.NewRecorder(), nil}, true, true},
	} {
		in(tc.w, func(w http.ResponseWriter, _ *http.Request) {
			_, flushes := w.(http.Flusher)
			_, hijacks := w.(http.Hijacker)
			if flushes != tc.flushes || hijacks != tc.hijacks {
				t.Errorf("%s: flushes %t, hijacks %t", tc.name, flushes, hijacks)
			}
		})
	}
	server, transport := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		wrapped(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c := http.NewResponseController(w)
			if err := c.SetWriteDeadline(time.Now().Add(time.Hour)); err != nil {
				t.Error(err)
			}
			if n, err := w.(io.ReaderFrom).ReadFrom(strings.NewReader("one ")); n != 4 || err != nil {
				t.Error(n, err)
			}
			w.(http.Flusher).Flush()
			<-r.Context().Done() // the client has read the first part and gone
		})).ServeHTTP(w, r)
	})
	ctx, cancel := context.WithCancel(t.Context())
	req := newRequest(t, "GET", server.URL, nil).WithContext(ctx)
	resp, err := newTransport(t, transport, quick()).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	part := make([]byte, 4)
	if _, err := io.ReadFull(resp.Body, part); err != nil || string(part) != "one " {
		t.Errorf("%q, %v", part, err)
	}
	cancel()
	resp.Body.Close()
}
