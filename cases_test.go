package ration_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
)

// Faults that were reported against libraries of this kind, as tests of this
// one. Those that are about the state machines alone stand with these.

// C05: goroutine or context leak. A function that ignores its context is waited
// for: no goroutine is left behind, and no result reaches a later call.
func TestCaseLeak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := ration.MustNew(ration.Policy{Attempts: 1, AttemptTimeout: ms})
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				value, err := ration.Do(t.Context(), e, func(ctx context.Context) (int, error) {
					<-time.After(50 * ms)
					return i, ctx.Err()
				})
				if value != i || !errors.Is(err, ration.ErrAttemptTimeout) {
					t.Errorf("call %d: %v, %v", i, value, err)
				}
			})
		}
		wg.Wait()
		// The bubble ends in a panic if anything of ours still runs in it.
	})
}

// C06: waiting that cannot be stopped.
func TestCaseWaitIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*ms, cancel)
		tooMany := ration.Throttled(errBackend, time.Second)
		r := ration.Try(ctx, ration.MustNew(ration.Policy{}), failing(tooMany))
		if took := time.Since(begin); took != 20*ms || len(r.Attempts) != 1 {
			t.Errorf("returned after %v and %d attempts", took, len(r.Attempts))
		}
		checkIs(t, r.Err, []error{context.Canceled, tooMany}, []error{ration.ErrDeadlineExceeded})
		checkHint(t, r.Err, time.Second, true)
	})
}

// C10: wait longer than the deadline.
func TestCaseWaitBeyondTheDeadline(t *testing.T) {
	for _, tc := range []struct {
		wait     time.Duration
		attempts int
		err      bool
	}{{10 * time.Second, 1, true}, {5 * time.Second, 1, true}, {4 * time.Second, 2, false}} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			backoff := ration.ConstantBackoff(tc.wait)
			backoff.Jitter = ration.NoJitter
			r := ration.Try(ctx, ration.MustNew(ration.Policy{Backoff: backoff}), failing(errDown))
			if len(r.Attempts) != tc.attempts || (r.Err != nil) != tc.err {
				t.Errorf("wait %v: %d attempts, %v", tc.wait, len(r.Attempts), r.Err)
			}
			if tc.err {
				checkIs(t, r.Err, []error{ration.ErrDeadlineExceeded, errBackend}, nil)
				if took := time.Since(begin); took != 0 {
					t.Errorf("wait %v: returned after %v, though nothing could come of it", tc.wait, took)
				}
			}
		})
	}
}

// C13: context cause.
func TestCaseCause(t *testing.T) {
	for _, tc := range []struct {
		name  string
		p     ration.Policy
		fn    func(context.Context) error
		is    []error
		isNot []error
	}{
		{"in the wait", ration.Policy{Backoff: exact}, fails(errDown),
			[]error{errShutdown, context.Canceled, errBackend}, []error{ration.ErrAttemptTimeout}},
		{"in the attempt", ration.Policy{AttemptTimeout: time.Second},
			func(ctx context.Context) error { return hang(ctx, nil, 0) },
			[]error{errShutdown, context.Canceled}, []error{ration.ErrAttemptTimeout}},
		{"an internal timeout", ration.Policy{Attempts: 1, AttemptTimeout: 10 * ms},
			func(ctx context.Context) error { return hang(ctx, nil, 0) },
			[]error{ration.ErrAttemptTimeout, context.DeadlineExceeded},
			[]error{errShutdown, context.Canceled}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				time.AfterFunc(50*ms, func() { cancel(errShutdown) })
				checkIs(t, ration.MustNew(tc.p).Run(ctx, tc.fn), tc.is, tc.isNot)
			})
		})
	}
}

