package bench

import "context"

// A call that succeeds at once: nearly all of them, on a good day. The bucket is
// full and the breaker closed.
var successGroup = group{"Success", []row{
	{name: "retry", peers: peersFor(plan{}, true, 0, alwaysSucceed, clockPair)},
	{name: "retry+budget", peers: peersFor(plan{budget: true}, true, 0, alwaysSucceed, clockPair)},
	{name: "retry+budget+breaker", peers: peersFor(
		plan{budget: true, breaker: true}, false, 0, alwaysSucceed, clockPair)},
}}

var timed = plan{budget: true, breaker: true, timeout: true}

// The same with a timeout for the attempt, by what the function does with its
// context.
var timeoutGroup = group{"Timeout", []row{
	{name: "ignored", peers: peersFor(timed, false, 1, alwaysSucceed, clockPair)},
	{name: "polled", peers: peersFor(timed, false, 1, func() work { return poll }, clockPair)},
	{name: "waited-on", peers: peersFor(timed, false, 7, func() work { return waitOn }, waitLoop)},
	{name: "derived", peers: peersFor(timed, false, 11, func() work { return derive }, deriveLoop)},
}}

func poll(ctx context.Context) (int, error) { return 1, ctx.Err() }

// waitOn asks for the channel, which is what arms a timer, and finds it open.
func waitOn(ctx context.Context) (int, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	default:
		return 1, nil
	}
}

func derive(ctx context.Context) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return 1, ctx.Err()
}
