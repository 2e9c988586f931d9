package ration

import (
	"context"
	"testing"
	"time"
)

// boundedCalls are what [BenchmarkAttemptContext] compares: make a context, use
// it, end it. The first two are given the deadline, as the executor has read the
// clock anyway; WithTimeout reads it itself.
var boundedCalls = []struct {
	name string
	call func(parent context.Context, until time.Time, use func(context.Context))
}{
	{"lazy", func(parent context.Context, until time.Time, use func(context.Context)) {
		ctx, c := newAttemptContext(parent, instantOf(until), false)
		use(ctx)
		c.finish()
	}},
	{"WithDeadline", func(parent context.Context, until time.Time, use func(context.Context)) {
		ctx, cancel := context.WithDeadline(parent, until)
		use(ctx)
		cancel()
	}},
	{"WithTimeout", func(parent context.Context, _ time.Time, use func(context.Context)) {
		ctx, cancel := context.WithTimeout(parent, time.Hour)
		use(ctx)
		cancel()
	}},
}

var contextUses = []struct {
	name string
	use  func(ctx context.Context)
}{
	{"ignored", func(context.Context) {}},
	{"Err", func(ctx context.Context) {
		if ctx.Err() != nil {
			panic("ended")
		}
	}},
	{"Deadline", func(ctx context.Context) {
		if _, ok := ctx.Deadline(); !ok {
			panic("no deadline")
		}
	}},
	{"Done", func(ctx context.Context) {
		select {
		case <-ctx.Done():
			panic("ended")
		default:
		}
	}},
	{"child", func(ctx context.Context) {
		_, cancel := context.WithCancel(ctx)
		cancel()
	}},
}

// BenchmarkAttemptContext runs every use under a parent that never ends and under
// one that can.
func BenchmarkAttemptContext(b *testing.B) {
	cancelable, cancel := context.WithCancel(context.Background())
	defer cancel()
	parents := map[string]context.Context{"background": context.Background(), "cancelable": cancelable}
	for _, parent := range []string{"background", "cancelable"} {
		for _, use := range contextUses {
			for _, bounded := range boundedCalls {
				b.Run(parent+"/"+use.name+"/"+bounded.name, func(b *testing.B) {
					until := time.Now().Add(time.Hour)
					b.ReportAllocs()
					for b.Loop() {
						bounded.call(parents[parent], until, use.use)
					}
				})
			}
		}
	}
}

// BenchmarkAttemptContextFailed adds the question that the executor asks after a
// failure.
func BenchmarkAttemptContextFailed(b *testing.B) {
	until := time.Now().Add(time.Hour)
	b.ReportAllocs()
	for b.Loop() {
		c := attemptUntil(context.Background(), until)
		if c.timedOut() {
			b.Fatal("timed out")
		}
		c.finish()
	}
}
