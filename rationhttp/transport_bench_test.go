package rationhttp_test

import (
	"net/http"
	"testing"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

// stub answers 200 at once, in a response of its own for each request.
func stub(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func benchmarkRequest(tb testing.TB) *http.Request {
	tb.Helper()
	req, err := http.NewRequest(http.MethodGet, "https://example.com/path", nil)
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "test")
	return req
}

// The contract is at most 700 ns and 8 allocations above the bare base.
func BenchmarkRoundTrip(b *testing.B) {
	protected, err := rationhttp.NewTransport(roundTripper(stub), ration.Policy{})
	if err != nil {
		b.Fatal(err)
	}
	for _, bm := range []struct {
		name      string
		transport http.RoundTripper
	}{
		{"bare", roundTripper(stub)},
		{"protected", protected},
	} {
		b.Run(bm.name, func(b *testing.B) {
			req := benchmarkRequest(b)
			b.ReportAllocs()
			for b.Loop() {
				resp, err := bm.transport.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
			}
		})
	}
}
