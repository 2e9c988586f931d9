package ration_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/ration-go/ration"
)

// epoch is when calls that are driven by hand begin. Any time will do.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A callStep is one thing that a driver tells a call, and what must follow. The
// first step of a case is Begin.
type callStep struct {
	at     time.Duration // since epoch
	cancel bool          // the caller cancels just before
	told   ration.Outcome
	want   string  // see describe
	tokens float64 // left afterwards
}

type callCase struct {
	name   string
	policy ration.Policy // Budget nil = a bucket of one token without a floor
	once   bool
	ctx    func(context.Context) context.Context
	steps  []callStep
	events string
	is     []error // what the final error matches; none = it is nil
}

var (
	ok        = ration.Outcome{}
	transient = failure(ration.VerdictTransient)
	throttled = failure(ration.VerdictThrottled)
	permanent = failure(ration.VerdictPermanent)
	timedOut  = ration.Outcome{Err: context.DeadlineExceeded, TimedOut: true}
)

func failure(k ration.VerdictKind) ration.Outcome {
	return ration.Outcome{Err: errBackend, Verdict: ration.Verdict{Kind: k}}
}

func hinted(o ration.Outcome, after time.Duration) ration.Outcome {
	o.Verdict.RetryAfter = after
	return o
}

func selfImposed(o ration.Outcome) ration.Outcome {
	o.Verdict.SelfImposed = true
	return o
}

// describe puts a decision into words.
func describe(d ration.Decision) string {
	switch d.Action {
	case ration.ActAttempt:
		if d.Until.IsZero() {
			return fmt.Sprintf("attempt %d", d.Attempt)
		}
		return fmt.Sprintf("attempt %d until %v", d.Attempt, d.Until.Sub(epoch))
	case ration.ActWait:
		return fmt.Sprintf("wait %v for attempt %d", d.Delay, d.Attempt)
	case ration.ActPause:
		return fmt.Sprintf("pause %v, %v", d.Delay, d.Reason)
	}
	return fmt.Sprintf("%v, %v", d.Action, d.Reason)
}

// A deadlineContext has a deadline that only a driver's clock can reach.
type deadlineContext struct {
	context.Context
	deadline time.Time
}

func (c deadlineContext) Deadline() (time.Time, bool) { return c.deadline, true }

func within(d time.Duration) func(context.Context) context.Context {
	return func(ctx context.Context) context.Context {
		return deadlineContext{ctx, epoch.Add(d)}
	}
}

const ms = time.Millisecond

var exact = ration.Backoff{Jitter: ration.NoJitter}

