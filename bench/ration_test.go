package bench

import (
	"context"
	"testing"

	"github.com/ration-go/ration"
)

// rationPolicy has no deadline of the call, which no peer has either, unless it
// has an attempt timeout: then all that is left out means its default, the
// measured ceiling and the deadline included.
func rationPolicy(tb testing.TB, p plan) ration.Policy {
	policy := ration.Policy{Name: "bench", Budget: ration.NoBudget}
	if p.budget {
		policy.Budget = nil
	}
	if p.breaker {
		policy.Breaker = &ration.BreakerSettings{}
	}
	if !p.timeout {
		policy.Deadline, policy.AttemptTimeout = ration.NoLimit, ration.NoLimit
	}
	if p.eager {
		policy.Backoff = ration.NoBackoff
		if p.budget {
			policy.Budget = deepBudget(tb)
		}
	}
	return policy
}

// deepBudget refills faster than a loop can spend it.
func deepBudget(tb testing.TB) *ration.Budget {
	b, err := ration.NewBudget(1, 100_000_000)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func rationCall(tb testing.TB, p plan) func(context.Context, work) (int, error) {
	return callWith(ration.MustNew(rationPolicy(tb, p)))
}

func callWith(e *ration.Executor) func(context.Context, work) (int, error) {
	return func(ctx context.Context, fn work) (int, error) { return ration.Do(ctx, e, fn) }
}
