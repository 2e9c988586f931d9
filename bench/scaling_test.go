package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/ration-go/ration"
)

// The success path shared by goroutines, on one processor and on two. A figure is
// wall time per call, so that a path without contention halves it with the second
// processor. The ratio variant has a failure ratio, and so a window that every
// success writes; the timeout variant is the zero policy with a breaker, whose
// estimator every success writes.
var scalingGroup = group{"Scaling", scalingRows()}

func scalingRows() []row {
	full := plan{budget: true, breaker: true}
	peers := []peer{
		{ours, sharedBy(full, rationCall), 0},
		{ours + "-ratio", sharedBy(full, ratioCall), 0},
		{ours + "-timeout", sharedBy(timed, rationCall), 1},
		{name: "failsafe-go", prepare: sharedBy(full, failsafeCall)},
		{name: "go-retry+gobreaker", prepare: sharedBy(full, goRetryCall)},
		floorOf(clockPair),
	}
	var rows []row
	for _, procs := range []int{1, 2} {
		for _, goroutines := range []int{1, 2, 8, 64, 512} {
			rows = append(rows, row{
				name:       fmt.Sprintf("procs=%d,goroutines=%d", procs, goroutines),
				goroutines: goroutines,
				procs:      procs,
				peers:      peers,
			})
		}
	}
	return rows
}

func sharedBy(
	p plan, of func(testing.TB, plan) func(context.Context, work) (int, error),
) func(testing.TB) func(int) {
	return func(tb testing.TB) func(int) {
		call, ctx := of(tb, p), context.Background()
		return repeat(func() { call(ctx, succeed) })
	}
}

func ratioCall(tb testing.TB, p plan) func(context.Context, work) (int, error) {
	policy := rationPolicy(tb, p)
	policy.Breaker = &ration.BreakerSettings{FailureRatio: 0.5}
	return callWith(ration.MustNew(policy))
}
