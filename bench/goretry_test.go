package bench

import (
	"context"
	"testing"
	"time"

	"github.com/sethvargo/go-retry"
)

// goRetryCall makes a new back-off for each call, as one counts the retries of a
// single call. What may be retried must be marked, which is part of the job.
func goRetryCall(_ testing.TB, p plan) func(context.Context, work) (int, error) {
	attempt := attemptWith(p)
	return func(ctx context.Context, fn work) (int, error) {
		var b retry.Backoff = retry.BackoffFunc(func() (time.Duration, bool) { return 0, false })
		if !p.eager {
			b = retry.WithJitterPercent(25, retry.NewExponential(firstDelay))
		}
		b = retry.WithMaxRetries(attempts-1, b)
		return retry.DoValue(ctx, b, func(ctx context.Context) (int, error) {
			n, err := attempt(ctx, fn)
			if err != nil {
				return n, retry.RetryableError(err)
			}
			return n, nil
		})
	}
}
