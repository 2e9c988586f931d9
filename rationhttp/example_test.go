package rationhttp_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/internal/memhttp"
	"github.com/ration-go/ration/rationhttp"
)

// flaky answers 503 to the first requests and then 200.
func flaky(failures int64) *memhttp.Server {
	var hits atomic.Int64
	return memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hits.Add(1) <= failures {
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, "hello")
	}))
}

// Most programs need one line: keep the client, and use it for everything.
func ExampleNewClient() {
	client, err := rationhttp.NewClient(ration.Policy{Name: "catalogue"})
	if err != nil {
		log.Fatal(err)
	}
	_ = client // client.Get("https://catalogue.internal/items/7")
	fmt.Println(client.Timeout)
	// Output: 0s
}

// A transport goes around whatever transport a program has.
func ExampleNewTransport() {
	server := flaky(2)
	defer server.Close()

	transport, err := rationhttp.NewTransport(server.Transport(), ration.Policy{
		Name:    "catalogue",
		Backoff: ration.ConstantBackoff(time.Millisecond),
		OnEvent: func(ev ration.Event) {
			if ev.Kind == ration.EventRetrying {
				fmt.Println("retrying after:", ev.Err)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: transport}

	resp, err := client.Get(server.URL())
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, string(body), err)
	// Output:
	// retrying after: rationhttp: GET memory.test: 503 Service Unavailable
	// retrying after: rationhttp: GET memory.test: 503 Service Unavailable
	// 200 hello <nil>
}

// When the library stops a call, the error says why, what failed last, and when
// to come back.
func ExampleStatusError() {
	server := flaky(1000)
	defer server.Close()
	transport, err := rationhttp.NewTransport(server.Transport(), ration.Policy{
		Breaker: &ration.BreakerSettings{ConsecutiveFailures: 1},
	})
	if err != nil {
		log.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodGet, server.URL()+"/items?token=secret", nil)
	if err != nil {
		log.Fatal(err)
	}
	_, err = transport.RoundTrip(req)

	var stop *ration.Error
	var status *rationhttp.StatusError
	if errors.As(err, &stop) && errors.As(err, &status) {
		_, known := stop.RetryAfter()
		fmt.Println(stop.Reason, status.StatusCode, known)
	}
	fmt.Println(err)
	// Output:
	// unavailable 503 true
	// ration: breaker open after 1 attempt: rationhttp: GET memory.test: 503 Service Unavailable
}

// A POST is sent once, unless it says that the server knows copies apart.
func ExampleRepeatable() {
	server := flaky(1)
	defer server.Close()
	transport, err := rationhttp.NewTransport(server.Transport(), ration.Policy{
		Backoff: ration.ConstantBackoff(time.Millisecond),
	})
	if err != nil {
		log.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, server.URL(), nil)
	if err != nil {
		log.Fatal(err)
	}
	// The same as: req.Header.Set("Idempotency-Key", key)
	req = req.WithContext(rationhttp.Repeatable(req.Context()))
	resp, err := transport.RoundTrip(req)
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Println(resp.StatusCode)
	// Output: 200
}

// A reverse proxy retries what it may, reports that its clients retry too, and
// says in a problem document when it gives up.
func Example_reverseProxy() {
	backend := flaky(2)
	defer backend.Close()
	target, err := url.Parse(backend.URL())
	if err != nil {
		log.Fatal(err)
	}

	transport, err := rationhttp.NewTransport(backend.Transport(), ration.Policy{
		Name:    "backend",
		Backoff: ration.ConstantBackoff(time.Millisecond),
		OnEvent: func(ev ration.Event) {
			if ev.Kind == ration.EventNestedRetry {
				fmt.Println("somebody above retries too")
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: transport,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if !rationhttp.WriteError(w, r, err) {
				w.WriteHeader(http.StatusBadGateway)
			}
		},
	}
	front := memhttp.New(rationhttp.Middleware()(proxy))
	defer front.Close()

	req, err := http.NewRequest(http.MethodGet, front.URL(), nil)
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set(rationhttp.RetryingHeader, "1")
	resp, err := front.Client().Do(req)
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Println(resp.StatusCode)
	// Output:
	// somebody above retries too
	// 200
}

// A service in the middle passes on how long its caller waits and how much it
// matters, and tells a caller that retries when it has retried enough itself.
func Example_serviceInTheMiddle() {
	bottom := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("bottom:", r.Header.Get(rationhttp.CriticalityHeader))
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer bottom.Close()

	transport, err := rationhttp.NewTransport(bottom.Transport(),
		ration.Policy{Name: "bottom", Backoff: ration.ConstantBackoff(time.Millisecond)},
		rationhttp.WithDeadlineHeader(), rationhttp.WithCriticalityHeader(), rationhttp.ObeyBrokenLoops())
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The request's context carries everything that the caller said.
		req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, bottom.URL(), nil)
		if err != nil {
			http.Error(w, "", http.StatusInternalServerError)
			return
		}
		resp, err := client.Do(req)
		if err != nil {
			if !rationhttp.WriteError(w, r, err) {
				w.WriteHeader(http.StatusBadGateway)
			}
			return
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
	})
	middle := memhttp.New(rationhttp.Middleware(
		rationhttp.BreakLoops(), rationhttp.ReserveDeadline(20*time.Millisecond))(handler))
	defer middle.Close()

	req, err := http.NewRequest(http.MethodGet, middle.URL(), nil)
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set(rationhttp.RetryingHeader, "1")
	req.Header.Set(rationhttp.DeadlineHeader, "5000")
	req.Header.Set(rationhttp.CriticalityHeader, "Sheddable")
	resp, err := middle.Client().Do(req)
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Println("caller:", resp.StatusCode, resp.Header.Get(rationhttp.RetryHeader))
	// Output:
	// bottom: Sheddable
	// bottom: Sheddable
	// bottom: Sheddable
	// caller: 503 never
}

// A page for when things go wrong.
func ExampleTransport_Hosts() {
	server := flaky(0)
	defer server.Close()
	transport, err := rationhttp.NewTransport(server.Transport(), ration.Policy{})
	if err != nil {
		log.Fatal(err)
	}
	resp, err := (&http.Client{Transport: transport}).Get(server.URL())
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	for _, h := range transport.Hosts() {
		fmt.Printf("%s: budget used %.0f%%, breaker %v\n", h.Host, 100*h.Utilization, h.Breaker.State)
	}
	// Output: memory.test:80: budget used 0%, breaker closed
}

// A handler turns a refusal into an answer that its caller can act on.
func ExampleWriteError() {
	limited := &rationhttp.LimitedError{RetryAfter: 1500 * time.Millisecond}
	server := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !rationhttp.WriteError(w, r, limited) {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	resp, err := server.Client().Get(server.URL())
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, resp.Header.Get("Retry-After"), err)
	fmt.Println(string(body))
	// Output:
	// 503 2 <nil>
	// {"type":"urn:nresilience:rate-limited","title":"This service limits its calls to a dependency","status":503}
}