var callCases = []callCase{{
	name: "success",
	steps: []callStep{
		{want: "attempt 1 until 10s", tokens: 1},
		{at: 20 * ms, told: ok, want: "stop, succeeded", tokens: 1},
		{at: 30 * ms, told: transient, want: "stop, succeeded", tokens: 1},
	},
	events: "attempt succeeded",
}, {
	name:   "success after a retry",
	policy: ration.Policy{Backoff: exact},
	steps: []callStep{
		{want: "attempt 1 until 10s", tokens: 1},
		{at: 20 * ms, told: transient, want: "wait 100ms for attempt 2"},
		{at: 120 * ms, want: "attempt 2 until 10.12s"},
		{at: 130 * ms, told: ok, want: "stop, succeeded", tokens: 0.1},
	},
	events: "attempt retrying attempt succeeded",
}, {
	name: "permanent failure",
	steps: []callStep{
		{want: "attempt 1 until 10s", tokens: 1},
		{told: permanent, want: "stop, permanent", tokens: 1},
	},
	events: "attempt not_retried",
	is:     []error{errBackend},
}, {
	name: "an error called OK is permanent",
	steps: []callStep{
		{want: "attempt 1 until 10s", tokens: 1},
		{told: failure(ration.VerdictOK), want: "stop, permanent", tokens: 1},
	},
	events: "attempt not_retried",
	is:     []error{errBackend},
}, {
	name: "a verdict that is none is permanent",
	steps: []callStep{
		{want: "attempt 1 until 10s", tokens: 1},
		{told: failure(42), want: "stop, permanent", tokens: 1},
	},
	events: "attempt not_retried",
	is:     []error{errBackend},
}, {
	name: "unrepeatable",
	steps: []callStep{
		{want: "attempt 1 until 10s", tokens: 1},
		{told: ration.Outcome{
			Err:          errBackend,
			Verdict:      ration.Verdict{Kind: ration.VerdictTransient},
			Unrepeatable: true,
		}, want: "stop, permanent", tokens: 1},
	},
	events: "attempt not_retried",
	is:     []error{errBackend},
}, {
	name:   "attempts spent",
	policy: ration.Policy{Attempts: 2, Backoff: exact},
	steps: []callStep{
		{want: "attempt 1 until 10s", tokens: 1},
		{told: transient, want: "wait 100ms for attempt 2"},
		{at: 100 * ms, want: "attempt 2 until 10.1s"},
		{at: 100 * ms, told: transient, want: "stop, attempts_exhausted"},
	},
	events: "attempt retrying attempt exhausted",
	is:     []error{errBackend},
}, {
	name:   "one attempt",
	policy: ration.Policy{Attempts: 1},
	steps: []callStep{
		{want: "attempt 1 until 10s", tokens: 1},
		{told: transient, want: "stop, attempts_exhausted", tokens: 1},
	},
	events: "attempt exhausted",
	is:     []error{errBackend},
}, {
	name: "asked for one attempt",
	once: true,
	steps: []callStep{
		{want: "attempt 1 until 10s", tokens: 1},
		{told: transient, want: "stop, attempts_exhausted", tokens: 1},
	},
	events: "attempt exhausted",
	is:     []error{errBackend},
}, {
	name:   "budget spent",
	policy: ration.Policy{Attempts: 5, Backoff: exact},
	steps: []callStep{
		{want: "attempt 1 until 10s", tokens: 1},
		{told: transient, want: "wait 100ms for attempt 2"},
		{at: 100 * ms, want: "attempt 2 until 10.1s"},
		{at: 200 * ms, told: transient, want: "pause 100ms, budget_exhausted"},
		{at: 300 * ms, told: ok, want: "stop, budget_exhausted"},
	},
	events: "attempt retrying attempt rejected_by_budget",
	is:     []error{ration.ErrBudgetExhausted, errBackend},
}, {
	name:   "the deadline cuts the pause",
	policy: ration.Policy{Deadline: 140 * ms, Backoff: ration.NoBackoff},
	steps: []callStep{
		{want: "attempt 1 until 140ms", tokens: 1},
		{told: transient, want: "wait 0s for attempt 2"},
		{want: "attempt 2 until 140ms"},
		{at: 100 * ms, told: transient, want: "pause 40ms, budget_exhausted"},
		{at: 140 * ms, want: "stop, budget_exhausted"},
	},
	events: "attempt retrying attempt rejected_by_budget",
	is:     []error{ration.ErrBudgetExhausted, errBackend},
}, {
	name:   "cancelled in the pause",
	policy: ration.Policy{Backoff: ration.NoBackoff},
	steps: []callStep{
		{want: "attempt 1 until 10s", tokens: 1},
		{told: transient, want: "wait 0s for attempt 2"},
		{want: "attempt 2 until 10s"},
		{told: transient, want: "pause 100ms, budget_exhausted"},
		{at: 10 * ms, cancel: true, want: "stop, budget_exhausted"},
	},
	events: "attempt retrying attempt rejected_by_budget",
	is:     []error{ration.ErrBudgetExhausted, errBackend},
}, {
	name:   "throttled waits longer, and is charged",
	policy: ration.Policy{Backoff: exact},
	steps: []callStep{
		{want: "attempt 1 until 10s", tokens: 1},
		{told: throttled, want: "wait 1s for attempt 2"},
		{at: time.Second, want: "attempt 2 until 11s"},
		{at: time.Second, told: ok, want: "stop, succeeded", tokens: 0.1},
	},
	events: "attempt retrying attempt succeeded",
}, {
	name: "a hint is obeyed to the nanosecond, with jitter on",
	steps: []callStep{
		{want: "attempt 1 until 10s", tokens: 1},
		{told: hinted(throttled, 7*time.Second+1), want: "wait 7.000000001s for attempt 2"},
		{at: 8 * time.Second, want: "attempt 2 until 18s"},
		{at: 8 * time.Second, told: ok, want: "stop, succeeded", tokens: 0.1},
	},
	events: "attempt retrying attempt succeeded",
}, {
	name: "a hint that is not positive is none",
	policy: ration.Policy{
		Backoff: exact, Attempts: 4, Budget: ration.NoBudget, Deadline: ration.NoLimit,
	},
	steps: []callStep{
		{want: "attempt 1 until 10s"},
		{told: hinted(throttled, -time.Second), want: "wait 1s for attempt 2"},
		{at: time.Second, want: "attempt 2 until 11s"},
		{at: time.Second, told: hinted(transient, math.MinInt64), want: "wait 200ms for attempt 3"},
		{at: 2 * time.Second, want: "attempt 3 until 12s"},
		{at: 2 * time.Second, told: hinted(throttled, time.Hour), want: "wait 30s for attempt 4"},
		{at: time.Hour, want: "attempt 4 until 1h0m10s"},
		{at: time.Hour, told: ok, want: "stop, succeeded"},
	},
	events: "attempt retrying attempt retrying attempt retrying attempt succeeded",
}, {
	name:   "a hint that the deadline cannot afford",
	policy: ration.Policy{Deadline: 5 * time.Second},
	steps: []callStep{
		{want: "attempt 1 until 5s", tokens: 1},
		{told: hinted(throttled, 5*time.Second), want: "stop, deadline_exceeded", tokens: 1},
	},
	events: "attempt deadline_exceeded",
	is:     []error{ration.ErrDeadlineExceeded, context.DeadlineExceeded, errBackend},
}, {
	name:   "a hint that it just can",
	policy: ration.Policy{Deadline: 5 * time.Second},
	steps: []callStep{
		{want: "attempt 1 until 5s", tokens: 1},
		{told: hinted(throttled, 5*time.Second-1), want: "wait 4.999999999s for attempt 2"},
		{at: 5*time.Second - 1, want: "attempt 2 until 5s"},
		{at: 5*time.Second - 1, told: ok, want: "stop, succeeded", tokens: 0.1},
	},
	events: "attempt retrying attempt succeeded",
}, {
	name: "a refusal of this process is free",
	steps: []callStep{
		{want: "attempt 1 until 10s", tokens: 1},
		{told: selfImposed(hinted(throttled, ms)), want: "wait 1ms for attempt 2", tokens: 1},
		{at: ms, want: "attempt 2 until 10.001s", tokens: 1},
		{at: ms, told: selfImposed(hinted(throttled, ms)), want: "wait 1ms for attempt 3", tokens: 1},
		{at: 2 * ms, want: "attempt 3 until 10.002s", tokens: 1},
		{at: 2 * ms, told: selfImposed(throttled), want: "stop, attempts_exhausted", tokens: 1},
	},
	events: "attempt retrying attempt retrying attempt exhausted",
	is:     []error{errBackend},
}, {
	name:   "what is not throttled cannot be self-imposed",
	policy: ration.Policy{Backoff: exact},
	steps: []callStep{
		{want: "attempt 1 until 10s", tokens: 1},
		{told: selfImposed(transient), want: "wait 100ms for attempt 2"},
		{at: 100 * ms, want: "attempt 2 until 10.1s"},
		{at: 100 * ms, told: ok, want: "stop, succeeded", tokens: 0.1},
	},
	events: "attempt retrying attempt succeeded",
}, {
	name:   "cancelled in the wait",
	policy: ration.Policy{Backoff: exact},
	steps: []callStep{
		{want: "attempt 1 until 10s", tokens: 1},
		{told: transient, want: "wait 100ms for attempt 2"},
		{at: 10 * ms, cancel: true, want: "stop, canceled", tokens: 1},
	},
	events: "attempt retrying canceled",
	is:     []error{context.Canceled, errBackend},
}, {
	name: "cancelled in the attempt",
	steps: []callStep{
		{want: "attempt 1 until 10s", tokens: 1},
		{cancel: true, told: transient, want: "stop, canceled", tokens: 1},
	},
	events: "attempt canceled",
	is:     []error{context.Canceled, errBackend},
}, {
	name: "finished work is kept",
	steps: []callStep{
		{want: "attempt 1 until 10s", tokens: 1},
		{at: time.Hour, cancel: true, told: ok, want: "stop, succeeded", tokens: 1},
	},
	events: "attempt orphaned_work succeeded",
}, {
	name: "cancelled before it began",
	steps: []callStep{
		{cancel: true, want: "stop, canceled", tokens: 1},
	},
	events: "canceled",
	is:     []error{context.Canceled},
}, {
	name: "the caller's deadline is over before it began",
	ctx:  within(0),
	steps: []callStep{
		{want: "stop, deadline_exceeded", tokens: 1},
	},
	events: "deadline_exceeded",
	is:     []error{ration.ErrDeadlineExceeded, context.DeadlineExceeded},
}, {
	name: "the caller's deadline binds",
	ctx:  within(3 * time.Second),
	steps: []callStep{
		{want: "attempt 1 until 3s", tokens: 1},
		{at: 3 * time.Second, told: timedOut, want: "stop, deadline_exceeded", tokens: 1},
	},
	events: "attempt deadline_exceeded",
	is:     []error{ration.ErrDeadlineExceeded},
}, {
	name:   "the deadline passes in the wait",
	policy: ration.Policy{Deadline: 500 * ms, Backoff: exact},
	steps: []callStep{
		{want: "attempt 1 until 500ms", tokens: 1},
		{told: transient, want: "wait 100ms for attempt 2"},
		{at: 500 * ms, want: "stop, deadline_exceeded", tokens: 1},
	},
	events: "attempt retrying deadline_exceeded",
	is:     []error{ration.ErrDeadlineExceeded, errBackend},
}, {
	name:   "an attempt timeout is transient whatever was said of it",
	policy: ration.Policy{Attempts: 2, AttemptTimeout: time.Second, Backoff: exact},
	steps: []callStep{
		{want: "attempt 1 until 1s", tokens: 1},
		{at: time.Second, told: ration.Outcome{
			Err:      errBackend,
			Verdict:  ration.Verdict{Kind: ration.VerdictPermanent},
			TimedOut: true,
		}, want: "wait 100ms for attempt 2"},
		{at: 1100 * ms, want: "attempt 2 until 2.1s"},
		{at: 2100 * ms, told: timedOut, want: "stop, attempts_exhausted"},
	},
	events: "attempt retrying attempt exhausted",
	is:     []error{ration.ErrAttemptTimeout, context.DeadlineExceeded},
}, {
	name:   "an attempt that was given up is no success",
	policy: ration.Policy{Attempts: 1, AttemptTimeout: time.Second},
	steps: []callStep{
		{want: "attempt 1 until 1s", tokens: 1},
		{at: time.Second, told: ration.Outcome{TimedOut: true}, want: "stop, attempts_exhausted",
			tokens: 1},
	},
	events: "attempt exhausted",
	is:     []error{ration.ErrAttemptTimeout},
}, {
	name:   "the last attempt is ended by the deadline",
	policy: ration.Policy{Attempts: 1, Deadline: time.Second},
	steps: []callStep{
		{want: "attempt 1 until 1s", tokens: 1},
		{at: time.Second, told: timedOut, want: "stop, deadline_exceeded", tokens: 1},
	},
	events: "attempt deadline_exceeded",
	is:     []error{ration.ErrDeadlineExceeded},
}, {
	name:   "a socket fails at the deadline, before the timer is noticed",
	policy: ration.Policy{Attempts: 1, Deadline: time.Second},
	steps: []callStep{
		{want: "attempt 1 until 1s", tokens: 1},
		{at: time.Second, told: transient, want: "stop, deadline_exceeded", tokens: 1},
	},
	events: "attempt deadline_exceeded",
	is:     []error{ration.ErrDeadlineExceeded, errBackend},
}, {
	name:   "a permanent failure is itself at the deadline too",
	policy: ration.Policy{Deadline: time.Second},
	steps: []callStep{
		{want: "attempt 1 until 1s", tokens: 1},
		{at: time.Second, told: permanent, want: "stop, permanent", tokens: 1},
	},
	events: "attempt not_retried",
	is:     []error{errBackend},
}, {
	name: "no bounds",
	policy: ration.Policy{
		Deadline: ration.NoLimit, AttemptTimeout: ration.NoLimit, Backoff: exact,
	},
	steps: []callStep{
		{want: "attempt 1", tokens: 1},
		{at: time.Hour, told: transient, want: "wait 100ms for attempt 2"},
		{at: time.Hour + 100*ms, want: "attempt 2"},
		{at: 2 * time.Hour, told: ok, want: "stop, succeeded", tokens: 0.1},
	},
	events: "attempt retrying attempt succeeded",
}}

