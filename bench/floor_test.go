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
	floor("context-timeout", func(n int) {
		ctx := context.Background()
		for range n {
			_, cancel := context.WithTimeout(ctx, time.Hour)
			cancel()
		}
	}),
}}

func floor(name string, loop func(n int)) row {
	return row{name: name, peers: []peer{{
		name:    "floor",
		prepare: func(testing.TB) func(int) { return loop },
	}}}
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