// C14: last error lost. Whatever ends the call, its last failure is in the
// error, beside a reason of its own and the number of attempts.
func TestCaseLastErrorIsKept(t *testing.T) {
	for _, tc := range []struct {
		name     string
		p        ration.Policy
		caller   time.Duration
		drain    bool
		reason   ration.StopReason
		sentinel error
		attempts int
	}{
		{name: "caller's deadline in the wait", caller: 250 * ms, p: ration.Policy{Backoff: exact},
			reason: ration.StopDeadlineExceeded, sentinel: ration.ErrDeadlineExceeded, attempts: 2},
		{name: "attempts", p: ration.Policy{Backoff: exact},
			reason: ration.StopAttemptsExhausted, attempts: 3},
		{name: "policy's deadline", p: ration.Policy{Deadline: 250 * ms, Backoff: exact},
			reason: ration.StopDeadlineExceeded, sentinel: ration.ErrDeadlineExceeded, attempts: 2},
		{name: "budget", drain: true,
			reason: ration.StopBudgetExhausted, sentinel: ration.ErrBudgetExhausted, attempts: 1},
		{name: "breaker", p: ration.Policy{Breaker: &ration.BreakerSettings{ConsecutiveFailures: 2}},
			reason: ration.StopUnavailable, sentinel: ration.ErrUnavailable, attempts: 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.p.Budget = bucketOf(t, 20)
				if tc.drain {
					tc.p.Budget = bucketOf(t, 1)
					tc.p.Budget.Withdraw(time.Now(), ration.Critical)
				}
				ctx := t.Context()
				if tc.caller > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.caller)
					defer cancel()
				}
				r := ration.Try(ctx, ration.MustNew(tc.p), func(context.Context) (int, error) {
					return 0, errDown
				})
				if r.Stop != tc.reason || len(r.Attempts) != tc.attempts {
					t.Errorf("%v after %d attempts", r.Stop, len(r.Attempts))
				}
				checkIs(t, r.Err, []error{errBackend}, nil)
				if tc.sentinel == nil {
					return
				}
				checkIs(t, r.Err, []error{tc.sentinel}, nil)
				var e *ration.Error
				if !errors.As(r.Err, &e) || e.Attempts != tc.attempts {
					t.Errorf("the error counts %+v", e)
				}
			})
		})
	}
}

// C15: half-open slot leak. A probe that ends without evidence gives its slot
// back, through the whole of a call.
func TestCaseProbeWithoutEvidence(t *testing.T) {
	ignored := ration.Permanent(errBackend)
	for probes := 1; probes <= 3; probes += 2 {
		synctest.Test(t, func(t *testing.T) {
			e := ration.MustNew(ration.Policy{
				Attempts: 1,
				Breaker: &ration.BreakerSettings{
					ConsecutiveFailures: 1, Break: time.Second,
					Probes: probes, ProbeSuccesses: probes,
				},
			})
			e.Run(t.Context(), fails(errDown))
			time.Sleep(time.Second)
			for range 2 {
				if err := e.Run(t.Context(), fails(ignored)); err != ignored {
					t.Fatalf("refused: %v", err)
				}
			}
			for range probes {
				if s := e.Breaker(time.Now()).State; s != ration.BreakerHalfOpen {
					t.Errorf("breaker %v", s)
				}
				if err := e.Run(t.Context(), succeed); err != nil {
					t.Fatalf("refused: %v", err)
				}
			}
			if s := e.Breaker(time.Now()).State; s != ration.BreakerClosed {
				t.Errorf("breaker %v", s)
			}
		})
	}
}

// C18: breaker polluted by the caller. Neither cancelled calls nor calls whose
// own deadline passed are evidence, whichever way the breaker trips.
func TestCaseCallersDoNotPollute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard recorder
		e := ration.MustNew(ration.Policy{
			Attempts: 1,
			Breaker: &ration.BreakerSettings{
				ConsecutiveFailures: 5, FailureRatio: 0.5, MinimumCalls: 5,
			},
			OnEvent: heard.hear,
		})
		ends := []func(context.Context) (context.Context, context.CancelFunc){
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(ms, cancel)
				return ctx, cancel
			},
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, ms)
			},
		}
		for _, end := range ends {
			for range 50 {
				ctx, cancel := end(t.Context())
				// As a dialler has it: an error that the classifier retries.
				e.Run(ctx, func(ctx context.Context) error { <-ctx.Done(); return errDown })
				cancel()
			}
		}
		for i := range 5 {
			if s := e.Breaker(time.Now()).State; s != ration.BreakerClosed {
				t.Errorf("breaker %v after %d failures", s, i)
			}
			e.Run(t.Context(), fails(errDown))
		}
		// Had the hundred been counted as successes, five failures in a hundred
		// and five would not be half.
		if s := e.Breaker(time.Now()).State; s != ration.BreakerOpen {
			t.Errorf("breaker %v after five failures", s)
		}
		if n := len(only(heard.take(), ration.EventBreakerOpened)); n != 1 {
			t.Errorf("opened %d times", n)
		}
	})
}