func TestCall(t *testing.T) {
	for _, tc := range callCases {
		t.Run(tc.name, tc.run)
	}
}

func (tc callCase) run(t *testing.T) {
	var heard recorder
	p := tc.policy
	p.OnEvent = heard.hear
	if p.Budget == nil {
		p.Budget = bucketOf(t, 1)
	}
	e := ration.MustNew(p)
	if tc.once {
		e = e.Once()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	driven := ctx
	if tc.ctx != nil {
		driven = tc.ctx(ctx)
	}
	var call ration.Call
	var d ration.Decision
	for i, s := range tc.steps {
		now := epoch.Add(s.at)
		if s.cancel {
			cancel()
		}
		if i == 0 {
			call = e.Begin(driven, now)
			d = call.Decision()
		} else {
			d = call.Next(now, s.told, 0.5)
		}
		if got := describe(d); got != s.want {
			t.Fatalf("step %d, at %v: %q, want %q", i, s.at, got, s.want)
		}
		left := p.Budget.Capacity() * (1 - p.Budget.UtilizationAt(now))
		if !near(left, s.tokens) {
			t.Errorf("step %d, at %v: %v tokens left, want %v", i, s.at, left, s.tokens)
		}
	}
	if got := kinds(heard.take()); got != tc.events {
		t.Errorf("events %q, want %q", got, tc.events)
	}
	if len(tc.is) == 0 && d.Err != nil {
		t.Errorf("error %v", d.Err)
	}
	checkIs(t, d.Err, tc.is, nil)
}

// The breaker is asked before the budget and before any wait, and again at each
// attempt; what it refuses costs nothing.
func TestCallBreaker(t *testing.T) {
	open := &ration.BreakerSettings{ConsecutiveFailures: 1, Break: 10 * time.Second}
	var heard recorder
	p := ration.Policy{
		Budget: bucketOf(t, 1), Breaker: open, Backoff: exact, OnEvent: heard.hear,
	}

	t.Run("opened by the call itself", func(t *testing.T) {
		e := ration.MustNew(p)
		call := e.Begin(t.Context(), epoch)
		expect(t, call.Decision(), "attempt 1 until 10s")
		// With u = 0 the jitter halves the break.
		expect(t, call.Next(epoch, transient, 0), "pause 100ms, unavailable")
		d := call.Next(epoch.Add(100*ms), ok, 0)
		expect(t, d, "stop, unavailable")
		checkIs(t, d.Err, []error{ration.ErrUnavailable, errBackend}, nil)
		checkHint(t, d.Err, 4900*ms, true)
		checkTokens(t, p.Budget, epoch, 1)
		if got, want := kinds(heard.take()), "attempt breaker_opened rejected_by_breaker"; got != want {
			t.Errorf("events %q, want %q", got, want)
		}

		call = e.Begin(t.Context(), epoch.Add(time.Second))
		expect(t, call.Decision(), "pause 100ms, unavailable")
		d = call.Next(epoch.Add(1100*ms), ok, 0)
		expect(t, d, "stop, unavailable")
		checkHint(t, d.Err, 3900*ms, true)
		var refused *ration.Error
		if !errors.As(d.Err, &refused) || refused.Attempts != 0 || refused.Last != nil {
			t.Errorf("error %#v, want one of no attempts", d.Err)
		}
		if got := kinds(heard.take()); got != "rejected_by_breaker" {
			t.Errorf("events %q", got)
		}
	})

	t.Run("opened by another call during the wait", func(t *testing.T) {
		e := ration.MustNew(p)
		waiting := e.Begin(t.Context(), epoch)
		expect(t, waiting.Next(epoch, throttled, 0), "wait 1s for attempt 2")
		checkTokens(t, p.Budget, epoch, 0)
		other := e.Begin(t.Context(), epoch)
		expect(t, other.Next(epoch, transient, 0), "pause 100ms, unavailable")
		heard.take()
		expect(t, waiting.Next(epoch.Add(time.Second), ok, 0), "pause 100ms, unavailable")
		checkTokens(t, p.Budget, epoch, 1)
		if got := kinds(heard.take()); got != "rejected_by_breaker" {
			t.Errorf("events %q", got)
		}
	})

	t.Run("opened by another call, and the deadline has passed", func(t *testing.T) {
		p := p
		p.Deadline = time.Second
		e := ration.MustNew(p)
		call := e.Begin(t.Context(), epoch)
		other := e.Once().Begin(t.Context(), epoch)
		other.Next(epoch, transient, 0)
		expect(t, call.Next(epoch.Add(time.Second), throttled, 0), "stop, deadline_exceeded")
	})

	t.Run("half-open and taken", func(t *testing.T) {
		e := ration.MustNew(p)
		trip := e.Begin(t.Context(), epoch)
		trip.Next(epoch, transient, 0)
		later := epoch.Add(10 * time.Second)
		probe := e.Begin(t.Context(), later)
		expect(t, probe.Decision(), "attempt 1 until 20s")
		call := e.Begin(t.Context(), later)
		expect(t, call.Decision(), "pause 100ms, unavailable")
		d := call.Next(later.Add(100*ms), ok, 0)
		// Nobody can say when the probe will be back.
		checkHint(t, d.Err, 0, false)
	})
}

func expect(t *testing.T, d ration.Decision, want string) {
	t.Helper()
	if got := describe(d); got != want {
		t.Fatalf("%q, want %q", got, want)
	}
}

func checkTokens(t *testing.T, b *ration.Budget, now time.Time, want float64) {
	t.Helper()
	if left := b.Capacity() * (1 - b.UtilizationAt(now)); !near(left, want) {
		t.Errorf("%v tokens left, want %v", left, want)
	}
}

func checkHint(t *testing.T, err error, want time.Duration, wantOK bool) {
	t.Helper()
	var e *ration.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *ration.Error", err)
	}
	if d, ok := e.RetryAfter(); d != want || ok != wantOK {
		t.Errorf("retry after %v, %v; want %v, %v", d, ok, want, wantOK)
	}
}

