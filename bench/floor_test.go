package bench

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// The floors: what no library that does the job can do without.
var floorGroup = group{"Floor", []row{
	floor("two-clock-reads", clockPair),
	floor("atomic-load", loadLoop),
	floor("timer", func(n int) {
		for range n {
			time.NewTimer(time.Hour).Stop()
		}
	}),
	floor("context-timeout", contextLoop(func(context.Context) {})),
	floor("context-timeout,waited-on", waitLoop),
	floor("context-timeout,derived", contextLoop(func(ctx context.Context) {
		_, cancel := context.WithCancel(ctx)
		cancel()
	})),
}}

func floor(name string, loop func(n int)) row {
	return row{name: name, peers: []peer{{
		name:    "floor",
		prepare: func(testing.TB) func(int) { return loop },
	}}}
}

// waitLoop is what any timeout costs that a function waits on.
var waitLoop = contextLoop(func(ctx context.Context) { ctx.Done() })

// contextLoop makes a context with a timeout, uses it and cancels it.
func contextLoop(use func(context.Context)) func(n int) {
	return func(n int) {
		parent := context.Background()
		for range n {
			ctx, cancel := context.WithTimeout(parent, time.Hour)
			use(ctx)
			cancel()
		}
	}
}

var (
	floorBase = time.Now()
	floorSink time.Duration
	floorWord atomic.Uint64
)

// clockPair reads the monotonic clock twice for each job: when a call begins, and
// when its attempt has ended.
func clockPair(n int) {
	var sum time.Duration
	for range n {
		sum += time.Since(floorBase)
		sum += time.Since(floorBase)
	}
	floorSink = sum
}

func loadLoop(n int) {
	for range n {
		loadWord()
	}
}

//go:noinline
func loadWord() uint64 { return floorWord.Load() }
