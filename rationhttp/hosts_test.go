package rationhttp

import (
	"fmt"
	"hash/maphash"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/ration-go/ration"
)

func TestHostKeys(t *testing.T) {
	k := &hostKeys{seed: maphash.MakeSeed()}
	for _, tc := range []struct{ url, want string }{
		{"http://example.com/a?b", "example.com:80"},
		{"https://example.com", "example.com:443"},
		{"https://example.com:443", "example.com:443"},
		{"http://example.com:443", "example.com:443"},
		{"HTTPS://EXAMPLE.com", "example.com:443"},
		{"https://EXAMPLE.com:8443", "example.com:8443"},
		{"https://example.com:", "example.com:443"},
		{"https://user:S3CRET@example.com", "example.com:443"},
		{"http://[::1]", "[::1]:80"},
		{"http://[::1]:8080", "[::1]:8080"},
		{"http://[FE80::1]", "[fe80::1]:80"},
		{"http://BÜCHER.test", "bücher.test:80"},
		{"foo://example.com", "example.com"},
		{"foo:opaque", ""},
	} {
		u, err := url.Parse(tc.url)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time from memory
			if got := k.of(u); got != tc.want {
				t.Errorf("key of %s is %q, want %q", tc.url, got, tc.want)
			}
		}
	}
}

func TestHostKeysForget(t *testing.T) {
	k := &hostKeys{seed: maphash.MakeSeed()}
	for i := range 10_000 {
		host := fmt.Sprintf("h%d.test", i)
		if got := k.of(&url.URL{Scheme: "http", Host: host}); got != host+":80" {
			t.Fatalf("key %q", got)
		}
	}
	u := &url.URL{Scheme: "https", Host: "example.com"}
	k.of(u)
	if n := testing.AllocsPerRun(100, func() { k.of(u) }); n != 0 {
		t.Errorf("%v allocations for a host that is known", n)
	}
}

type answers map[string]int // by host

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a[r.URL.Host], Body: http.NoBody}, nil
}

func call(t *testing.T, rt http.RoundTripper, url string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err == nil {
		resp.Body.Close()
	}
	return err
}

// C23: each host has its own budget and breaker, and Hosts tells of them.
func TestHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := answers{"a.test": 503, "b.test": 200}
		rt, err := NewTransport(base, ration.Policy{
			Backoff: ration.NoBackoff,
			Breaker: &ration.BreakerSettings{ConsecutiveFailures: 45},
		})
		if err != nil {
			t.Fatal(err)
		}
		if hosts := rt.Hosts(); len(hosts) != 0 {
			t.Errorf("hosts %v before the first call", hosts)
		}
		for range 15 { // 30 retries, all that the bucket has
			call(t, rt, "http://a.test/")
		}
		call(t, rt, "https://b.test/")
		call(t, rt, "https://B.TEST:443/other")
		hosts := rt.Hosts()
		if len(hosts) != 2 || hosts[0].Host != "a.test:80" || hosts[1].Host != "b.test:443" {
			t.Fatalf("hosts %v", hosts)
		}
		if a := hosts[0]; a.Utilization < 0.5 || a.Breaker.State != ration.BreakerOpen {
			t.Errorf("a: %+v", a)
		}
		if b := hosts[1]; b.Utilization != 0 || b.Breaker.State != ration.BreakerClosed {
			t.Errorf("b: %+v", b)
		}
	})
	// A budget that the policy names is shared by all hosts, on purpose.
	synctest.Test(t, func(t *testing.T) {
		budget, err := ration.NewBudget(0.1, 0.2)
		if err != nil {
			t.Fatal(err)
		}
		p := ration.Policy{Budget: budget, Breaker: ration.NoBreaker, Backoff: ration.NoBackoff}
		rt, err := NewTransport(answers{"a.test": 503, "b.test": 503}, p)
		if err != nil {
			t.Fatal(err)
		}
		call(t, rt, "http://a.test/")
		call(t, rt, "http://b.test/")
		for _, h := range rt.Hosts() {
			if h.Utilization < 0.9 {
				t.Errorf("%+v", h)
			}
		}
	})
}

// C30: a flood of hosts does not make the state grow.
func TestManyHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := answers{}
		rt, err := NewTransport(base, ration.Policy{Budget: ration.NoBudget, Attempts: 1})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5_000 {
			call(t, rt, fmt.Sprintf("http://h%d.test/", i))
		}
		hosts := rt.Hosts()
		if len(hosts) > ration.MaxKeys {
			t.Errorf("%d hosts are remembered", len(hosts))
		}
		if !slices.ContainsFunc(hosts, func(h Host) bool { return h.Host == "h4999.test:80" }) {
			t.Error("the last one is not")
		}
	})
}