// The hint is computed after the pause: it must not be the pause too long.
func TestCallHint(t *testing.T) {
	sheddable := ration.WithCriticality(t.Context(), ration.Sheddable)
	for _, tc := range []struct {
		name   string
		ctx    context.Context
		floor  float64
		spent  int
		after  time.Duration // from the refusal to the end of its pause
		want   time.Duration
		wantOK bool
	}{
		// An empty bucket at 2 tokens a second: the first takes 500 ms.
		{"floor", t.Context(), 2, 20, 100 * ms, 400 * ms, true},
		{"pause cut short", t.Context(), 2, 20, 30 * ms, 470 * ms, true},
		{"late driver", t.Context(), 2, 20, time.Second, 0, true},
		{"no floor", t.Context(), 0, 1, 100 * ms, 0, false},
		// Sheddable work may not touch the lower ten of these twenty.
		{"sheddable", sheddable, 2, 10, 100 * ms, 400 * ms, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, err := ration.NewBudget(0.1, tc.floor)
			if err != nil {
				t.Fatal(err)
			}
			for range tc.spent {
				b.Withdraw(epoch, ration.Critical)
			}
			call := ration.MustNew(ration.Policy{Budget: b}).Begin(tc.ctx, epoch)
			expect(t, call.Next(epoch, transient, 0), "pause 100ms, budget_exhausted")
			d := call.Next(epoch.Add(tc.after), ok, 0)
			checkHint(t, d.Err, tc.want, tc.wantOK)
		})
	}
}

