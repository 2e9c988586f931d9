package bench

import (
	"context"
	"testing"

	"github.com/cenkalti/backoff/v5"
)

// backoffCall makes a new back-off for each call, as one is not safe for
// concurrent use.
func backoffCall(_ testing.TB, p plan) func(context.Context, work) (int, error) {
	attempt := attemptWith(p)
	return func(ctx context.Context, fn work) (int, error) {
		var b backoff.BackOff = &backoff.ZeroBackOff{}
		if !p.eager {
			b = backoff.NewExponentialBackOff()
		}
		return backoff.Retry(ctx, func() (int, error) { return attempt(ctx, fn) },
			backoff.WithBackOff(b), backoff.WithMaxTries(attempts))
	}
}
