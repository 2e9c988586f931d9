package ration

import (
	"context"
	"errors"
	"testing"
	"time"
)

var (
	errAlloc     = errors.New("backend said no")
	errAllocDown = Transient(errAlloc)
)

// guarded is a policy with everything on that a call can meet.
func guarded() Policy {
	return Policy{
		Name:    "guarded",
		Backoff: NoBackoff,
		Breaker: &BreakerSettings{FailureRatio: 0.5, ConsecutiveFailures: 1 << 30, MinimumCalls: 1 << 30},
	}
}

// What a call allocates. Times are for benchmarks; this is exact.
func TestCallAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	ctx := t.Context()
	timed := MustNew(guarded())
	p := guarded()
	p.AttemptTimeout, p.Deadline = NoLimit, NoLimit
	untimed := MustNew(p)
	p.OnEvent = func(Event) {}
	watched := MustNew(p)

	// A refusal would pause in real time.
	p = guarded()
	p.Budget = NoBudget
	generous := MustNew(p)
	p.AttemptTimeout, p.Deadline = NoLimit, NoLimit
	untimedGenerous := MustNew(p)

	value := func(context.Context) (int, error) { return 1, nil }
	plain := func(context.Context) error { return nil }
	polling := func(ctx context.Context) error { return ctx.Err() }
	permanent := func(context.Context) error { return errAlloc }
	n := 0
	secondSucceeds := func(context.Context) error {
		if n++; n%2 == 1 {
			return errAllocDown
		}
		return nil
	}
	for _, tc := range []struct {
		name string
		most float64
		call func()
	}{
		{"Do without attempt timeout", 0, func() { Do(ctx, untimed, value) }},
		{"Run without attempt timeout", 0, func() { untimed.Run(ctx, plain) }},
		{"with a listener", 0, func() { watched.Run(ctx, plain) }},
		{"through For", 0, func() { untimed.For("key").Run(ctx, plain) }},
		{"through Once", 0, func() { untimed.Once().Run(ctx, plain) }},
		{"with attempt timeout", 1, func() { timed.Run(ctx, plain) }},
		{"with attempt timeout, context polled", 1, func() { timed.Run(ctx, polling) }},
		{"second attempt succeeds", 0, func() { untimedGenerous.Run(ctx, secondSucceeds) }},
		{"second attempt succeeds, with attempt timeout", 2, func() {
			generous.Run(ctx, secondSucceeds)
		}},
		{"permanent failure", 0, func() { untimed.Run(ctx, permanent) }},
		// The log, and its first attempt.
		{"Try", 2, func() { Try(ctx, untimed, value) }},
	} {
		tc.call() // keys, estimators and the like are made once
		if got := testing.AllocsPerRun(200, tc.call); got > tc.most {
			t.Errorf("%s: %v allocations, want at most %v", tc.name, got, tc.most)
		}
	}
}

// A refusal costs its error and nothing else: it is the path of the worst
// minutes. Driven by hand, since Do would serve the pause.
func TestRefusalAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	now := time.Now()
	down := Outcome{Err: errAlloc, Verdict: Verdict{Kind: VerdictTransient}}

	empty, err := NewBudget(0.1, 0)
	if err != nil {
		t.Fatal(err)
	}
	empty.Withdraw(now, Critical)
	p := guarded()
	p.Budget = empty
	poor := MustNew(p)

	p = guarded()
	p.Breaker = &BreakerSettings{ConsecutiveFailures: 1, Break: time.Hour}
	open := MustNew(p)
	trip := open.Begin(t.Context(), now)
	trip.Next(now, down, 0.5)

	for _, tc := range []struct {
		name string
		want StopReason
		call func() Decision
	}{
		{"budget", StopBudgetExhausted, func() Decision {
			c := poor.Begin(t.Context(), now)
			c.Next(now, down, 0.5)
			return c.Next(now, Outcome{}, 0)
		}},
		{"breaker", StopUnavailable, func() Decision {
			c := open.Begin(t.Context(), now)
			return c.Next(now, Outcome{}, 0)
		}},
	} {
		if d := tc.call(); d.Reason != tc.want {
			t.Fatalf("%s: stopped as %v", tc.name, d.Reason)
		}
		if got := testing.AllocsPerRun(200, func() { tc.call() }); got > 1 {
			t.Errorf("%s: %v allocations, want the error alone", tc.name, got)
		}
	}
}