// A deadline that ends a call over a hint hands the hint on as it was given, not
// capped by the policy's maximum.
func TestCallHandsHintOn(t *testing.T) {
	call := ration.MustNew(ration.Policy{Deadline: 20 * time.Second}).Begin(t.Context(), epoch)
	d := call.Next(epoch, hinted(throttled, time.Hour), 0)
	expect(t, d, "stop, deadline_exceeded")
	checkHint(t, d.Err, time.Hour, true)

	call = ration.MustNew(ration.Policy{Deadline: ms, Backoff: exact}).Begin(t.Context(), epoch)
	d = call.Next(epoch, transient, 0)
	expect(t, d, "stop, deadline_exceeded")
	checkHint(t, d.Err, 0, false)
}

// Full jitter is uniform over [0, delay], by the number that the driver drew.
func TestCallJitter(t *testing.T) {
	for u, want := range map[float64]string{
		0:    "wait 0s for attempt 2",
		0.25: "wait 25ms for attempt 2",
		0.99: "wait 99ms for attempt 2",
	} {
		call := ration.MustNew(ration.Policy{}).Begin(t.Context(), epoch)
		expect(t, call.Next(epoch, transient, u), want)
	}
}

// The event of an abandoned call tells whether an attempt was under way, which has
// no event of its own: only then it rests on no verdict.
func TestAbandonedDuringAnAttempt(t *testing.T) {
	for _, tc := range []struct {
		name    string
		told    []ration.Outcome
		attempt int
		kind    ration.VerdictKind
		err     error
	}{
		{"attempt", nil, 1, ration.VerdictOK, nil},
		{"wait", []ration.Outcome{transient}, 1, ration.VerdictTransient, transient.Err},
		{"second attempt", []ration.Outcome{transient, ok}, 2, ration.VerdictOK, nil},
	} {
		var heard recorder
		call := ration.MustNew(ration.Policy{OnEvent: heard.hear}).Begin(t.Context(), epoch)
		for _, o := range tc.told {
			call.Next(epoch, o, 0)
		}
		call.Abandon(epoch)
		ev := terminal(t, heard.take())
		if ev.Attempt != tc.attempt || ev.Verdict.Kind != tc.kind || ev.Err != tc.err {
			t.Errorf("%s: attempt %d, %v, %v; want %d, %v, %v", tc.name,
				ev.Attempt, ev.Verdict.Kind, ev.Err, tc.attempt, tc.kind, tc.err)
		}
	}
}

