package examples

import (
	"fmt"
	"log"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

// A rate.Limiter limits the attempts of a client in one line. A refusal costs
// no retry token and is tried again after the policy's throttled wait.
func Example_limiter() {
	limiter := rate.NewLimiter(rate.Limit(100), 10) // 100 a second, 10 at once

	transport, err := rationhttp.NewTransport(nil, ration.Policy{Name: "catalogue"},
		rationhttp.WithLimiter(limiter))
	if err != nil {
		log.Fatal(err)
	}
	_ = http.Client{Transport: transport}
	// Output:
}

// With a reservation the limiter says itself when the attempt may go out.
func Example_reservation() {
	limiter := rate.NewLimiter(rate.Every(20*time.Millisecond), 1)
	var start time.Time
	answer := roundTripper(func(*http.Request) (*http.Response, error) {
		if time.Since(start) >= 20*time.Millisecond {
			fmt.Println("sent once there was a token")
		}
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})

	transport, err := rationhttp.NewTransport(answer, ration.Policy{Name: "catalogue"},
		rationhttp.WithReservation(func() (bool, time.Duration, func()) {
			r := limiter.Reserve()
			return r.OK(), r.Delay(), r.Cancel
		}))
	if err != nil {
		log.Fatal(err)
	}
	client := http.Client{Transport: transport}

	start = time.Now()
	limiter.Allow() // somebody else has taken the token
	resp, err := client.Get("http://catalogue.internal/items/7")
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Println(resp.StatusCode)
	// Output:
	// sent once there was a token
	// 200
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
