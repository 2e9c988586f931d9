package rationhttp_test

import (
	"net/http"
	"testing"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

// The contract is at most 8 allocations above the bare base.
func TestAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	const limit = 8
	perCall := func(rt http.RoundTripper, req *http.Request) float64 {
		return testing.AllocsPerRun(1000, func() {
			resp, err := rt.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		})
	}
	rt := newTransport(t, roundTripper(stub), ration.Policy{})
	req := benchmarkRequest(t)
	bare := perCall(roundTripper(stub), req)
	if n := perCall(rt, req) - bare; n > limit {
		t.Errorf("%v allocations, want at most %d", n, limit)
	}
	// What may not be retried carries no marker and needs no header of its own.
	single := req.WithContext(rationhttp.SingleShot(req.Context()))
	if n := perCall(rt, single) - bare; n > 3 {
		t.Errorf("%v allocations for a single attempt", n)
	}
}