// C19: policies working against each other. Retries stop at an open breaker.
func TestCaseRetriesStopAtAnOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bucketOf(t, 20)
		e := ration.MustNew(ration.Policy{
			Budget:  b,
			Backoff: ration.ConstantBackoff(time.Second),
			Breaker: &ration.BreakerSettings{ConsecutiveFailures: 1, Break: 30 * time.Second},
		})
		e.Once().Run(t.Context(), fails(errDown))
		left := e.Breaker(time.Now()).Break
		begin := time.Now()
		attempts := 0
		err := e.Run(t.Context(), always(errDown, &attempts))
		if took := time.Since(begin); took != 100*ms || attempts != 0 {
			t.Errorf("took %v and %d attempts", took, attempts)
		}
		checkTokens(t, b, time.Now(), 20)
		checkIs(t, err, []error{ration.ErrUnavailable}, nil)
		checkHint(t, err, left-100*ms, true)
	})
}

// C20: callbacks. A listener may ask for everything and call through the very
// executor that it listens to; what it sees is the state after the transition.
func TestCaseReentrantListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e *ration.Executor
		heard := make(map[ration.EventKind]int)
		nested := false
		b := bucketOf(t, 20)
		p := ration.Policy{
			Name: "p", Budget: b, AttemptTimeout: time.Second, Backoff: exact,
			Breaker: &ration.BreakerSettings{
				ConsecutiveFailures: 2, Break: 10 * time.Second, ProbeSuccesses: 1,
			},
		}
		p.OnEvent = func(ev ration.Event) {
			if nested {
				return
			}
			nested = true
			defer func() { nested = false }()
			heard[ev.Kind]++
			state := e.Breaker(time.Now()).State
			want := map[ration.EventKind]ration.BreakerState{
				ration.EventBreakerOpened:     ration.BreakerOpen,
				ration.EventBreakerHalfOpened: ration.BreakerHalfOpen,
				ration.EventBreakerClosed:     ration.BreakerClosed,
			}
			if want[ev.Kind] != 0 && state != want[ev.Kind] {
				t.Errorf("%v: breaker %v", ev.Kind, state)
			}
			if ev.Kind == ration.EventRetrying && !near(b.Utilization(), 0.05) {
				t.Errorf("retrying: utilization %v, want one token of twenty", b.Utilization())
			}
			_ = e.Explain() + e.Key() + e.Policy().Name + e.Budget().Name()
			b.RetryAfter(time.Now(), ration.Critical)
			e.Keys()
			e.For("other").Run(t.Context(), fails(errBackend))
			e.Once().Run(t.Context(), fails(errBackend))
			if err := e.Update(p); err != nil {
				t.Error(err)
			}
		}
		e = ration.MustNew(p)
		e.Run(t.Context(), fails(errDown)) // attempts, a retry, a trip, a refusal
		time.Sleep(10 * time.Second)
		e.Run(t.Context(), succeed) // a probe
		for _, kind := range []ration.EventKind{
			ration.EventAttempt, ration.EventRetrying, ration.EventBreakerOpened,
			ration.EventRejectedByBreaker, ration.EventBreakerHalfOpened, ration.EventBreakerClosed,
			ration.EventSucceeded,
		} {
			if heard[kind] == 0 {
				t.Errorf("%v was not heard", kind)
			}
		}
	})
}

// C21: budget starvation. However a budget comes to be, successes refill it.
func TestCaseBudgetIsFed(t *testing.T) {
	own := bucketOf(t, 1)
	shared, err := ration.SharedBudget("fed", 0.1, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		p    ration.Policy
		of   func(*ration.Executor) *ration.Executor
	}{
		{"automatic", ration.Policy{}, nil},
		{"automatic, of a key", ration.Policy{},
			func(e *ration.Executor) *ration.Executor { return e.For("k") }},
		{"own", ration.Policy{Budget: own}, nil},
		{"shared", ration.Policy{Budget: shared}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// Time stands still, so that the floor pays for nothing.
			synctest.Test(t, func(t *testing.T) {
				tc.p.Backoff = ration.NoBackoff
				e := ration.MustNew(tc.p)
				if tc.of != nil {
					e = tc.of(e)
				}
				for e.Budget().Withdraw(time.Now(), ration.Critical) {
				}
				for range 1000 {
					e.Once().Run(t.Context(), succeed)
				}
				r := ration.Try(t.Context(), e, failing(errDown))
				if !r.OK() || len(r.Attempts) != 2 {
					t.Errorf("%v after %d attempts", r.Stop, len(r.Attempts))
				}
			})
		})
	}
}