// A call that is given up returns what it holds, in whatever phase it is, and is
// over: nothing that is told later changes it.
func TestCallAbandon(t *testing.T) {
	newCall := func(heard *recorder) (*ration.Executor, *ration.Budget) {
		b := bucketOf(t, 1)
		return ration.MustNew(ration.Policy{
			Budget:  b,
			Backoff: exact,
			Breaker: &ration.BreakerSettings{
				ConsecutiveFailures: 1, Break: time.Second, ProbeSuccesses: 1,
			},
			OnEvent: heard.hear,
		}), b
	}
	for _, tc := range []struct {
		phase  string
		told   []ration.Outcome
		drain  bool
		want   string
		events string
	}{
		{"attempt", nil, false, "stop, abandoned", "abandoned"},
		{"wait", []ration.Outcome{throttled}, false, "stop, abandoned", "attempt retrying abandoned"},
		{"second attempt", []ration.Outcome{selfImposed(throttled), ok}, false, "stop, abandoned",
			"attempt retrying abandoned"},
		{"pause", []ration.Outcome{throttled}, true, "stop, budget_exhausted",
			"attempt rejected_by_budget"},
		{"over", []ration.Outcome{permanent}, false, "stop, permanent", "attempt not_retried"},
	} {
		t.Run(tc.phase, func(t *testing.T) {
			var heard recorder
			e, b := newCall(&heard)
			trip := e.Begin(t.Context(), epoch)
			trip.Next(epoch, transient, 0)
			now := epoch.Add(time.Minute)
			tokens := 1.0
			if tc.drain {
				b.Withdraw(now, ration.Critical)
				tokens = 0
			}
			heard.take()

			call := e.Begin(t.Context(), now)
			for _, o := range tc.told {
				call.Next(now, o, 0)
			}
			call.Abandon(now)
			expect(t, call.Decision(), tc.want)
			call.Abandon(now)
			expect(t, call.Next(now, transient, 0), tc.want)
			events := heard.take()
			if len(events) > 0 && events[0].Kind == ration.EventBreakerHalfOpened {
				events = events[1:]
			}
			if got := kinds(events); got != tc.events {
				t.Errorf("events %q, want %q", got, tc.events)
			}
			checkTokens(t, b, now, tokens)

			next := e.Begin(t.Context(), now)
			if d := next.Decision(); d.Action != ration.ActAttempt {
				t.Fatalf("the probe did not come back: %s", describe(d))
			}
			next.Next(now, ok, 0)
			if s := e.Breaker(now).State; s != ration.BreakerClosed {
				t.Errorf("breaker %v after a successful probe", s)
			}
		})
	}
}

