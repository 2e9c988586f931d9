package bench

import (
	"context"
	"testing"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"
)

// failsafeCall nests the policies as the documentation of failsafe-go does: the
// retries outside, the timeout inside. The executor is kept, and given the context
// of each call.
func failsafeCall(_ testing.TB, p plan) func(context.Context, work) (int, error) {
	e := failsafe.With(failsafePolicies[int](p)...)
	return func(ctx context.Context, fn work) (int, error) {
		return e.WithContext(ctx).GetWithExecution(func(exec failsafe.Execution[int]) (int, error) {
			return fn(exec.Context())
		})
	}
}

func failsafePolicies[R any](p plan) []failsafe.Policy[R] {
	policies := []failsafe.Policy[R]{failsafeRetry(retrypolicy.NewBuilder[R](), p)}
	if p.breaker {
		policies = append(policies, failsafeBreaker[R]())
	}
	if p.timeout {
		policies = append(policies, timeout.New[R](attemptTimeout))
	}
	return policies
}

func failsafeRetry[R any](b retrypolicy.Builder[R], p plan) retrypolicy.RetryPolicy[R] {
	b = b.WithMaxAttempts(attempts)
	if !p.eager {
		b = b.WithBackoff(firstDelay, longestDelay).WithJitterFactor(0.25)
	}
	if p.budget {
		b = b.WithBudget(budget.New())
	}
	return b.Build()
}

func failsafeBreaker[R any]() circuitbreaker.CircuitBreaker[R] {
	return circuitbreaker.NewBuilder[R]().
		WithFailureThreshold(tripAfter).
		WithDelay(breakFor).
		Build()
}

// failsafeBudget is what failsafe-go asks of a budget. The interface is internal
// there, but the methods can be reached.
type failsafeBudget interface {
	budget.Budget
	RecordExecution()
	ReleaseExecution()
	TryAcquirePermit() bool
	ReleasePermit()
}
