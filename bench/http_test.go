package bench

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/timeout"
	"github.com/hashicorp/go-retryablehttp"
	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

// HTTP: over a stub, which shows what a library costs, and on loopback, which shows
// what that is worth. Retries alone, which is what retryablehttp does, and then
// with everything: for us the zero policy.
var httpGroup = group{"HTTP", []row{
	{name: "stub,retry", peers: httpPeers(plan{}, stubbed, 8)},
	{name: "stub,retry+budget+breaker+timeout", peers: httpPeers(timed, stubbed, 8)},
	{name: "loopback,retry", peers: httpPeers(plan{}, loopback, 90)},
	{name: "loopback,retry+budget+breaker+timeout", peers: httpPeers(timed, loopback, 90)},
}}

// A wrapping makes a transport of a base.
type wrapping func(tb testing.TB, base http.RoundTripper) http.RoundTripper

func httpPeers(
	p plan, over func(tb testing.TB, wrap wrapping) func(int), allocs float64,
) []peer {
	wrappings := []struct {
		name string
		wrap wrapping
	}{
		{ours, func(tb testing.TB, base http.RoundTripper) http.RoundTripper {
			return rationTransport(tb, p, base)
		}},
		{"failsafe-go", func(_ testing.TB, base http.RoundTripper) http.RoundTripper {
			return failsafehttp.NewRoundTripper(base, failsafeHTTP(p)...)
		}},
		{"retryablehttp", func(_ testing.TB, base http.RoundTripper) http.RoundTripper {
			return retryableTransport(base)
		}},
		{"bare", func(_ testing.TB, base http.RoundTripper) http.RoundTripper { return base }},
	}
	var peers []peer
	for _, w := range wrappings {
		if w.name == "retryablehttp" && p.breaker {
			continue // it has none
		}
		peers = append(peers, peer{w.name, func(tb testing.TB) func(int) {
			return over(tb, w.wrap)
		}, allocs})
	}
	return peers
}

func rationTransport(tb testing.TB, p plan, base http.RoundTripper) http.RoundTripper {
	policy := rationPolicy(tb, p)
	if !p.breaker {
		policy.Breaker = ration.NoBreaker
	}
	t, err := rationhttp.NewTransport(base, policy)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func failsafeHTTP(p plan) []failsafe.Policy[*http.Response] {
	policies := []failsafe.Policy[*http.Response]{
		failsafeRetry(failsafehttp.NewRetryPolicyBuilder(), p),
	}
	if p.breaker {
		policies = append(policies, failsafeBreaker[*http.Response]())
	}
	if p.timeout {
		policies = append(policies, timeout.New[*http.Response](attemptTimeout))
	}
	return policies
}

func retryableTransport(base http.RoundTripper) http.RoundTripper {
	c := retryablehttp.NewClient()
	c.HTTPClient.Transport = base
	c.RetryMax = attempts - 1
	c.Logger = nil
	return &retryablehttp.RoundTripper{Client: c}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// stubbed sends through a base that answers at once, in a response of its own.
func stubbed(tb testing.TB, wrap wrapping) func(int) {
	transport := wrap(tb, roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	}))
	req, err := http.NewRequest(http.MethodGet, "https://example.com/path", nil)
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("Accept", "application/json")
	return repeat(func() {
		resp, err := transport.RoundTrip(req)
		if err != nil {
			tb.Fatal(err)
		}
		resp.Body.Close()
	})
}

// loopback gets a small body from a server of the standard library, through a
// client of it.
func loopback(tb testing.TB, wrap wrapping) func(int) {
	body := []byte("hello\n")
	server := httptest.NewUnstartedServer(http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { w.Write(body) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	tb.Cleanup(server.Close)
	base := http.DefaultTransport.(*http.Transport).Clone()
	tb.Cleanup(base.CloseIdleConnections)
	client := &http.Client{Transport: wrap(tb, base)}
	return repeat(func() {
		resp, err := client.Get(server.URL)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			tb.Fatal(err)
		}
		resp.Body.Close()
	})
}