// A call is a value, so that a program that schedules many keeps them where it
// likes. Its state belongs to whoever drives it.
func TestCallsAreIndependent(t *testing.T) {
	e := ration.MustNew(ration.Policy{Backoff: exact})
	calls := make([]ration.Call, 3)
	for i := range calls {
		calls[i] = e.Begin(t.Context(), epoch.Add(time.Duration(i)*time.Second))
	}
	expect(t, calls[1].Next(epoch.Add(time.Second), transient, 0), "wait 100ms for attempt 2")
	expect(t, calls[0].Next(epoch, ok, 0), "stop, succeeded")
	expect(t, calls[1].Decision(), "wait 100ms for attempt 2")
	expect(t, calls[2].Decision(), "attempt 1 until 12s")
}

// A policy that is replaced while a call runs does not reach that call.
func TestCallKeepsItsPolicy(t *testing.T) {
	e := ration.MustNew(ration.Policy{Attempts: 2, Backoff: exact})
	call := e.Begin(t.Context(), epoch)
	if err := e.Update(ration.Policy{Attempts: 1, AttemptTimeout: time.Second}); err != nil {
		t.Fatal(err)
	}
	expect(t, call.Next(epoch, transient, 0), "wait 100ms for attempt 2")
	expect(t, call.Next(epoch.Add(100*ms), ok, 0), "attempt 2 until 10.1s")
	next := e.Begin(t.Context(), epoch)
	expect(t, next.Decision(), "attempt 1 until 1s")
}

// An attempt that was not held to its bound says nothing about how long attempts
// take: the ceiling stays what it was, nothing is called orphaned, and a failure
// after the deadline is evidence like any other.
func TestCallUntimed(t *testing.T) {
	var heard recorder
	e := ration.MustNew(ration.Policy{
		OnEvent: heard.hear,
		Breaker: &ration.BreakerSettings{ConsecutiveFailures: 1},
	})
	now := epoch
	try := func(d time.Duration, o ration.Outcome) {
		call := e.Begin(t.Context(), now)
		now = now.Add(d)
		call.Next(now, o, 0)
	}
	bound := func() time.Duration {
		call := e.Begin(t.Context(), now)
		defer call.Abandon(now)
		return call.Decision().Until.Sub(now)
	}
	for range 30 {
		try(40*ms, ok)
	}
	want := bound()
	heard.take()
	if want > time.Second {
		t.Fatalf("the ceiling is %v", want)
	}
	untimed := ok
	untimed.Untimed = true
	for range 30 {
		try(2*time.Second, untimed)
	}
	if got := bound(); got != want {
		t.Errorf("the ceiling moved from %v to %v", want, got)
	}
	if orphans := only(heard.take(), ration.EventOrphanedWork); len(orphans) > 0 {
		t.Errorf("%d orphans", len(orphans))
	}

	e = ration.MustNew(ration.Policy{
		AttemptTimeout: ration.NoLimit,
		Deadline:       time.Second,
		Breaker:        &ration.BreakerSettings{ConsecutiveFailures: 1},
	})
	untimed = transient
	untimed.Untimed = true
	call := e.Once().Begin(t.Context(), epoch)
	expect(t, call.Next(epoch.Add(time.Minute), untimed, 0), "stop, attempts_exhausted")
	if s := e.Breaker(epoch.Add(time.Minute)).State; s != ration.BreakerOpen {
		t.Errorf("breaker %v", s)
	}
}