// C23: budget isolation. Keys do not share what they may spend, nor do two
// executors of one policy, unless the policy names a budget.
func TestCaseBudgetIsolation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := ration.Policy{Backoff: ration.NoBackoff}
		e := ration.MustNew(p)
		for range 100 {
			e.For("a").Run(t.Context(), fails(errDown))
		}
		if u := e.For("a").Budget().Utilization(); u < 0.9 {
			t.Fatalf("utilization of a: %v", u)
		}
		for _, other := range []*ration.Executor{e.For("b"), e, ration.MustNew(p)} {
			if u := other.Budget().Utilization(); u != 0 {
				t.Errorf("utilization of another: %v", u)
			}
			if err := other.Run(t.Context(), once(errDown)); err != nil {
				t.Errorf("another was refused its retry: %v", err)
			}
		}
		p.Budget = bucketOf(t, 20)
		e = ration.MustNew(p)
		if a, b := e.For("a").Budget(), e.For("b").Budget(); a != p.Budget || b != p.Budget {
			t.Error("a named budget is not shared")
		}
	})
}

// C25: op that never ends. Wherever the deadline falls, between attempts of
// 10 ms and waits of 10 ms, the call ends by it, and as what it is.
func TestCaseDeadlineSweep(t *testing.T) {
	policy := func(deadline time.Duration, own bool) ration.Policy {
		backoff := ration.ConstantBackoff(10 * ms)
		backoff.Jitter = ration.NoJitter
		p := ration.Policy{Attempts: 100, Backoff: backoff, Budget: ration.NoBudget}
		if own {
			p.Deadline = deadline
		}
		return p
	}
	attempt := func(ctx context.Context) error {
		select {
		case <-time.After(10 * ms):
			return errDown
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	sweep := func(t *testing.T, check func(deadline, took time.Duration)) {
		var wg sync.WaitGroup
		for i := range 241 {
			for _, own := range []bool{false, true} {
				wg.Go(func() {
					deadline := max(time.Duration(i)*250*time.Microsecond, 1)
					ctx := t.Context()
					if !own {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, deadline)
						defer cancel()
					}
					begin := time.Now()
					err := ration.MustNew(policy(deadline, own)).Run(ctx, attempt)
					if !errors.Is(err, ration.ErrDeadlineExceeded) {
						t.Errorf("deadline %v, own %v: %v", deadline, own, err)
					}
					check(deadline, time.Since(begin))
				})
			}
		}
		wg.Wait()
	}
	t.Run("virtual clock", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			sweep(t, func(deadline, took time.Duration) {
				if took > deadline {
					t.Errorf("deadline %v: took %v", deadline, took)
				}
			})
		})
	})
	t.Run("real clock", func(t *testing.T) {
		// Real timers race; how long that takes depends on the machine.
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			sweep(t, func(time.Duration, time.Duration) {})
		}()
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			t.Fatal("a call does not end")
		}
	})
}

// C26: nested retries. By default nothing is suppressed, and each call says
// once that it retries inside retries. A chain whose hops pass the word on that
// they gave up breaks the product.
func TestCaseNestedRetries(t *testing.T) {
	for _, tc := range []struct {
		name    string
		honour  bool
		hits    int
		reports int
	}{{"nothing is suppressed", false, 9, 3}, {"the word is passed on", true, 3, 1}} {
		t.Run(tc.name, func(t *testing.T) {
			var heard recorder
			hits := 0
			b := ration.MustNew(ration.Policy{OnEvent: heard.hear, Backoff: ration.NoBackoff})
			// A server in front of b: nothing of a's context but what a header
			// would carry, and a failure of its own making.
			serve := func(nested bool) error {
				ctx := t.Context()
				if nested {
					ctx = ration.WithNestedRetry(ctx)
				}
				var g ration.GiveUp
				err := b.Run(ration.WithGiveUp(ctx, &g), func(context.Context) error {
					hits++
					return errDown
				})
				err = ration.Transient(fmt.Errorf("503: %w", errors.Unwrap(err)))
				if g.Marked() && tc.honour {
					return ration.Unrepeatable(err)
				}
				return err
			}
			a := ration.MustNew(ration.Policy{Backoff: ration.NoBackoff})
			err := a.Run(t.Context(), func(ctx context.Context) error {
				return serve(ration.IsNestedRetry(ctx))
			})
			checkIs(t, err, []error{errBackend}, nil)
			if hits != tc.hits {
				t.Errorf("%d hits, want %d", hits, tc.hits)
			}
			if got := len(only(heard.take(), ration.EventNestedRetry)); got != tc.reports {
				t.Errorf("%d reports, want one for each of %d calls", got, tc.reports)
			}
		})
	}
}

