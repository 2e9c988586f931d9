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
	floor("context-timeout", idleLoop),
}}

func floor(name string, loop func(n int)) row {
	return row{name: name, peers: []peer{floorOf(loop)}}
}

// floorOf makes a floor a peer, so that a row has its own beside it: figures that
// are to be compared should be taken within the same second.
func floorOf(loop func(n int)) peer {
	return peer{name: "floor", prepare: func(testing.TB) func(int) { return loop }}
}

// What a timeout of the standard library costs to a function that ignores it, to
// one that waits on it, and to one that derives from it.
var (
	idleLoop   = contextLoop(func(context.Context) {})
	waitLoop   = contextLoop(func(ctx context.Context) { waitOn(ctx) })
	deriveLoop = contextLoop(func(ctx context.Context) { derive(ctx) })
)

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