// Do runs the hooks; whoever drives a call by hand runs their own.
func TestCallLeavesHooksToTheDriver(t *testing.T) {
	e := ration.MustNew(ration.Policy{
		BeforeAttempt: func(context.Context, int) error { t.Error("BeforeAttempt ran"); return nil },
		Admit:         func(context.Context) error { t.Error("Admit ran"); return nil },
	})
	call := e.Begin(t.Context(), epoch)
	expect(t, call.Next(epoch, ok, 0), "stop, succeeded")
}

func TestExecutorClassify(t *testing.T) {
	plain := ration.MustNew(ration.Policy{})
	strict := ration.MustNew(ration.Policy{Classify: func(value any, err error) ration.Verdict {
		if value == 503 {
			return ration.Verdict{Kind: ration.VerdictThrottled}
		}
		return ration.DefaultClassifier(value, err)
	}})
	for _, tc := range []struct {
		e     *ration.Executor
		value any
		err   error
		want  ration.VerdictKind
	}{
		{plain, 503, nil, ration.VerdictOK},
		{plain, nil, errBackend, ration.VerdictPermanent},
		{plain, nil, errDown, ration.VerdictTransient},
		{strict, 503, nil, ration.VerdictThrottled},
		{strict, 503, ration.Permanent(errBackend), ration.VerdictPermanent},
		{strict, nil, context.DeadlineExceeded, ration.VerdictTransient},
	} {
		if got := tc.e.Classify(tc.value, tc.err).Kind; got != tc.want {
			t.Errorf("Classify(%v, %v) = %v, want %v", tc.value, tc.err, got, tc.want)
		}
	}
}

func TestActionString(t *testing.T) {
	for a, want := range map[ration.Action]string{
		ration.ActAttempt: "attempt",
		ration.ActWait:    "wait",
		ration.ActPause:   "pause",
		ration.ActStop:    "stop",
		0:                 "none",
	} {
		if got := a.String(); got != want {
			t.Errorf("Action(%d) = %q, want %q", a, got, want)
		}
	}
}

// Without a deadline no wait is too long, not even one that never ends.
func TestEndlessWaitWithoutDeadline(t *testing.T) {
	e := ration.MustNew(ration.Policy{
		Deadline: ration.NoLimit,
		Backoff: ration.Backoff{
			Custom: func(ration.Next) time.Duration { return math.MaxInt64 },
		},
	})
	now := time.Now().Add(time.Hour)
	c := e.Begin(t.Context(), now)
	d := c.Next(now, ration.Outcome{
		Verdict: ration.Verdict{Kind: ration.VerdictTransient},
		Err:     errDown,
	}, 0)
	if d.Action != ration.ActWait {
		t.Errorf("decided to %v, want to wait", d.Action)
	}
	c.Abandon(now)
}

// A number that is none must not become a wait of centuries, or a break of none.
func TestNextTakesNoNumberOutsideItsRange(t *testing.T) {
	transient := ration.Outcome{
		Verdict: ration.Verdict{Kind: ration.VerdictTransient},
		Err:     errBackend,
	}
	for _, u := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, -1e-9, 1, 1e9} {
		e := ration.MustNew(ration.Policy{
			Breaker: &ration.BreakerSettings{ConsecutiveFailures: 2},
		})
		call := e.Begin(t.Context(), epoch)
		d := call.Next(epoch, transient, u)
		if d.Action != ration.ActWait || d.Delay != ration.DefaultTransientBase {
			t.Errorf("u = %v: %v of %v, want the whole wait", u, d.Action, d.Delay)
		}
		call.Next(d.At, ration.Outcome{}, u)
		call.Next(d.At, transient, u)
		if b := e.Breaker(d.At); b.State != ration.BreakerOpen || b.Break != 15*time.Second {
			t.Errorf("u = %v: %v for %v, want the whole break", u, b.State, b.Break)
		}
	}
}
