package rationhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

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

// Hosts and errors are whatever somebody made them: nothing in them may become
// markup, change how the rest reads, or make the page endless.
func TestDebugPageOfAttacker(t *testing.T) { synctest.Test(t, testDebugPageOfAttacker) }

func testDebugPageOfAttacker(t *testing.T) {
	page := newPage(t)
	evil := []string{
		`<script>alert(1)</script>`,
		`"><img src=x onerror=alert(1)>`,
		`' onmouseover='alert(1)`,
		`{{.Process}} </style><style>*{display:none}`,
		"javascript:alert(1)",
		"line\r\nX-Header: set\x00\x1b[2J",
		"\xff\xfe\xc0\xaf",
		"right\u202etfel\u2066\u200b",
		strings.Repeat("long<", 1<<18),
	}
	var keep []*ration.Executor
	for _, text := range evil {
		e := ration.MustNew(ration.Policy{Name: "evil " + text, Attempts: 1, Breaker: &ration.BreakerSettings{
			ConsecutiveFailures: 1,
		}})
		_ = e.For(text).Run(t.Context(), func(context.Context) error {
			return ration.Transient(errors.New(text))
		})
		spent := ration.MustNew(ration.Policy{Name: "evil " + text, Backoff: ration.NoBackoff})
		for spent.Budget().Withdraw(time.Now(), ration.Critical) {
		}
		_ = spent.For(text).Budget()
		_ = spent.Run(ration.WithNestedRetry(t.Context()), func(context.Context) error {
			return ration.Transient(errors.New(text))
		})
		keep = append(keep, e, spent)
	}
	w := ask(page, "q=evil")
	html := w.Body.String()
	if !utf8.ValidString(html) {
		t.Error("the page is not UTF-8")
	}
	if len(html) > 1<<20 {
		t.Errorf("the page has %d bytes", len(html))
	}
	for _, bad := range []string{
		"<script", "<img", "onerror=alert(1)>", "onmouseover='", "</style><style>", "\x00", "\x1b",
		"\u202e", "\u2066", "\u200b", "\r",
	} {
		if strings.Contains(html, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	for _, want := range []string{"&lt;script&gt;alert(1)&lt;/script&gt;", `right\u202etfel`, `\xff\xfe\xc0\xaf`} {
		if !strings.Contains(html, want) {
			t.Errorf("the page does not show %s", want)
		}
	}
	for _, it := range search(t, page, "evil") {
		if n := len(it.Name); n > 300 {
			t.Errorf("a name of %d bytes", n)
		}
		if n := strings.Count(it.Policy.Explain, "\n"); n > 40 {
			t.Errorf("%d lines of explanation", n)
		}
		if w := ask(page, fmt.Sprint("show=", it.ID)); w.Code != http.StatusOK || w.Body.Len() > 1<<18 {
			t.Errorf("its own page: %d, %d bytes", w.Code, w.Body.Len())
		}
	}
	runtime.KeepAlive(keep)
}

// The query string is somebody's input too.
func TestDebugPageOfQuery(t *testing.T) {
	page := newPage(t)
	for _, query := range []string{
		"q=%3Cscript%3E&sort=%3Cscript%3E&page=-1&per=999999999&refresh=1&show=x&only=x",
		"q=%ff%fe&page=99999999999999999999&refresh=-5", "%zz", "q=" + strings.Repeat("a", 100_000),
		"show=18446744073709551615", "format=xml", "per=0", "q=%22%3E%3Cscript%3E",
	} {
		w := ask(page, query)
		html := w.Body.String()
		if w.Code != http.StatusOK && !strings.HasPrefix(query, "show") {
			t.Errorf("%.50s: %d", query, w.Code)
		}
		if strings.Contains(html, "<script") || !utf8.ValidString(html) || len(html) > 1<<20 {
			t.Errorf("%.50s: %d bytes, %.200s", query, len(html), html)
		}
	}
	if w := ask(page, "show=18446744073709551615"); w.Code != http.StatusNotFound {
		t.Errorf("what is not there: %d", w.Code)
	}
}

func TestDebugPageRefresh(t *testing.T) {
	page := newPage(t)
	for query, want := range map[string]string{
		"": `http-equiv="refresh" content="5"`, "refresh=2": `content="2"`, "refresh=60": `content="60"`,
		"refresh=1": `content="5"`, "refresh=0": "", "q=x": `content="5"`,
	} {
		html := ask(page, query).Body.String()
		if got := strings.Contains(html, "http-equiv"); got != (want != "") || !strings.Contains(html, want) {
			t.Errorf("%q: refreshes: %t, want %s", query, got, want)
		}
	}
}

// A thousand keys are searched, sorted and paged by the server.
func TestDebugPageOfManyKeys(t *testing.T) {
	page := newPage(t)
	e := ration.MustNew(ration.Policy{Name: "many keys", Breaker: &ration.BreakerSettings{ConsecutiveFailures: 1}})
	for i := range 1000 {
		k := e.For(fmt.Sprintf("host-%03d", i))
		for range i % 7 {
			_ = k.Run(t.Context(), func(context.Context) error { return nil })
		}
		if i == 123 { // the first opens the breaker, which refuses the second
			down := func(context.Context) error { return ration.Transient(errors.New("down")) }
			_ = k.Once().Run(t.Context(), down)
			_ = k.Once().Run(t.Context(), down)
		}
		if i == 456 {
			for range 20 {
				k.Budget().Withdraw(time.Now(), ration.Critical)
			}
		}
	}
	first := func(query string) string {
		d := data(t, page, "q=many+keys&per=10&"+query)
		if len(d.Items) != 10 || d.Pages != 101 || d.Matching != 1001 {
			t.Errorf("%s: %d of %d items on one of %d pages", query, len(d.Items), d.Matching, d.Pages)
		}
		var keys []string
		for _, it := range d.Items[:3] {
			key := "itself"
			if it.Key != nil {
				key = *it.Key
			}
			keys = append(keys, key)
		}
		return strings.Join(keys, " ")
	}
	for query, want := range map[string]string{
		"":                   "host-123 host-456 host-001",
		"sort=name":          "itself host-000 host-001",
		"sort=spent":         "host-456 itself host-000",
		"sort=calls":         "host-006 host-013 host-020",
		"sort=name&page=2":   "host-009 host-010 host-011",
		"sort=name&page=100": "host-989 host-990 host-991",
	} {
		if got := first(query); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
	if d := data(t, page, "q=HOST-99&sort=name"); d.Matching != 10 || *d.Items[9].Key != "host-999" {
		t.Errorf("%d match", d.Matching)
	}
	if d := data(t, page, "q=many+keys&only=degraded"); d.Matching != 1 || d.Items[0].Breaker.State != "open" {
		t.Errorf("%d are degraded", d.Matching)
	}
	last := data(t, page, "q=many+keys&per=10&page=99999")
	if last.Page != 101 || len(last.Items) != 1 {
		t.Errorf("past the end: page %d of %d, %d items", last.Page, last.Pages, len(last.Items))
	}
	html := ask(page, "q=many+keys").Body.String()
	if n := strings.Count(html, `scope="row"`); n != 50 || !strings.Contains(html, "Page 1 of 21") ||
		!strings.Contains(html, `href="?page=2&amp;q=many&#43;keys"`) {
		t.Errorf("%d rows on a page, want 50 and a link to the next", n)
	}
	if n := strings.Count(ask(page, "q=many+keys&per=100000").Body.String(), `scope="row"`); n != 500 {
		t.Errorf("%d rows on the longest page, want 500", n)
	}
	// What was refused is listed wherever its key is.
	html = ask(page, "q=many+keys&sort=name&page=21").Body.String()
	if !strings.Contains(html, "many keys / host-123") || strings.Contains(html, ">host-123<") {
		t.Error("the last page does not list a refusal of the third")
	}
	if len(html) > 400_000 {
		t.Errorf("a page of 50 has %d bytes", len(html))
	}
	runtime.KeepAlive(e)
}

// A service that retries for callers that retry shows who they are: as much of
// the request as is safe to show.
func TestDebugPageOfNestedRetries(t *testing.T) {
	page := newPage(t)
	e := ration.MustNew(ration.Policy{Name: "nested"})
	call := func(w http.ResponseWriter, r *http.Request) {
		_ = e.Run(r.Context(), func(ctx context.Context) error { return nil })
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", call)
	inner := http.NewServeMux()
	inner.Handle("/inner/", rationhttp.Middleware()(http.HandlerFunc(call)))
	for _, s := range []struct {
		handler      http.Handler
		target, mark string
	}{
		{rationhttp.Middleware()(mux), "/users/42?token=secret", "1"},
		{rationhttp.Middleware()(mux), "/users/43?token=secret", "1"},
		{rationhttp.Middleware()(mux), "/users/44", ""}, // does not retry
		{rationhttp.Middleware()(http.HandlerFunc(call)), "/secret", "1"},
		{inner, "/inner/secret", "1"},
	} {
		r := httptest.NewRequest(http.MethodGet, s.target, nil)
		r.RemoteAddr = "10.1.2.3:50000"
		r.Header.Set("User-Agent", "shop/1.2")
		if s.mark != "" {
			r.Header.Set(rationhttp.RetryingHeader, s.mark)
		}
		s.handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	outer := ration.MustNew(ration.Policy{Unlisted: true})
	_ = outer.Run(t.Context(), func(ctx context.Context) error {
		return e.Run(ctx, func(context.Context) error { return nil })
	})
	var got []string
	for _, n := range search(t, page, "nested")[0].Nested {
		got = append(got, fmt.Sprintf("%s %s %s %d", n.Peer, n.Route, n.UserAgent, n.Count))
	}
	want := []string{
		"10.1.2.3 GET /users/{id} shop/1.2 2", "10.1.2.3  shop/1.2 1",
		"10.1.2.3 /inner/ shop/1.2 1", "this process   1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if html := ask(page, "q=nested").Body.String(); strings.Contains(html, "secret") ||
		!strings.Contains(html, "GET /users/{id}") || !strings.Contains(html, "shop/1.2") {
		t.Error("the page shows too much of a request, or too little")
	}
}

// The names of the data are a promise: programs read them.
func TestDebugPageNames(t *testing.T) { synctest.Test(t, testDebugPageNames) }

func testDebugPageNames(t *testing.T) {
	page := newPage(t)
	e := ration.MustNew(ration.Policy{Name: "names", Breaker: &ration.BreakerSettings{ConsecutiveFailures: 1}})
	fail := func(context.Context) error { return ration.Transient(errors.New("down")) }
	for range 2 {
		_ = e.Run(ration.WithNestedRetry(t.Context()), fail)
	}
	var v any
	w := ask(page, "q=names&format=json")
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type %q", got)
	}
	names := map[string]bool{}
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, v := range v {
				walk(prefix+"."+name, v)
			}
		case []any:
			for _, v := range v {
				walk(prefix+"[]", v)
			}
		default:
			names[strings.TrimPrefix(prefix, ".")] = true
		}
	}
	walk("", v)
	doc, err := os.ReadFile("../docs/debug-page.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	_, table, _ := strings.Cut(string(doc), "## As data")
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		documented[m[1]] = true
	}
	for name := range names {
		if !documented[name] {
			t.Errorf("docs/debug-page.md does not have %s", name)
		}
	}
	for name := range documented {
		if !names[name] {
			t.Errorf("docs/debug-page.md has %s, which is not there", name)
		}
	}
	runtime.KeepAlive(e)
}

// Calls, updates, pages that come and go, and readers of them, all at once.
func TestDebugPageConcurrently(t *testing.T) {
	page := newPage(t)
	e := ration.MustNew(ration.Policy{Name: "hammered", Attempts: 1, Breaker: &ration.BreakerSettings{
		FailureRatio: 1, MinimumCalls: 1000,
	}})
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 200 {
				_ = e.For(fmt.Sprint(n%20)).Run(ration.WithNestedRetry(t.Context()),
					func(context.Context) error {
						if n%3 == 0 {
							return ration.Permanent(fmt.Errorf("error %d", n))
						}
						return nil
					})
			}
		})
		all.Go(func() {
			for n := range 20 {
				ask(page, "q=hammered&sort=calls")
				p := e.Policy()
				p.Deadline = time.Duration(n+1) * time.Second
				if err := e.Update(p); err != nil {
					t.Error(err)
				}
				ration.MustNew(ration.Policy{Name: "dropped at once"}).Budget()
			}
		})
		if i == 0 {
			all.Go(func() {
				for range 50 {
					other := rationhttp.DebugHandler()
					_ = e.Run(t.Context(), func(context.Context) error { return nil })
					ask(other, "format=json&q=hammered")
					other.Close()
				}
			})
		}
	}
	all.Wait()
	var calls uint64
	for _, it := range search(t, page, "hammered") {
		calls += it.LastMinute.Calls
	}
	if calls != 4*200+50 {
		t.Errorf("%d calls are counted, want all 850", calls)
	}
	runtime.KeepAlive(e)
}

func FuzzDebugPage(f *testing.F) {
	page := rationhttp.DebugHandler()
	defer page.Close()
	e := ration.MustNew(ration.Policy{Name: "fuzzed <script>"})
	for _, query := range []string{"q=%3Cscript%3E&per=1", "show=1&refresh=2", "format=json&page=2", "%"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.RawQuery = query
		w := httptest.NewRecorder()
		page.ServeHTTP(w, r)
		body := w.Body.String()
		if w.Code != http.StatusOK && w.Code != http.StatusNotFound || !utf8.ValidString(body) ||
			strings.Contains(body, "<script") {
			t.Errorf("%d: %s", w.Code, body)
		}
	})
	runtime.KeepAlive(e)
}