// C29: zero and edge settings.
func TestCaseEdgeSettings(t *testing.T) {
	unlimited := ration.Policy{
		Attempts: math.MaxInt, Budget: ration.NoBudget, Deadline: ration.NoLimit,
		Backoff: ration.ConstantBackoff(time.Second),
	}
	bounded := unlimited
	bounded.Deadline = time.Minute
	for _, tc := range []struct {
		name     string
		p        ration.Policy
		fail     error
		attempts func(int) bool
		is       []error
	}{
		{"one attempt", ration.Policy{Attempts: 1}, errDown,
			func(n int) bool { return n == 1 }, []error{errDown}},
		{"unlimited, permanent", unlimited, errBackend,
			func(n int) bool { return n == 1 }, []error{errBackend}},
		{"unlimited, with a deadline", bounded, errDown,
			func(n int) bool { return n > 50 }, []error{ration.ErrDeadlineExceeded, errDown}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attempts := 0
				err := ration.MustNew(tc.p).Run(t.Context(), always(tc.fail, &attempts))
				if err == nil || !tc.attempts(attempts) {
					t.Errorf("%v after %d attempts", err, attempts)
				}
				checkIs(t, err, tc.is, nil)
			})
		})
	}
}

// C32: reload loses state.
func TestCaseReloadKeepsState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		p := ration.Policy{
			Name:    "first",
			Budget:  bucketOf(t, 1),
			Backoff: ration.NoBackoff,
			Breaker: &ration.BreakerSettings{ConsecutiveFailures: 1, Break: 30 * time.Second},
		}
		e := ration.MustNew(p)
		p.Budget.Withdraw(begin, ration.Critical)
		// By hand, since a driver's random number decides how long the break is.
		call := e.Begin(t.Context(), begin)
		call.Next(begin, transient, math.Nextafter(1, 0))

		time.Sleep(10 * time.Second)
		edited := p
		edited.Name, edited.Attempts = "second", 5
		edited.Budget = bucketOf(t, 1) // nobody has drawn on it
		edited.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 7, Break: time.Second}
		if err := e.Update(edited); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		bad := edited
		bad.Name, bad.Attempts = "third", -1
		if err := e.Update(bad); !isConfigError(err) {
			t.Errorf("the bad policy gave %v", err)
		}
		if got := e.Policy(); got.Name != "second" || got.Attempts != 5 {
			t.Errorf("policy %q with %d attempts is in force", got.Name, got.Attempts)
		}
		if u := e.Budget().Utilization(); u != 1 {
			t.Errorf("utilization %v: the budget was refilled", u)
		}
		time.Sleep(17900 * ms)
		if s := e.Breaker(time.Now()); s.State != ration.BreakerOpen {
			t.Errorf("breaker %v after %v", s.State, time.Since(begin))
		}
		time.Sleep(100 * ms)
		if s := e.Breaker(time.Now()); s.State != ration.BreakerHalfOpen {
			t.Errorf("breaker %v after %v", s.State, time.Since(begin))
		}
	})
}

func isConfigError(err error) bool {
	var c *ration.ConfigError
	return errors.As(err, &c)
}

// C35: state shared between calls.
func TestCaseCallsAreSeparate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		e := ration.MustNew(ration.Policy{
			AttemptTimeout: time.Minute,
			Backoff:        ration.NoBackoff,
			Breaker:        &ration.BreakerSettings{},
		})
		var wg sync.WaitGroup
		for i := range 100 {
			ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, i))
			if i%2 == 1 {
				time.AfterFunc(rand.N(50*ms), cancel)
			}
			wg.Go(func() {
				defer cancel()
				r := ration.Try(ctx, e, func(ctx context.Context) (int, error) {
					select {
					case <-time.After(50 * ms):
						return ctx.Value(key{}).(int), nil
					case <-ctx.Done():
						return ctx.Value(key{}).(int), ctx.Err()
					}
				})
				want := ration.StopSucceeded
				if i%2 == 1 {
					want = ration.StopCanceled
				}
				if r.Value != i || r.Stop != want {
					t.Errorf("call %d: value %d, %v", i, r.Value, r.Stop)
				}
			})
		}
		wg.Wait()
	})
}

