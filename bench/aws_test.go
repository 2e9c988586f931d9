package bench

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
)

// awsCall drives the retry middleware of the SDK, the part that a client of any
// service has, with the standard retryer and its token bucket.
func awsCall(_ testing.TB, p plan) func(context.Context, work) (int, error) {
	attempt := attemptWith(p)
	m := retry.NewAttemptMiddleware(awsRetryer(p), func(request any) any { return request })
	return func(ctx context.Context, fn work) (int, error) {
		out, _, err := m.HandleFinalize(ctx, middleware.FinalizeInput{}, awsHandler(
			func(ctx context.Context) (int, error) { return attempt(ctx, fn) }))
		if err != nil {
			return 0, err
		}
		return out.Result.(int), nil
	}
}

func awsRetryer(p plan) *retry.Standard {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = attempts
		o.MaxBackoff = longestDelay
		o.Retryables = append(o.Retryables, awsRetryable)
		if !p.budget {
			o.RateLimiter = ratelimit.None
		}
		if p.eager {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) {
				return 0, nil
			})
			if p.budget {
				o.RateLimiter = ratelimit.NewTokenRateLimit(1 << 60)
			}
		}
	})
}

// awsRetryable lets the standard retryer retry the error of the benchmarks, which
// is none of AWS.
var awsRetryable = retry.RetryableConnectionError{}

type awsHandler work

func (h awsHandler) HandleFinalize(
	ctx context.Context, _ middleware.FinalizeInput,
) (out middleware.FinalizeOutput, m middleware.Metadata, err error) {
	out.Result, err = h(ctx)
	return out, m, err
}
