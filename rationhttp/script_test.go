package rationhttp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

// A roundTripper is a function as a base.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// plain is a policy of retries alone, as many as are asked for.
func plain() ration.Policy {
	return ration.Policy{Budget: ration.NoBudget, Breaker: ration.NoBreaker}
}

// quick is plain for tests on the real clock.
func quick() ration.Policy {
	p := plain()
	p.Backoff = ration.ConstantBackoff(time.Millisecond)
	return p
}

func newTransport(
	t testing.TB, base http.RoundTripper, p ration.Policy, opts ...rationhttp.Option,
) *rationhttp.Transport {
	t.Helper()
	transport, err := rationhttp.NewTransport(base, p, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return transport
}

func newRequest(t testing.TB, method, url string, body io.Reader) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// get returns a request that may be retried, to a host that need not exist.
func get(t testing.TB) *http.Request {
	t.Helper()
	return newRequest(t, http.MethodGet, "http://a.test/", nil)
}

// send sends a request and reads what comes.
func send(
	t testing.TB, rt http.RoundTripper, req *http.Request,
) (status int, body string, err error) {
	t.Helper()
	resp, err := rt.RoundTrip(req)
	if (resp == nil) == (err == nil) {
		t.Fatalf("response %v and error %v", resp, err)
	}
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("reading the body: %v", err)
	}
	return resp.StatusCode, string(b), nil
}

// A step is what a scripted base does with one request.
type step struct {
	status int
	header string // "Name: value"
	body   string
	err    error
	unread bool // the request body is closed without being read
}

// steps returns one step for each status.
func steps(statuses ...int) []step {
	var all []step
	for _, s := range statuses {
		all = append(all, step{status: s, body: http.StatusText(s)})
	}
	return all
}

// A script is a base that goes through its steps and repeats the last one. It
// keeps what it was sent.
type script struct {
	steps []step

	mu   sync.Mutex
	sent []sent
	open int // response bodies that nobody has closed
}

// sent is a request as the base saw it.
type sent struct {
	req    *http.Request
	header http.Header
	body   string
	at     time.Time
	open   int // response bodies of earlier ones that were still open
}

func newScript(steps ...step) *script { return &script{steps: steps} }

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	got := sent{req: r, header: r.Header.Clone(), at: time.Now()}
	s.mu.Lock()
	now := s.steps[min(len(s.sent), len(s.steps)-1)]
	got.open = s.open
	s.mu.Unlock()
	if r.Body != nil {
		if !now.unread {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				got.body = "error: " + err.Error()
			} else {
				got.body = string(b)
			}
		}
		r.Body.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, got)
	if now.err != nil {
		return nil, now.err
	}
	s.open++
	resp := &http.Response{
		StatusCode:    now.status,
		Status:        http.StatusText(now.status),
		Header:        http.Header{},
		Body:          &countedBody{Reader: strings.NewReader(now.body), s: s},
		ContentLength: int64(len(now.body)),
		Request:       r,
	}
	if name, value, ok := strings.Cut(now.header, ": "); ok {
		resp.Header.Set(name, value)
	}
	return resp, nil
}

func (s *script) attempts() int { return len(s.requests()) }

func (s *script) requests() []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// unclosed returns how many response bodies are open.
func (s *script) unclosed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

type countedBody struct {
	io.Reader
	s      *script
	closed bool
}

func (b *countedBody) Close() error {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	if !b.closed {
		b.closed = true
		b.s.open--
	}
	return nil
}

// A trackedBody is a request body without GetBody that knows whether it was
// closed.
type trackedBody struct {
	io.Reader
	mu     sync.Mutex
	closes int
}

func (b *trackedBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closes++
	return nil
}

func (b *trackedBody) closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closes > 0
}

// newServer starts a server on a real socket that answers with h, and returns a
// transport of its own to it.
func newServer(t testing.TB, h http.HandlerFunc) (*httptest.Server, *http.Transport) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return server, transport
}

// A recorder keeps what happened.
type recorder struct {
	mu     sync.Mutex
	events []ration.Event
}

func (r *recorder) hear(ev ration.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, ev)
}

func (r *recorder) all() []ration.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]ration.Event(nil), r.events...)
}

func (r *recorder) count(kind ration.EventKind) (n int) {
	for _, ev := range r.all() {
		if ev.Kind == kind {
			n++
		}
	}
	return n
}

func (r *recorder) last(t testing.TB) ration.Event {
	t.Helper()
	all := r.all()
	if len(all) == 0 {
		t.Fatal("no event")
	}
	return all[len(all)-1]
}
