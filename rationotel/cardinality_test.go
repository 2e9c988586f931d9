package rationotel_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
	"github.com/ration-go/ration/rationotel"
)

// series counts the series of all metrics.
func (s samples) series() (n int) {
	for _, all := range s {
		n += len(all)
	}
	return n
}

// C31: the address of a request is no attribute. Ten thousand paths and queries of
// one host make as many series as one. Nor does what an address holds besides show.
func TestPathsMakeNoSeries(t *testing.T) {
	collectGarbage(t) // executors of other tests would be observed too
	m := attach(t)
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Request: r, Body: io.NopCloser(strings.NewReader(""))}, nil
	})
	transport, err := rationhttp.NewTransport(base, ration.Policy{Name: "one"})
	if err != nil {
		t.Fatal(err)
	}
	send := func(i int) {
		url := fmt.Sprintf("http://user:S3CRET@host.example/%d?q=%d", i, i)
		resp, err := transport.RoundTrip(httptest.NewRequest(http.MethodGet, url, http.NoBody))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	for i := range 100 { // enough for every measured term
		send(i)
	}
	few := m.collect(t)
	for i := range 10_000 {
		send(i)
	}
	many := m.collect(t)
	if few.series() != many.series() {
		t.Errorf("%d series have become %d", few.series(), many.series())
	}
	if text := fmt.Sprint(many); strings.Contains(text, "S3CRET") {
		t.Error("a password is an attribute")
	}
	if keys := keysOf(many, "nresilience.calls"); len(keys) != 1 {
		t.Errorf("keys %v, want the host", keys)
	}
}

// However many hosts come and go, and however long, a policy reports as many as it
// may, and the rest together. Nothing is lost.
func TestKeysAreBounded(t *testing.T) {
	m := attach(t, func(o *rationotel.Options) { o.MaxKeys = 10 })
	e := ration.MustNew(plain("hosts"))
	const hosts = 1500 // more than the executor remembers
	for i := range hosts {
		play(context.Background(), e.For(fmt.Sprintf("host-%d", i)), time.Now(), succeeded)
	}
	got := m.collect(t)
	for name, all := range got {
		keys := keysOf(got, name)
		if len(keys) > 11 {
			t.Errorf("%s has %d keys, of %d series", name, len(keys), len(all))
		}
	}
	keys := keysOf(got, "nresilience.calls")
	if len(keys) != 11 || !keys["host-0"] || !keys["host-9"] || !keys["other"] {
		t.Errorf("keys %v", keys)
	}
	if n := got.sum("nresilience.calls", "nresilience.key", "other"); n != hosts-10 {
		t.Errorf("%d calls of other, want %d", n, hosts-10)
	}
	if n := got.sum("nresilience.calls"); n != hosts {
		t.Errorf("%d calls, want %d", n, hosts)
	}
}

// A host may be called other: it takes nobody's place.
func TestHostCalledOther(t *testing.T) {
	m := attach(t, func(o *rationotel.Options) { o.MaxKeys = 2 })
	e := ration.MustNew(plain("hosts"))
	for _, key := range []string{"other", "a", "b"} {
		play(context.Background(), e.For(key), epoch, succeeded)
	}
	got := m.collect(t)
	if a, other := got.sum("nresilience.calls", "nresilience.key", "a"),
		got.sum("nresilience.calls", "nresilience.key", "other"); a != 1 || other != 2 {
		t.Errorf("%d calls of a and %d of other, want 1 and 2", a, other)
	}
}

// What has no key takes no place either, and keeps a series of its own.
func TestCallsWithoutAKey(t *testing.T) {
	m := attach(t, func(o *rationotel.Options) { o.MaxKeys = 2 })
	e := ration.MustNew(plain("hosts"))
	for _, k := range []*ration.Executor{e, e.For("a"), e.For("b"), e.For("c"), e} {
		play(context.Background(), k, epoch, succeeded)
	}
	got := m.collect(t)
	for key, want := range map[string]int{"a": 1, "b": 1, "other": 1} {
		if n := got.sum("nresilience.calls", "nresilience.key", key); n != want {
			t.Errorf("%d calls of %s, want %d", n, key, want)
		}
	}
	if n := got.sum("nresilience.calls"); n != 5 {
		t.Errorf("%d calls, want 5", n)
	}
}

