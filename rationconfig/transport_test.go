package rationconfig

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestTransport: a reload reaches the hosts of a client that is in use, and each host
// keeps its own bucket and breaker.
func TestTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := write(t, "policies: {shop: {preset: http, attempts: 2, budget: {fraction: 20%, minimumPerSecond: 1}}}")
		s, err := quietLoader().Load(names...)
		must(t, err)
		shop := executor(t, s, "shop")
		tries := 0
		down := roundTripper(func(r *http.Request) (*http.Response, error) {
			tries++
			return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody, Request: r}, nil
		})
		transport, err := rationhttp.NewTransport(down, ration.Policy{}, rationhttp.WithExecutor(shop))
		must(t, err)
		client := &http.Client{Transport: transport}
		get := func(host string) int {
			tries = 0
			if resp, err := client.Get("http://" + host); err == nil {
				resp.Body.Close()
			}
			return tries
		}
		if got := []int{get("a"), get("a"), get("b")}; !slices.Equal(got, []int{2, 2, 2}) {
			t.Errorf("%v attempts", got)
		}
		rewrite(t, names[0], "policies: {shop: {attempts: 3, breaker: {consecutiveFailures: 6}, budget: {fraction: 50%, minimumPerSecond: 1}}}")
		must(t, s.Reload())
		if got := []int{get("a"), get("b")}; !slices.Equal(got, []int{2, 3}) { // the sixth failure of a trips its breaker
			t.Errorf("%v attempts after the reload", got)
		}
		hosts := transport.Hosts()
		if len(hosts) != 2 || hosts[0].Breaker.State != ration.BreakerOpen || hosts[1].Breaker.State == hosts[0].Breaker.State {
			t.Fatalf("%+v", hosts)
		}
		now := time.Now()
		a, b := shop.For("a:80").Budget(), shop.For("b:80").Budget()
		if a == b || a.Fraction() != 0.5 || b.Fraction() != 0.5 ||
			a.Tokens(now) >= 9 || b.Tokens(now) >= 9 || a.Capacity() != 10 {
			t.Errorf("a has %v tokens at %v, b %v at %v", a.Tokens(now), a.Fraction(), b.Tokens(now), b.Fraction())
		}
	})
}

// TestPresets: http is what a transport makes of a policy without a breaker, and
// default what the library does.
func TestPresets(t *testing.T) {
	s := load(t, "policies: {d: {preset: default}, h: {preset: http}, silent: {}}")
	transport, err := rationhttp.NewTransport(nil, ration.Policy{Name: "h"})
	must(t, err)
	explain := func(e *ration.Executor) string {
		_, after, _ := strings.Cut(e.Explain(), "\n") // without the name
		return after
	}
	for name, want := range map[string]*ration.Executor{
		"h": transport.Executor(), "d": ration.MustNew(ration.Policy{}), "silent": ration.MustNew(ration.Policy{}),
	} {
		if got, want := explain(executor(t, s, name)), explain(want); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}
