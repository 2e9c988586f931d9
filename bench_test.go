package ration_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/ration-go/ration"
)

// The floor of a call is two reads of the monotonic clock: one when it begins
// and one when its attempt has ended. Read the other figures as multiples of
// this one, from the same run.
func BenchmarkTwoClockReads(b *testing.B) {
	base := time.Now()
	var sum time.Duration
	for b.Loop() {
		sum += time.Since(base)
		sum += time.Since(base)
	}
	if sum < 0 {
		b.Fatal(sum)
	}
}

// benchPolicy is a budget, a breaker with both of its trips, and retries that do
// not wait.
func benchPolicy() ration.Policy {
	return ration.Policy{
		Name:    "bench",
		Backoff: ration.NoBackoff,
		Breaker: &ration.BreakerSettings{
			FailureRatio: 0.9, ConsecutiveFailures: 1 << 30, MinimumCalls: 1 << 30,
		},
		Deadline:       ration.NoLimit,
		AttemptTimeout: ration.NoLimit,
	}
}

func timedPolicy() ration.Policy {
	p := benchPolicy()
	p.AttemptTimeout = 10 * time.Second
	return p
}

func BenchmarkSuccess(b *testing.B) {
	polled := func(ctx context.Context) error { return ctx.Err() }
	waited := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		default:
			return nil
		}
	}
	listener := benchPolicy()
	listener.OnEvent = func(ration.Event) {}
	for _, bc := range []struct {
		name string
		p    ration.Policy
		fn   func(context.Context) error
	}{
		{"no timeout", benchPolicy(), succeed},
		{"listener", listener, succeed},
		{"timeout", timedPolicy(), succeed},
		{"timeout, polled", timedPolicy(), polled},
		{"timeout, waited for", timedPolicy(), waited},
	} {
		e := ration.MustNew(bc.p)
		for _, goroutines := range []int{1, 2} {
			b.Run(bc.name+map[int]string{1: "/1", 2: "/2 goroutines"}[goroutines], func(b *testing.B) {
				share(b, goroutines, func(ctx context.Context) { e.Run(ctx, bc.fn) })
			})
		}
	}
}

// share divides the calls among goroutines, so that a figure is wall time per
// call.
func share(b *testing.B, goroutines int, call func(context.Context)) {
	b.ReportAllocs()
	ctx := context.Background()
	var wg sync.WaitGroup
	for i := range goroutines {
		n := (b.N + i) / goroutines
		wg.Go(func() {
			for range n {
				call(ctx)
			}
		})
	}
	wg.Wait()
}

func BenchmarkFailure(b *testing.B) {
	unbudgeted := benchPolicy()
	unbudgeted.Budget = ration.NoBudget
	timed := timedPolicy()
	timed.Budget = ration.NoBudget
	for _, bc := range []struct {
		name     string
		p        ration.Policy
		failures int
	}{
		{"first fails", unbudgeted, 1},
		{"first fails, timeout", timed, 1},
		{"all fail", unbudgeted, 3},
		{"all fail, timeout", timed, 3},
	} {
		b.Run(bc.name, func(b *testing.B) {
			e := ration.MustNew(bc.p)
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				e.Run(context.Background(), func(context.Context) error {
					if n++; n <= bc.failures {
						return errDown
					}
					return nil
				})
			}
		})
	}
}

// A refusal without its pause, which only a driver can leave out. Each includes
// the attempt that came before it, if any did.
func BenchmarkRefusal(b *testing.B) {
	ctx, now := context.Background(), time.Now()
	b.Run("budget", func(b *testing.B) {
		p := timedPolicy()
		p.Budget = bucketOf(b, 1)
		p.Budget.Withdraw(now, ration.Critical)
		e := ration.MustNew(p)
		b.ReportAllocs()
		for b.Loop() {
			call := e.Begin(ctx, now)
			call.Next(now, transient, 0.5)
			call.Next(now, ok, 0)
		}
	})
	b.Run("breaker", func(b *testing.B) {
		p := timedPolicy()
		p.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 1, Break: time.Hour}
		e := ration.MustNew(p)
		trip := e.Begin(ctx, now)
		trip.Next(now, transient, 0.5)
		b.ReportAllocs()
		for b.Loop() {
			call := e.Begin(ctx, now)
			call.Next(now, ok, 0)
		}
	})
}

func BenchmarkTry(b *testing.B) {
	e := ration.MustNew(benchPolicy())
	b.ReportAllocs()
	for b.Loop() {
		ration.Try(context.Background(), e, func(context.Context) (int, error) { return 1, nil })
	}
}

func BenchmarkCallOfKey(b *testing.B) {
	e := ration.MustNew(benchPolicy())
	b.ReportAllocs()
	for b.Loop() {
		e.For("api.example.com:443").Run(context.Background(), succeed)
	}
}