// The first call without a key may come when all places are taken.
func TestTheFirstCallWithoutAKeyIsLate(t *testing.T) {
	m := attach(t, func(o *rationotel.Options) { o.MaxKeys = 1 })
	e := ration.MustNew(plain("hosts"))
	for _, k := range []*ration.Executor{e.For("a"), e.For("b"), e} {
		play(context.Background(), k, epoch, succeeded)
	}
	if n := m.collect(t).sum("nresilience.calls", "nresilience.key", "other"); n != 1 {
		t.Errorf("%d calls of other, want 1", n)
	}
}

func TestDefaultMaxKeys(t *testing.T) {
	m := attach(t)
	e := ration.MustNew(plain("hosts"))
	for i := range rationotel.DefaultMaxKeys + 1 {
		play(context.Background(), e.For(fmt.Sprint(i)), epoch, succeeded)
	}
	if keys := keysOf(m.collect(t), "nresilience.calls"); len(keys) != rationotel.DefaultMaxKeys+1 || !keys["other"] {
		t.Errorf("%d keys, want %d and other", len(keys), rationotel.DefaultMaxKeys)
	}
}

func TestNoKeys(t *testing.T) {
	m := attach(t, func(o *rationotel.Options) { o.MaxKeys = -1 })
	e := ration.MustNew(plain("hosts"))
	for i := range 20 {
		play(context.Background(), e.For(fmt.Sprint(i)), epoch, succeeded)
	}
	got := m.collect(t)
	if keys := keysOf(got, "nresilience.calls"); len(keys) != 0 {
		t.Errorf("keys %v", keys)
	}
	if n := got.sum("nresilience.calls"); n != 20 {
		t.Errorf("%d calls, want 20", n)
	}
}

func TestPoliciesAreBounded(t *testing.T) {
	m := attach(t)
	const policies = 1000
	for i := range policies {
		play(context.Background(), ration.MustNew(plain(fmt.Sprint("policy-", i))), epoch, succeeded)
	}
	got := m.collect(t)
	if n := len(got.of("nresilience.calls", "nresilience.outcome", "succeeded")); n != 201 {
		t.Errorf("%d policies, want 200 and other", n)
	}
	if n := got.sum("nresilience.calls", "nresilience.policy", "other"); n != policies-200 {
		t.Errorf("%d calls of other, want %d", n, policies-200)
	}
	if n := got.sum("nresilience.calls"); n != policies {
		t.Errorf("%d calls, want %d", n, policies)
	}
}

// Exporters refuse what is not UTF-8, and with it all the rest; and a host may be as
// long as a client likes.
func TestNamesAreMadeFit(t *testing.T) {
	m := attach(t)
	e := ration.MustNew(plain("bytes \xff\xfe"))
	play(context.Background(), e.For("host \xff"+strings.Repeat("ä", 1000)), epoch, succeeded)
	for _, x := range m.collect(t)["nresilience.calls"] {
		for _, kv := range x.attrs.ToSlice() {
			v := kv.Value.AsString()
			if !utf8.ValidString(v) || len(v) > 300 {
				t.Errorf("%s = %q", kv.Key, v)
			}
		}
	}
}

// Ten thousand executors that are dropped leave nothing behind: no series of what is
// observed, and no memory beyond that of the policies that are named.
func TestDroppedExecutorsLeaveNothing(t *testing.T) {
	m := attach(t)
	use := func(from, to int) {
		for i := from; i < to; i++ {
			e := ration.MustNew(ration.Policy{Name: fmt.Sprint("dropped-", i), Breaker: &ration.BreakerSettings{}})
			play(context.Background(), e, epoch, transient, succeeded)
		}
	}
	use(0, 300)
	m.collect(t)
	before := collectGarbage(t)
	use(300, 10_000)
	after := collectGarbage(t)
	if grown := int64(after) - int64(before); grown > 1<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	got := m.collect(t)
	for _, name := range []string{
		"nresilience.budget.utilization", "nresilience.budget.tokens", "nresilience.breaker.state",
	} {
		if n := len(got[name]); n != 0 {
			t.Errorf("%s: %d series of executors that are gone", name, n)
		}
	}
}

// collectGarbage collects until no executor is left, which takes a few rounds, and
// returns what is in use then. The test holds none.
func collectGarbage(t *testing.T) uint64 {
	t.Helper()
	for range 100 {
		runtime.GC()
		if len(ration.Executors()) == 0 {
			var mem runtime.MemStats
			runtime.ReadMemStats(&mem)
			return mem.HeapAlloc
		}
		runtime.Gosched()
	}
	t.Fatalf("%d executors are alive", len(ration.Executors()))
	return 0
}
