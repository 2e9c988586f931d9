package bench

import "context"

// A call that succeeds at once: nearly all of them, on a good day. The bucket is
// full and the breaker closed.
var successGroup = group{"Success", []row{
	{name: "retry", peers: peersFor(plan{}, true, 0, alwaysSucceed)},
	{name: "retry+budget", peers: peersFor(plan{budget: true}, true, 0, alwaysSucceed)},
	{name: "retry+budget+breaker", peers: peersFor(
		plan{budget: true, breaker: true}, false, 0, alwaysSucceed)},
}}

var timed = plan{budget: true, breaker: true, timeout: true}

// The same with a timeout for the attempt, by what the function does with its
// context.
var timeoutGroup = group{"Timeout", []row{
	{name: "ignored", peers: peersFor(timed, false, 1, alwaysSucceed)},
	{name: "polled", peers: peersFor(timed, false, 1, func() work {
		return func(ctx context.Context) (int, error) { return 1, ctx.Err() }
	})},
	{name: "waited-on", peers: peersFor(timed, false, 7, func() work {
		ready := make(chan struct{})
		close(ready)
		never := make(chan struct{})
		return func(ctx context.Context) (int, error) {
			// Both channels are asked for, as a select with work in it does.
			select {
			case <-ctx.Done():
				return 0, ctx.Err()
			case <-never:
				return 0, nil
			case <-ready:
				return 1, nil
			}
		}
	})},
	{name: "derived", peers: peersFor(timed, false, 11, func() work {
		return func(ctx context.Context) (int, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			return 1, ctx.Err()
		}
	})},
}}
