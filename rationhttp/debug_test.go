package rationhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

// A pageItem is what the tests read of the page's data, under the names that are
// documented.
type pageItem struct {
	ID     uint64  `json:"id"`
	Name   string  `json:"name"`
	Key    *string `json:"key"`
	Keys   int     `json:"keys"`
	State  string  `json:"state"`
	Reason string  `json:"reason"`
	Budget *struct {
		Name               string
		Utilization        float64
		Tokens             float64
		Capacity           float64
		Reserve            float64
		Fraction           float64
		Minimum_per_second float64
	} `json:"budget"`
	Breaker struct {
		State string
		Since *time.Time
		Left  float64 `json:"break_left_s"`
	} `json:"breaker"`
	Ceiling     struct{ State string } `json:"ceiling"`
	BackoffBase struct{ State string } `json:"backoff_base"`
	LastMinute  pageTraffic            `json:"last_minute"`
	Refusals    []struct {
		Reason      string
		Count       uint64
		First, Last time.Time
		Attempts    int
		Error       string
	} `json:"refusals"`
	Nested []struct {
		Peer, Route string
		UserAgent   string `json:"user_agent"`
		Count       uint64
		Last        time.Time
	} `json:"nested_retries"`
	Policy struct {
		InWords string `json:"in_words"`
		Explain string
	} `json:"policy"`
}

type pageTraffic struct {
	Calls, Succeeded, Attempts, Refused uint64
	AttemptsPerCall                     *float64 `json:"attempts_per_call"`
	CallsBySecond                       []uint64 `json:"calls_by_second"`
	AttemptsBySecond                    []uint64 `json:"attempts_by_second"`
}

type pageData struct {
	HistorySince              *time.Time `json:"history_since"`
	Executors, Keys, Degraded int
	Matching, Page, Pages     int
	LastMinute                pageTraffic `json:"last_minute"`
	Items                     []pageItem
}

// ask asks a page.
func ask(page http.Handler, query string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/ration/?"+query, nil))
	return w
}

// data asks a page for data.
func data(t *testing.T, page http.Handler, query string) (d pageData) {
	t.Helper()
	w := ask(page, query+"&format=json")
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	return d
}

// search asks for the items of which a text is part of the name or key.
func search(t *testing.T, page http.Handler, text string) []pageItem {
	t.Helper()
	return data(t, page, "q="+url.QueryEscape(text)).Items
}

// newPage returns a page that is closed when the test ends.
func newPage(t *testing.T) *rationhttp.DebugPage {
	page := rationhttp.DebugHandler()
	t.Cleanup(func() { page.Close() })
	return page
}

func TestDebugPageIsReadOnly(t *testing.T) {
	page := newPage(t)
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "X"} {
		for _, target := range []string{"/", "/?format=json", "/debug/ration", "/debug/ration/"} {
			w := httptest.NewRecorder()
			page.ServeHTTP(w, httptest.NewRequest(method, target, nil))
			want := http.StatusMethodNotAllowed
			if method == "GET" || method == "HEAD" {
				want = http.StatusOK
			}
			if w.Code != want {
				t.Errorf("%s %s: %d, want %d", method, target, w.Code, want)
			}
			h := w.Result().Header
			if want == http.StatusMethodNotAllowed && h.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s: Allow %q", method, h.Get("Allow"))
			}
			if h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" ||
				!strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'; ") {
				t.Errorf("%s %s: header %v", method, target, h)
			}
			if method == "HEAD" && (w.Body.Len() > 0 || h.Get("Content-Length") == "0") {
				t.Errorf("HEAD: %d bytes, length %s", w.Body.Len(), h.Get("Content-Length"))
			}
		}
	}
}

// It must be possible to leave the page on: it runs nothing and loads nothing,
// and works wherever it is mounted.
func TestDebugPageStandsAlone(t *testing.T) {
	e := ration.MustNew(ration.Policy{Name: "standing alone"})
	html := ask(newPage(t), "").Body.String()
	for _, bad := range []string{"<script", "javascript:", " style=", " onload=", " src=", "url(", "@import"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		if !strings.HasPrefix(m[1], "?") && !strings.HasPrefix(m[1], "#") && m[1] != "data:," {
			t.Errorf("link to %q is not relative to the page", m[1])
		}
	}
	runtime.KeepAlive(e)
}

// A storm is seen as one: the bar full, the calls counted, the refusals listed
// with reason, number and failure.
func TestDebugPageStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := newPage(t)
		e := ration.MustNew(ration.Policy{
			Name:    "storm",
			Backoff: ration.ConstantBackoff(time.Millisecond),
			Breaker: &ration.BreakerSettings{ConsecutiveFailures: 1000},
		})
		host := e.For("db.internal:5432")
		for i := range 100 {
			_ = host.Run(context.Background(), func(context.Context) error {
				if i == 0 {
					return nil
				}
				return ration.Transient(errors.New("connection refused"))
			})
		}
		items := search(t, page, "storm")
		if len(items) != 2 || *items[0].Key != "db.internal:5432" || items[1].Key != nil ||
			items[1].Keys != 1 {
			t.Fatalf("items %+v, want the key, and the executor that has it", items)
		}
		it := items[0]
		if it.State != "degraded" || it.Budget.Utilization < 0.9 || it.Budget.Capacity != 30 ||
			it.Budget.Reserve != 15 || it.Budget.Tokens > 3 || it.Breaker.State != "closed" {
			t.Errorf("%+v", it)
		}
		m := it.LastMinute
		if m.Calls != 100 || m.Succeeded != 1 || m.Refused < 50 || m.Attempts < 130 {
			t.Errorf("last minute: %+v", m)
		}
		if *m.AttemptsPerCall != float64(m.Attempts)/100 {
			t.Errorf("%v attempts per call, of %d in 100 calls", *m.AttemptsPerCall, m.Attempts)
		}
		if len(it.Refusals) != 1 {
			t.Fatalf("refusals %+v, want one kind", it.Refusals)
		}
		r := it.Refusals[0]
		if r.Reason != "budget" || r.Count != m.Refused || r.Error != "connection refused" ||
			!r.Last.After(r.First) || r.Attempts < 1 {
			t.Errorf("refusal %+v", r)
		}
		html := ask(page, "q=storm").Body.String()
		for _, want := range []string{
			"connection refused", "db.internal:5432", "degraded", "the retry budget is spent to",
			`role="meter"`, "Up to 3 attempts within 30s", "amplification", "tokens left, 15 held back",
		} {
			if !strings.Contains(html, want) {
				t.Errorf("the page does not say %q", want)
			}
		}
		time.Sleep(time.Minute)
		if m := search(t, page, "db.internal:5432")[0].LastMinute; m.Calls != 0 || m.AttemptsPerCall != nil {
			t.Errorf("a minute later: %+v", m)
		}
	})
}
