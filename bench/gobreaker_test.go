package bench

import (
	"context"
	"time"

	"github.com/sony/gobreaker/v2"
)

func newGobreaker() *gobreaker.CircuitBreaker[int] {
	return gobreaker.NewCircuitBreaker[int](gobreaker.Settings{
		Name:    "bench",
		Timeout: breakFor,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.ConsecutiveFailures >= tripAfter
		},
	})
}

// attemptWith returns what one attempt of a retry library is: fn, within a breaker
// and a timeout if p asks for them. This is how their users add both.
func attemptWith(p plan) func(context.Context, work) (int, error) {
	attempt := func(ctx context.Context, fn work) (int, error) { return fn(ctx) }
	if p.timeout {
		attempt = attemptWithin(attemptTimeout)
	}
	if !p.breaker {
		return attempt
	}
	breaker, inner := newGobreaker(), attempt
	return func(ctx context.Context, fn work) (int, error) {
		return breaker.Execute(func() (int, error) { return inner(ctx, fn) })
	}
}

func attemptWithin(d time.Duration) func(context.Context, work) (int, error) {
	return func(ctx context.Context, fn work) (int, error) {
		ctx, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		return fn(ctx)
	}
}
