package bench

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/ration-go/ration"
)

// Refusals: the path of the worst minutes. Ration is driven by hand, as Do would
// serve the pause of 100 ms that keeps a caller from spinning on a refusal: what is
// measured is the decision, from Begin to the error. A call that the budget
// refuses has made its first attempt, for all peers.
var refusalGroup = group{"Refusal", []row{
	{name: "open-breaker", peers: []peer{
		{ours, refusedByBreaker, 1},
		{name: "failsafe-go", prepare: func(tb testing.TB) func(int) {
			breaker := failsafeBreaker[int]()
			breaker.Open()
			e := failsafe.With(breaker)
			return refusedCalls(tb, func(ctx context.Context, fn work) (int, error) {
				return e.WithContext(ctx).Get(func() (int, error) { return fn(ctx) })
			})
		}},
		{name: "gobreaker", prepare: func(tb testing.TB) func(int) {
			attempt := attemptWith(plan{breaker: true})
			for range tripAfter {
				attempt(context.Background(), failing(attempts, errReset)())
			}
			return refusedCalls(tb, attempt)
		}},
	}},
	{name: "empty-budget", peers: []peer{
		{ours, refusedByBudget, 1},
		{name: "failsafe-go", prepare: func(tb testing.TB) func(int) {
			// One retry in flight is all that this budget allows.
			b := budget.NewBuilder().WithMinConcurrency(1).WithMaxRate(0.01).Build()
			b.(failsafeBudget).TryAcquirePermit()
			e := failsafe.With(retrypolicy.NewBuilder[int]().WithBudget(b).Build())
			return refusedCalls(tb, func(ctx context.Context, fn work) (int, error) {
				return e.WithContext(ctx).Get(func() (int, error) { return fn(ctx) })
			})
		}},
		{name: "aws", prepare: func(tb testing.TB) func(int) {
			r := retry.NewStandard(func(o *retry.StandardOptions) {
				o.RateLimiter = ratelimit.NewTokenRateLimit(0)
				o.Retryables = append(o.Retryables, awsRetryable)
			})
			m := retry.NewAttemptMiddleware(r, func(request any) any { return request })
			return refusedCalls(tb, func(ctx context.Context, fn work) (int, error) {
				_, _, err := m.HandleFinalize(ctx, middleware.FinalizeInput{}, awsHandler(fn))
				return 0, err
			})
		}},
	}},
}}

// refusedCalls checks that a call fails after one attempt at most.
func refusedCalls(
	tb testing.TB, call func(context.Context, work) (int, error),
) func(int) {
	ctx, made := context.Background(), 0
	fn := func(context.Context) (int, error) {
		made++
		return 0, errReset
	}
	if _, err := call(ctx, fn); err == nil || made > 1 {
		tb.Fatalf("%d attempts and error %v, want a refusal", made, err)
	}
	return repeat(func() { call(ctx, fn) })
}

func refusedByBreaker(tb testing.TB) func(int) {
	e := ration.MustNew(ration.Policy{Breaker: &ration.BreakerSettings{Break: time.Hour}})
	now := time.Now()
	failed := ration.Outcome{Err: errReset, Verdict: e.Classify(0, errReset)}
	for range tripAfter {
		call := e.Begin(context.Background(), now)
		call.Next(now, failed, 0)
		call.Abandon(now)
	}
	return driven(tb, ration.StopUnavailable, func() ration.Decision {
		call := e.Begin(context.Background(), now)
		return call.Next(now, ration.Outcome{}, 0)
	})
}

func refusedByBudget(tb testing.TB) func(int) {
	b, err := ration.NewBudget(0.1, 0)
	if err != nil {
		tb.Fatal(err)
	}
	now := time.Now()
	b.Withdraw(now, ration.Critical)
	e := ration.MustNew(ration.Policy{Budget: b, Backoff: ration.NoBackoff})
	return driven(tb, ration.StopBudgetExhausted, func() ration.Decision {
		call := e.Begin(context.Background(), now)
		o := ration.Outcome{Err: errReset, Verdict: e.Classify(0, errReset)}
		call.Next(now, o, 0.5)
		return call.Next(now, ration.Outcome{}, 0)
	})
}

// driven checks that a call that is driven by hand stops for the reason given.
func driven(tb testing.TB, want ration.StopReason, call func() ration.Decision) func(int) {
	if d := call(); d.Action != ration.ActStop || d.Reason != want {
		tb.Fatalf("%v for %v, want a stop for %v", d.Action, d.Reason, want)
	}
	return repeat(func() { call() })
}
