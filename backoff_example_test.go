package ration_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ration-go/ration"
)

// waits prints the waits that a backoff puts between five attempts.
func waits(b ration.Backoff, verdict ration.VerdictKind) {
	executor := ration.MustNew(ration.Policy{
		Attempts: 5, Deadline: ration.NoLimit, Budget: ration.NoBudget, Backoff: b,
	})
	now := time.Now()
	failure := ration.Outcome{
		Err:     errors.New("unavailable"),
		Verdict: ration.Verdict{Kind: verdict},
	}
	var waits []any
	call := executor.Begin(context.Background(), now)
	for d := call.Decision(); d.Action != ration.ActStop; {
		if d.Action == ration.ActWait {
			waits = append(waits, d.Delay)
			now = d.At
		}
		d = call.Next(now, failure, 0.5)
	}
	fmt.Println(waits...)
}

// Without jitter, to show the numbers. Leave it on in a program.
func ExampleBackoff() {
	waits(ration.Backoff{Jitter: ration.NoJitter}, ration.VerdictTransient)
	waits(ration.Backoff{Jitter: ration.NoJitter}, ration.VerdictThrottled)
	waits(ration.Backoff{
		Transient: 20 * time.Millisecond,
		Factor:    3,
		Max:       300 * time.Millisecond,
		Jitter:    ration.NoJitter,
	}, ration.VerdictTransient)
	// Output:
	// 100ms 200ms 400ms 800ms
	// 1s 2s 4s 8s
	// 20ms 60ms 180ms 300ms
}

func ExampleBackoff_custom() {
	waits(ration.Backoff{Custom: func(next ration.Next) time.Duration {
		return time.Duration(next.Attempt) * time.Second
	}}, ration.VerdictTransient)
	// Output: 2s 3s 4s 5s
}

// The random number that the jitter is given here is one half.
func ExampleConstantBackoff() {
	waits(ration.ConstantBackoff(time.Second), ration.VerdictTransient)
	exactly := ration.ConstantBackoff(time.Second)
	exactly.Jitter = ration.NoJitter
	waits(exactly, ration.VerdictTransient)
	// Output:
	// 500ms 500ms 500ms 500ms
	// 1s 1s 1s 1s
}

func ExampleJitter() {
	for _, jitter := range []ration.Jitter{ration.FullJitter, ration.EqualJitter, ration.NoJitter} {
		waits(ration.Backoff{Jitter: jitter}, ration.VerdictTransient)
	}
	// Output:
	// 50ms 100ms 200ms 400ms
	// 75ms 150ms 300ms 600ms
	// 100ms 200ms 400ms 800ms
}

// The first wait follows what a normal call takes, between 10 ms and 1 s, which
// is as far from 100 ms as Spread allows.
func ExampleMeasuredBase() {
	executor := ration.MustNew(ration.Policy{
		Backoff: ration.Backoff{Measured: &ration.MeasuredBase{Multiple: 2}},
	})
	fmt.Println(executor.Policy().Backoff.Measured.Spread)
	// Output: 10
}