// C37: permit leak, and outcomes reported twice. After ten thousand calls on
// fifty goroutines that end in every way, the bucket holds what it must to the
// last token, every probe is free, and there is one terminal event for each call
// and one attempt event for each attempt that was told of.
func TestCaseAccounting(t *testing.T) {
	const workers, each = 50, 200
	var terminals, attempts atomic.Int64
	b := bucketOf(t, 1_000_000) // far from full and from empty throughout
	for range 500_000 {
		b.Withdraw(epoch, ration.Critical)
	}
	e := ration.MustNew(ration.Policy{
		Budget:  b,
		Backoff: ration.NoBackoff,
		Breaker: &ration.BreakerSettings{
			ConsecutiveFailures: 3, Break: 20 * ms, Probes: 3, ProbeSuccesses: 1,
		},
		OnEvent: func(ev ration.Event) {
			if ev.Terminal() {
				terminals.Add(1)
			}
			if ev.Kind == ration.EventAttempt {
				attempts.Add(1)
			}
		},
	})
	// Driven by hand: the floor is paid for the time that the drivers name.
	var wg sync.WaitGroup
	tallies := make([]tally, workers)
	for w := range workers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 42))
			for i := range each {
				tallies[w].drive(t.Context(), e, epoch.Add(time.Duration(i)*10*ms), random)
			}
		})
	}
	wg.Wait()
	var sum tally
	for _, one := range tallies {
		sum.told += one.told
		sum.charged += one.charged
		sum.succeeded += one.succeeded
	}
	if got := terminals.Load(); got != workers*each {
		t.Errorf("%d terminal events for %d calls", got, workers*each)
	}
	if got := attempts.Load(); got != int64(sum.told) {
		t.Errorf("%d attempt events for %d attempts", got, sum.told)
	}
	end := epoch.Add((each - 1) * 10 * ms)
	floor := b.MinimumPerSecond() * end.Sub(epoch).Seconds()
	want := 500_000 + floor - float64(sum.charged) + 0.1*float64(sum.succeeded)
	if got := b.Capacity() * (1 - b.UtilizationAt(end)); math.Abs(got-want) > 1e-3 {
		t.Errorf("%v tokens left, want %v: %+v", got, want, sum)
	}
	checkProbesAreFree(t, e, end)
}

// checkProbesAreFree opens the breaker if need be, and sees that as many probes
// go out at once as may.
func checkProbesAreFree(t *testing.T, e *ration.Executor, now time.Time) {
	t.Helper()
	for e.Breaker(now).State == ration.BreakerClosed {
		call := e.Once().Begin(t.Context(), now)
		call.Next(now, transient, 0)
	}
	now = now.Add(time.Minute)
	for i := range 4 {
		call := e.Begin(t.Context(), now)
		if got := call.Decision().Action == ration.ActAttempt; got != (i < 3) {
			t.Errorf("probe %d of 3 admitted = %v", i+1, got)
		}
	}
}

// A tally is what one driver has done.
type tally struct{ told, charged, succeeded int }

// drive makes a call at one moment, and ends it in a random way.
func (n *tally) drive(
	ctx context.Context, e *ration.Executor, now time.Time, random *rand.Rand,
) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	outcomes := []ration.Outcome{
		ok, transient, throttled, permanent, timedOut, selfImposed(throttled),
	}
	free := false // the last failure was this process's own refusal
	call := e.Begin(ctx, now)
	for d := call.Decision(); d.Action != ration.ActStop; {
		if d.Action == ration.ActAttempt && d.Attempt > 1 && !free {
			n.charged++
		}
		chance := random.IntN(8)
		if chance == 0 {
			call.Abandon(now)
			return
		}
		if chance == 1 {
			cancel()
		}
		o := outcomes[random.IntN(len(outcomes))]
		if d.Action == ration.ActAttempt {
			n.told++
			free = o.Verdict.SelfImposed
			if o == ok {
				n.succeeded++
			}
		}
		d = call.Next(now, o, random.Float64())
	}
}
