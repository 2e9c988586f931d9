package ration_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
)

// What the function returned last is returned as it is, value and error, when
// nothing but the function ended the call.
func TestDoReturnsWhatTheFunctionDid(t *testing.T) {
	once := ration.Unrepeatable(errDown)
	for _, tc := range []struct {
		name  string
		errs  []error
		value int
		want  error
	}{
		{"success", nil, 1, nil},
		{"success after retries", []error{errDown, errDown}, 3, nil},
		{"permanent", []error{errBackend}, 1, errBackend},
		{"permanent after a retry", []error{errDown, errBackend}, 2, errBackend},
		{"attempts exhausted", []error{errSlow, errDown, errDown}, 3, errDown},
		{"not repeatable", []error{once}, 1, once},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := ration.MustNew(ration.Policy{Backoff: ration.NoBackoff})
			value, err := ration.Do(t.Context(), e, failing(tc.errs...))
			if value != tc.value || err != tc.want {
				t.Errorf("Do = %v, %v; want %v, %v", value, err, tc.value, tc.want)
			}
			e = ration.MustNew(ration.Policy{Backoff: ration.NoBackoff})
			fn := failing(tc.errs...)
			err = e.Run(t.Context(), func(ctx context.Context) error { _, err := fn(ctx); return err })
			if err != tc.want {
				t.Errorf("Run = %v, want %v", err, tc.want)
			}
		})
	}
}

// A value is returned on every way out, for whoever has to close it.
func TestDoReturnsTheValueBesideAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bucketOf(t, 1)
		b.Withdraw(time.Now(), ration.Critical)
		e := ration.MustNew(ration.Policy{Budget: b})
		value, err := ration.Do(t.Context(), e, failing(errDown))
		if value != 1 || !errors.Is(err, ration.ErrBudgetExhausted) {
			t.Errorf("Do = %v, %v", value, err)
		}
	})
}

func TestTryLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := ration.MustNew(ration.Policy{Backoff: exact, BeforeAttempt: func(context.Context, int) error {
			time.Sleep(5 * ms)
			return nil
		}})
		fn := failing(errDown, errSlow)
		r := ration.Try(t.Context(), e, func(ctx context.Context) (int, error) {
			time.Sleep(20 * ms)
			return fn(ctx)
		})
		want := ration.Result[int]{
			Value: 3,
			Attempts: []ration.Attempt{{
				Number: 1, Start: 5 * ms, Duration: 20 * ms,
				Verdict: ration.Verdict{Kind: ration.VerdictTransient}, Err: errDown,
			}, {
				Number: 2, Start: 130 * ms, Duration: 20 * ms, Delay: 100 * ms,
				Verdict: ration.Verdict{Kind: ration.VerdictThrottled}, Err: errSlow,
			}, {
				// The second retry after a throttled answer waits the second step.
				Number: 3, Start: 2155 * ms, Duration: 20 * ms, Delay: 2 * time.Second,
			}},
			Elapsed: 2175 * ms,
		}
		if !reflect.DeepEqual(r, want) {
			t.Errorf("Try = %+v\nwant %+v", r, want)
		}
		if !r.OK() {
			t.Error("OK = false")
		}

		r = ration.Try(t.Context(), e.Once(), failing(errDown))
		if r.OK() || r.Stop != ration.StopAttemptsExhausted || r.Err != errDown || r.Value != 1 {
			t.Errorf("Try = %+v", r)
		}

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r = ration.Try(ctx, e, failing())
		if r.Stop != ration.StopCanceled || len(r.Attempts) != 0 || r.Value != 0 {
			t.Errorf("Try = %+v", r)
		}
	})
}

// A wayOut is one way in which a call can end. Its function is told how to
// cancel the call and the number of the attempt.
type wayOut struct {
	name   string
	adapt  func(p *ration.Policy, cancel func())
	drain  bool // the bucket is empty
	ctx    func(context.Context) (context.Context, context.CancelFunc)
	fn     func(ctx context.Context, cancel func(), n int) error
	once   bool
	kind   ration.EventKind
	stop   ration.StopReason
	tokens float64 // left in a bucket of one
	opens  bool    // it is evidence against the dependency
	leaves bool    // by panic or Goexit
}

func just(err error) func(context.Context, func(), int) error {
	return func(context.Context, func(), int) error { return err }
}

func hang(ctx context.Context, _ func(), _ int) error {
	<-ctx.Done()
	return ctx.Err()
}

var waysOut = []wayOut{
	{name: "success", fn: just(nil), kind: ration.EventSucceeded, tokens: 1},
	{
		name: "success after a retry",
		fn: func(_ context.Context, _ func(), n int) error {
			if n == 1 {
				return errSlow
			}
			return nil
		},
		kind: ration.EventSucceeded, tokens: 0.1,
	},
	{
		name: "success after the caller has gone",
		fn:   func(_ context.Context, cancel func(), _ int) error { cancel(); return nil },
		kind: ration.EventSucceeded, tokens: 1,
	},
	{
		name: "permanent", fn: just(errBackend),
		kind: ration.EventNotRetried, stop: ration.StopPermanent, tokens: 1,
	},
	{
		name: "not repeatable", fn: just(ration.Unrepeatable(errSlow)),
		kind: ration.EventNotRetried, stop: ration.StopPermanent, tokens: 1,
	},
	{
		name: "not repeatable, and evidence", fn: just(ration.Unrepeatable(errDown)),
		kind: ration.EventNotRetried, stop: ration.StopPermanent, tokens: 1, opens: true,
	},
	{
		name: "nested refusal",
		fn: just(fmt.Errorf("inner: %w", &ration.Error{
			Reason: ration.StopBudgetExhausted, Last: errDown,
		})),
		kind: ration.EventNotRetried, stop: ration.StopPermanent, tokens: 1,
	},
	{
		name: "exhausted", fn: just(errSlow), adapt: func(p *ration.Policy, _ func()) { p.Attempts = 2 },
		kind: ration.EventExhausted, stop: ration.StopAttemptsExhausted, tokens: 0,
	},
	{
		name: "the only attempt", fn: just(errSlow), once: true,
		kind: ration.EventExhausted, stop: ration.StopAttemptsExhausted, tokens: 1,
	},
	{
		name: "the only attempt, and evidence", fn: just(errDown), once: true,
		kind: ration.EventExhausted, stop: ration.StopAttemptsExhausted, tokens: 1, opens: true,
	},
	{
		name: "the only attempt times out", fn: hang, once: true,
		kind: ration.EventExhausted, stop: ration.StopAttemptsExhausted, tokens: 1, opens: true,
	},
	{
		name: "its own failure opens the breaker", fn: just(errDown),
		kind: ration.EventRejectedByBreaker, stop: ration.StopUnavailable, tokens: 1, opens: true,
	},
	{
		name: "budget", fn: just(errSlow), drain: true,
		kind: ration.EventRejectedByBudget, stop: ration.StopBudgetExhausted, tokens: 0,
	},
	{
		name: "cancelled in the pause", drain: true,
		fn: func(_ context.Context, cancel func(), _ int) error {
			time.AfterFunc(10*ms, cancel)
			return errSlow
		},
		kind: ration.EventRejectedByBudget, stop: ration.StopBudgetExhausted, tokens: 0,
	},
	{
		name: "refused by this process throughout",
		fn:   just(ration.Refused(errBackend, ms)),
		kind: ration.EventExhausted, stop: ration.StopAttemptsExhausted, tokens: 1,
	},
	{
		name: "Admit refuses throughout",
		adapt: func(p *ration.Policy, _ func()) {
			p.Admit = func(context.Context) error { return ration.Refused(errBackend, ms) }
		},
		kind: ration.EventExhausted, stop: ration.StopAttemptsExhausted, tokens: 1,
	},
	{
		name: "Admit fails",
		adapt: func(p *ration.Policy, _ func()) {
			p.Admit = func(context.Context) error { return errBackend }
		},
		kind: ration.EventNotRetried, stop: ration.StopPermanent, tokens: 1,
	},
	{
		name: "BeforeAttempt fails",
		adapt: func(p *ration.Policy, _ func()) {
			p.BeforeAttempt = func(context.Context, int) error { return errDown }
		},
		kind: ration.EventNotRetried, stop: ration.StopPermanent, tokens: 1,
	},
	{
		name: "BeforeAttempt fails before a retry", fn: just(errSlow),
		adapt: func(p *ration.Policy, _ func()) {
			p.BeforeAttempt = func(_ context.Context, n int) error {
				if n == 2 {
					return errBackend
				}
				return nil
			}
		},
		kind: ration.EventNotRetried, stop: ration.StopPermanent, tokens: 1,
	},
	{
		name: "cancelled in BeforeAttempt",
		adapt: func(p *ration.Policy, cancel func()) {
			p.BeforeAttempt = func(ctx context.Context, _ int) error { cancel(); return ctx.Err() }
		},
		kind: ration.EventCanceled, stop: ration.StopCanceled, tokens: 1,
	},
	{
		name: "cancelled in BeforeAttempt, which does not say so",
		adapt: func(p *ration.Policy, cancel func()) {
			p.BeforeAttempt = func(context.Context, int) error { cancel(); return nil }
		},
		kind: ration.EventCanceled, stop: ration.StopCanceled, tokens: 1,
	},
	{
		name: "the deadline passes in BeforeAttempt",
		adapt: func(p *ration.Policy, _ func()) {
			p.Deadline = time.Second
			p.BeforeAttempt = func(context.Context, int) error { <-time.After(time.Second); return nil }
		},
		kind: ration.EventDeadlineExceeded, stop: ration.StopDeadlineExceeded, tokens: 1,
	},
	{
		name: "cancelled before",
		ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		},
		kind: ration.EventCanceled, stop: ration.StopCanceled, tokens: 1,
	},
	{
		name: "cancelled in the attempt",
		fn: func(ctx context.Context, cancel func(), _ int) error {
			cancel()
			return ctx.Err()
		},
		kind: ration.EventCanceled, stop: ration.StopCanceled, tokens: 1,
	},
	{
		name: "cancelled in the attempt, which fails for itself",
		fn:   func(_ context.Context, cancel func(), _ int) error { cancel(); return errDown },
		kind: ration.EventCanceled, stop: ration.StopCanceled, tokens: 1,
	},
	{
		name: "cancelled in the wait",
		fn: func(_ context.Context, cancel func(), _ int) error {
			time.AfterFunc(10*ms, cancel)
			return errSlow
		},
		kind: ration.EventCanceled, stop: ration.StopCanceled, tokens: 1,
	},
	{
		name: "the policy's deadline passes in the attempt", fn: hang,
		adapt: func(p *ration.Policy, _ func()) { p.Deadline = time.Second },
		kind:  ration.EventDeadlineExceeded, stop: ration.StopDeadlineExceeded, tokens: 1,
	},
	{
		name: "the caller's deadline passes in the attempt", fn: hang,
		ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		},
		kind: ration.EventDeadlineExceeded, stop: ration.StopDeadlineExceeded, tokens: 1,
	},
	{
		name: "no time for the wait", fn: just(ration.Throttled(errBackend, time.Minute)),
		kind: ration.EventDeadlineExceeded, stop: ration.StopDeadlineExceeded, tokens: 1,
	},
	{
		name: "panic", fn: func(context.Context, func(), int) error { panic("in the function") },
		kind: ration.EventAbandoned, tokens: 1, leaves: true,
	},
	{
		name: "panic in a retry",
		fn: func(_ context.Context, _ func(), n int) error {
			if n == 2 {
				panic("in the retry")
			}
			return errSlow
		},
		kind: ration.EventAbandoned, tokens: 0, leaves: true,
	},
	{
		name: "Goexit", fn: func(context.Context, func(), int) error { runtime.Goexit(); return nil },
		kind: ration.EventAbandoned, tokens: 1, leaves: true,
	},
	{
		name: "panic in BeforeAttempt",
		adapt: func(p *ration.Policy, _ func()) {
			p.BeforeAttempt = func(context.Context, int) error { panic("in the hook") }
		},
		kind: ration.EventAbandoned, tokens: 1, leaves: true,
	},
	{
		name: "Goexit in BeforeAttempt before a retry", fn: just(errSlow),
		adapt: func(p *ration.Policy, _ func()) {
			p.BeforeAttempt = func(_ context.Context, n int) error {
				if n == 2 {
					runtime.Goexit()
				}
				return nil
			}
		},
		kind: ration.EventAbandoned, tokens: 1, leaves: true,
	},
	{
		name: "panic in Admit",
		adapt: func(p *ration.Policy, _ func()) {
			p.Admit = func(context.Context) error { panic("in Admit") }
		},
		kind: ration.EventAbandoned, tokens: 1, leaves: true,
	},
	{
		name: "panic in Classify", fn: just(errBackend),
		adapt: func(p *ration.Policy, _ func()) {
			p.Classify = func(any, error) ration.Verdict { panic("in the classifier") }
		},
		kind: ration.EventAbandoned, tokens: 1, leaves: true,
	},
	{
		name: "panic in the curve", fn: just(errSlow),
		adapt: func(p *ration.Policy, _ func()) {
			p.Backoff.Custom = func(ration.Next) time.Duration { panic("in the curve") }
		},
		kind: ration.EventAbandoned, tokens: 1, leaves: true,
	},
	{
		name: "Goexit in the listener", fn: just(errSlow),
		adapt: func(p *ration.Policy, _ func()) {
			hear := p.OnEvent
			p.OnEvent = func(ev ration.Event) {
				hear(ev)
				if ev.Kind == ration.EventRetrying {
					runtime.Goexit()
				}
			}
		},
		kind: ration.EventAbandoned, tokens: 1, leaves: true,
	},
}

// However a call ends, there is one terminal event, a token whose retry did not
// start is back, and a half-open breaker admits the next call.
func TestEveryWayOut(t *testing.T) {
	for _, w := range waysOut {
		t.Run(w.name, func(t *testing.T) {
			synctest.Test(t, w.check)
		})
	}
}

func (w wayOut) check(t *testing.T) {
	var heard recorder
	budget := bucketOf(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := ration.Policy{
		Budget:         budget,
		AttemptTimeout: 2 * time.Second,
		Backoff:        ration.Backoff{Jitter: ration.NoJitter},
		Breaker: &ration.BreakerSettings{
			ConsecutiveFailures: 1, Break: 10 * time.Second, ProbeSuccesses: 1,
		},
		OnEvent: heard.hear,
	}
	tripped := ration.MustNew(p)
	tripped.Once().Run(t.Context(), func(context.Context) error { return errDown })
	<-time.After(10 * time.Second)
	if w.drain {
		budget.Withdraw(time.Now(), ration.Critical)
	}
	if w.adapt != nil {
		w.adapt(&p, cancel)
		if err := tripped.Update(p); err != nil {
			t.Fatal(err)
		}
	}
	heard.take()

	e := tripped
	if w.once {
		e = e.Once()
	}
	if w.ctx != nil {
		var end context.CancelFunc
		ctx, end = w.ctx(ctx)
		defer end()
	}
	r, returned := w.call(ctx, e, cancel)

	if returned == w.leaves {
		t.Fatalf("returned = %v", returned)
	}
	ev := terminal(t, heard.take())
	if ev.Kind != w.kind {
		t.Errorf("terminal event %v, want %v", ev.Kind, w.kind)
	}
	if !w.leaves && (r.Stop != w.stop || ev.Reason != w.stop) {
		t.Errorf("stopped as %v, event %v; want %v", r.Stop, ev.Reason, w.stop)
	}
	if w.leaves && ev.Reason != ration.StopAbandoned {
		t.Errorf("event says %v", ev.Reason)
	}
	checkTokens(t, budget, time.Now(), w.tokens)
	w.checkProbe(t, tripped, p)
}

// call runs the call on a goroutine of its own, which it may end.
func (w wayOut) call(
	ctx context.Context, e *ration.Executor, cancel func(),
) (r ration.Result[int], returned bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { recover() }()
		n := 0
		r = ration.Try(ctx, e, func(ctx context.Context) (int, error) {
			n++
			return n, w.fn(ctx, cancel, n)
		})
		returned = true
	}()
	<-done
	return r, returned
}

// checkProbe sees whether the call left the breaker's only slot free. Evidence
// opens it again, for a break that has to pass first.
func (w wayOut) checkProbe(t *testing.T, e *ration.Executor, p ration.Policy) {
	t.Helper()
	p.BeforeAttempt, p.Admit, p.Classify = nil, nil, nil
	if err := e.Update(p); err != nil {
		t.Fatal(err)
	}
	if got := e.Breaker(time.Now()).State == ration.BreakerOpen; got != w.opens {
		t.Errorf("breaker open = %v, want %v", got, w.opens)
	}
	if w.opens {
		<-time.After(time.Minute)
	}
	if err := e.Run(t.Context(), succeed); err != nil {
		t.Errorf("the next call: %v", err)
	}
	if s := e.Breaker(time.Now()).State; s != ration.BreakerClosed {
		t.Errorf("breaker %v after a success", s)
	}
}

// A refused retry: first the event, then a pause of exactly 100 ms, then the
// hint, which is how long to wait from then on.
func TestRefusedRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var heardAt time.Duration
		b := bucketOf(t, 20) // two tokens a second
		for range 20 {
			b.Withdraw(begin, ration.Critical)
		}
		e := ration.MustNew(ration.Policy{Budget: b, OnEvent: func(ev ration.Event) {
			if ev.Kind == ration.EventRejectedByBudget {
				heardAt = time.Since(begin)
				if ev.Delay != 100*ms || !ev.Rejection() || ev.Err != errDown {
					t.Errorf("event %+v", ev)
				}
			}
		}})
		err := e.Run(t.Context(), func(context.Context) error { time.Sleep(ms); return errDown })
		if heardAt != ms {
			t.Errorf("event at %v, want 1ms", heardAt)
		}
		if took := time.Since(begin); took != 101*ms {
			t.Errorf("took %v, want 101ms", took)
		}
		checkHint(t, err, 399*ms, true)
		checkIs(t, err, []error{ration.ErrBudgetExhausted, errBackend},
			[]error{ration.ErrUnavailable, ration.ErrDeadlineExceeded, context.Canceled})

		// Whoever comes back then is funded.
		time.Sleep(399 * ms)
		if err := e.Run(t.Context(), once(errDown)); err != nil {
			t.Errorf("after the hint: %v", err)
		}
	})
}

// once returns a function that fails at its first attempt.
func once(err error) func(context.Context) error {
	fn := failing(err)
	return func(ctx context.Context) error { _, err := fn(ctx); return err }
}

func TestPauseIsCutShort(t *testing.T) {
	for _, tc := range []struct {
		name string
		ctx  func(context.Context) (context.Context, context.CancelFunc)
		p    ration.Policy
	}{
		{"by the policy's deadline", context.WithCancel, ration.Policy{Deadline: 30 * ms}},
		{"by the caller's deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 30*ms)
		}, ration.Policy{}},
		{"by the caller", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(30*ms, cancel)
			return ctx, cancel
		}, ration.Policy{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				tc.p.Budget = bucketOf(t, 1)
				tc.p.Budget.Withdraw(begin, ration.Critical)
				tc.p.Backoff = ration.NoBackoff
				ctx, cancel := tc.ctx(t.Context())
				defer cancel()
				r := ration.Try(ctx, ration.MustNew(tc.p), failing(errDown))
				if r.Stop != ration.StopBudgetExhausted || time.Since(begin) != 30*ms {
					t.Errorf("%v after %v", r.Stop, time.Since(begin))
				}
				checkIs(t, r.Err, []error{ration.ErrBudgetExhausted, errDown},
					[]error{context.Canceled, ration.ErrDeadlineExceeded})
				checkHint(t, r.Err, 0, false)
			})
		})
	}
}

// Hooks: BeforeAttempt prepares each attempt within the deadline, but outside
// the attempt's timeout and the caller's own context; Admit runs inside both.
func TestHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		type key struct{}
		ctx := context.WithValue(t.Context(), key{}, "caller's")
		e := ration.MustNew(ration.Policy{
			AttemptTimeout: time.Second,
			Backoff:        ration.NoBackoff,
			BeforeAttempt: func(hookCtx context.Context, n int) error {
				order = append(order, fmt.Sprint("before ", n))
				if hookCtx != ctx {
					t.Error("BeforeAttempt was given another context")
				}
				time.Sleep(5 * time.Second) // no part of the attempt
				return nil
			},
			Admit: func(ctx context.Context) error {
				order = append(order, "admit")
				until, bounded := ctx.Deadline()
				if !bounded || time.Until(until) != time.Second || ctx.Value(key{}) != "caller's" {
					t.Errorf("Admit runs within %v", time.Until(until))
				}
				return nil
			},
			OnEvent: func(ev ration.Event) { order = append(order, ev.Kind.String()) },
		})
		fn := failing(errDown)
		_, err := ration.Do(ctx, e, func(ctx context.Context) (int, error) {
			order = append(order, "function")
			return fn(ctx)
		})
		if err != nil {
			t.Error(err)
		}
		want := "before 1, admit, function, attempt, retrying, " +
			"before 2, admit, function, attempt, succeeded"
		if got := strings.Join(order, ", "); got != want {
			t.Errorf("order %q\n want %q", got, want)
		}
	})
}

// What a hook returns is returned as it is, and judges nobody.
func TestHookErrors(t *testing.T) {
	hookErr := fmt.Errorf("no token: %w", errDown) // transient, had the function said it
	for _, n := range []int{1, 2} {
		attempts := 0
		e := ration.MustNew(ration.Policy{
			Backoff: ration.NoBackoff,
			BeforeAttempt: func(_ context.Context, attempt int) error {
				if attempt == n {
					return hookErr
				}
				return nil
			},
		})
		err := e.Run(t.Context(), always(errDown, &attempts))
		if err != hookErr || attempts != n-1 {
			t.Errorf("hook %d fails: %v after %d attempts", n, err, attempts)
		}
	}
}

// An Admit error is what the function would have returned.
func TestAdmit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		answers := []error{ration.Refused(errBackend, 7*time.Second), errDown, nil}
		b := bucketOf(t, 1)
		e := ration.MustNew(ration.Policy{
			Budget:  b,
			Backoff: exact,
			Admit: func(context.Context) error {
				answer := answers[0]
				answers = answers[1:]
				return answer
			},
		})
		attempts := 0
		if err := e.Run(t.Context(), always(nil, &attempts)); err != nil || attempts != 1 {
			t.Errorf("%v after %d attempts", err, attempts)
		}
		// The refusal was free, the transient failure cost the token, and the
		// success left a tenth.
		checkTokens(t, b, time.Now(), 0.1)
		if took := time.Since(begin); took != 7200*ms {
			t.Errorf("took %v: want the hint, and the second wait of 200 ms", took)
		}
	})
}

// An attempt's context tells its own timeout from a cancellation, and is over
// once the attempt is.
func TestAttemptContextOfDo(t *testing.T) {
	type causes struct{ err, cause error }
	caller := errors.New("the caller's reason")
	for _, tc := range []struct {
		name   string
		p      ration.Policy
		cancel time.Duration // when the caller does; 0 = never
		want   causes
	}{
		{"own timeout", ration.Policy{AttemptTimeout: 50 * ms}, time.Second,
			causes{context.DeadlineExceeded, ration.ErrAttemptTimeout}},
		{"caller", ration.Policy{AttemptTimeout: time.Second}, 50 * ms,
			causes{context.Canceled, caller}},
		{"caller, nothing else bounds it", ration.Policy{
			Deadline: ration.NoLimit, AttemptTimeout: ration.NoLimit,
		}, 50 * ms, causes{context.Canceled, caller}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				time.AfterFunc(tc.cancel, func() { cancel(caller) })
				tc.p.Attempts = 1
				var got causes
				ration.MustNew(tc.p).Run(ctx, func(ctx context.Context) error {
					<-ctx.Done()
					got = causes{ctx.Err(), context.Cause(ctx)}
					return ctx.Err()
				})
				if got != tc.want {
					t.Errorf("the function saw %v, want %v", got, tc.want)
				}
			})
		})
	}

	t.Run("ends with the attempt", func(t *testing.T) {
		var kept context.Context
		e := ration.MustNew(ration.Policy{Backoff: ration.NoBackoff})
		e.Run(t.Context(), func(ctx context.Context) error {
			if kept != nil && kept.Err() == nil {
				t.Error("the context of the first attempt is open during the second")
			}
			kept = ctx
			return errDown
		})
		if kept.Err() != context.Canceled {
			t.Errorf("after the call: %v", kept.Err())
		}
	})

	t.Run("unbounded, the caller's own", func(t *testing.T) {
		ctx := context.WithValue(t.Context(), deadlineContext{}, 1)
		e := ration.MustNew(ration.Policy{Deadline: ration.NoLimit, AttemptTimeout: ration.NoLimit})
		e.Run(ctx, func(given context.Context) error {
			if given != ctx {
				t.Errorf("given %v", given)
			}
			return nil
		})
	})
}

// Who ended a hanging attempt decides what the call ends as.
func TestTimeouts(t *testing.T) {
	for _, tc := range []struct {
		name     string
		p        ration.Policy
		caller   time.Duration // the caller's deadline; 0 = none
		fn       func(context.Context) error
		stop     ration.StopReason
		attempts int
		is       []error
		isNot    []error
	}{{
		name: "own timeout, last attempt",
		p:    ration.Policy{Attempts: 2, AttemptTimeout: 50 * ms, Backoff: ration.NoBackoff},
		stop: ration.StopAttemptsExhausted, attempts: 2,
		is:    []error{ration.ErrAttemptTimeout, context.DeadlineExceeded},
		isNot: []error{ration.ErrDeadlineExceeded, context.Canceled},
	}, {
		name: "own timeout, and the function has its own word for it",
		p:    ration.Policy{Attempts: 2, AttemptTimeout: 50 * ms, Backoff: ration.NoBackoff},
		fn:   func(ctx context.Context) error { <-ctx.Done(); return errBackend },
		stop: ration.StopAttemptsExhausted, attempts: 2,
		is:    []error{ration.ErrAttemptTimeout, context.DeadlineExceeded, errBackend},
		isNot: []error{ration.ErrDeadlineExceeded},
	}, {
		name: "own timeout, and the function names the cause",
		p:    ration.Policy{Attempts: 2, AttemptTimeout: 50 * ms, Backoff: ration.NoBackoff},
		fn:   func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) },
		stop: ration.StopAttemptsExhausted, attempts: 2,
		is: []error{ration.ErrAttemptTimeout, context.DeadlineExceeded},
	}, {
		name: "the timer fired, but the failure is a clear one",
		p:    ration.Policy{AttemptTimeout: 50 * ms},
		fn: func(ctx context.Context) error {
			<-ctx.Done()
			return ration.Permanent(errBackend)
		},
		stop: ration.StopPermanent, attempts: 1,
		is: []error{errBackend}, isNot: []error{ration.ErrAttemptTimeout},
	}, {
		name: "the policy's deadline, in the last attempt",
		p:    ration.Policy{Attempts: 1, Deadline: 50 * ms},
		stop: ration.StopDeadlineExceeded, attempts: 1,
		is:    []error{ration.ErrDeadlineExceeded, context.DeadlineExceeded},
		isNot: []error{ration.ErrAttemptTimeout},
	}, {
		name: "the policy's deadline, in a retry",
		p: ration.Policy{
			AttemptTimeout: 50 * ms, Deadline: 75 * ms, Backoff: ration.NoBackoff,
		},
		stop: ration.StopDeadlineExceeded, attempts: 2,
		is: []error{ration.ErrDeadlineExceeded}, isNot: []error{ration.ErrAttemptTimeout},
	}, {
		name:   "the caller's deadline",
		p:      ration.Policy{AttemptTimeout: time.Second},
		caller: 50 * ms,
		stop:   ration.StopDeadlineExceeded, attempts: 1,
		is:    []error{ration.ErrDeadlineExceeded, context.DeadlineExceeded},
		isNot: []error{ration.ErrAttemptTimeout, context.Canceled},
	}, {
		name:   "both deadlines at once",
		p:      ration.Policy{Deadline: 50 * ms, AttemptTimeout: 50 * ms},
		caller: 50 * ms,
		stop:   ration.StopDeadlineExceeded, attempts: 1,
		is: []error{ration.ErrDeadlineExceeded}, isNot: []error{ration.ErrAttemptTimeout},
	}} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tc.caller > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.caller)
					defer cancel()
				}
				if tc.fn == nil {
					tc.fn = func(ctx context.Context) error { return hang(ctx, nil, 0) }
				}
				r := ration.Try(ctx, ration.MustNew(tc.p), func(ctx context.Context) (int, error) {
					return 0, tc.fn(ctx)
				})
				if r.Stop != tc.stop || len(r.Attempts) != tc.attempts {
					t.Errorf("%v after %d attempts, want %v after %d",
						r.Stop, len(r.Attempts), tc.stop, tc.attempts)
				}
				checkIs(t, r.Err, tc.is, tc.isNot)
			})
		})
	}
}

// The policy's classifier is not asked about the attempt's own timeout, and has
// the last word on every other failure.
func TestClassifierIsNotShownTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown []error
		e := ration.MustNew(ration.Policy{
			Attempts:       2,
			AttemptTimeout: 50 * ms,
			Backoff:        ration.NoBackoff,
			Classify: func(_ any, err error) ration.Verdict {
				shown = append(shown, err)
				return ration.Verdict{Kind: ration.VerdictPermanent}
			},
		})
		r := ration.Try(t.Context(), e, func(ctx context.Context) (int, error) {
			return 0, hang(ctx, nil, 0)
		})
		if len(r.Attempts) != 2 || len(shown) != 0 {
			t.Errorf("%d attempts; the classifier was shown %v", len(r.Attempts), shown)
		}
		// A timeout of something else is the classifier's business.
		e.Run(t.Context(), func(context.Context) error { return context.DeadlineExceeded })
		if len(shown) != 1 {
			t.Errorf("the classifier was shown %v", shown)
		}
	})
}

// Do draws its own jitter: calls that failed together do not come back together.
func TestDoDrawsJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := ration.MustNew(ration.Policy{Budget: ration.NoBudget})
		seen := make(map[time.Duration]bool)
		for range 200 {
			wait := ration.Try(t.Context(), e, failing(errDown)).Attempts[1].Delay
			if wait < 0 || wait > 100*ms {
				t.Errorf("waited %v", wait)
			}
			seen[wait] = true
		}
		if len(seen) < 150 {
			t.Errorf("200 waits took only %d values", len(seen))
		}
	})
}

// A value can be a failure, if the classifier says so; without a classifier it
// is not looked at.
func TestClassifiedValue(t *testing.T) {
	var heard recorder
	e := ration.MustNew(ration.Policy{
		Backoff: ration.NoBackoff,
		OnEvent: heard.hear,
		Classify: func(value any, err error) ration.Verdict {
			if value.(int) < 3 {
				return ration.Verdict{Kind: ration.VerdictTransient}
			}
			return ration.DefaultClassifier(value, err)
		},
	})
	r := ration.Try(t.Context(), e, func(context.Context) (int, error) { return 2, nil })
	if r.Stop != ration.StopAttemptsExhausted || r.Value != 2 || r.Err != nil {
		t.Errorf("Try = %+v: want a failed value and no error", r)
	}
	n := 0
	value, err := ration.Do(t.Context(), e, func(context.Context) (int, error) { n++; return n, nil })
	if value != 3 || err != nil {
		t.Errorf("Do = %v, %v", value, err)
	}
}

// With a p95 of about 40 ms a hung attempt is given up after about 120 ms, and a
// deadline of 3 s has room for three.
func TestMeasuredCeiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard recorder
		e := ration.MustNew(ration.Policy{
			Deadline: 3 * time.Second, Backoff: exact, OnEvent: heard.hear,
		})
		warm(t, e, 19, 40*ms)
		begin := time.Now()
		err := e.Run(t.Context(), func(ctx context.Context) error { return hang(ctx, nil, 0) })
		if took := time.Since(begin); took != 3*time.Second || err == nil {
			t.Errorf("cold: a hung attempt was given up after %v", took)
		}
		warm(t, e, 1, 40*ms)
		heard.take()
		begin = time.Now()
		r := ration.Try(t.Context(), e, func(ctx context.Context) (int, error) {
			return 0, hang(ctx, nil, 0)
		})
		if r.Stop != ration.StopAttemptsExhausted || len(r.Attempts) != 3 {
			t.Errorf("%v after %d attempts", r.Stop, len(r.Attempts))
		}
		checkIs(t, r.Err, []error{ration.ErrAttemptTimeout}, nil)
		for _, a := range r.Attempts {
			// An eighth of an octave is the error of the measurement.
			if a.Duration < 120*ms || a.Duration > 135*ms {
				t.Errorf("attempt %d was given up after %v", a.Number, a.Duration)
			}
		}
		if took := time.Since(begin); took < 660*ms || took > 705*ms {
			t.Errorf("the call took %v", took)
		}
		told := only(heard.take(), ration.EventCeilingAdapted)
		if len(told) != 1 || told[0].Delay != r.Attempts[0].Duration {
			t.Errorf("told %v: want the change once", told)
		}
	})
}

// warm makes n calls that take d each.
//
// sleep: in the bubble of its caller
func warm(t *testing.T, e *ration.Executor, n int, d time.Duration) {
	t.Helper()
	for range n {
		if err := e.Run(t.Context(), func(context.Context) error { time.Sleep(d); return nil }); err != nil {
			t.Fatal(err)
		}
	}
}

// A written timeout that is tighter than the measured ceiling stands.
func TestMeasuredCeilingOnlyTightens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard recorder
		e := ration.MustNew(ration.Policy{AttemptTimeout: 100 * ms, OnEvent: heard.hear})
		warm(t, e, 30, 60*ms)
		begin := time.Now()
		e.Once().Run(t.Context(), func(ctx context.Context) error { return hang(ctx, nil, 0) })
		if took := time.Since(begin); took != 100*ms {
			t.Errorf("given up after %v", took)
		}
		if n := len(only(heard.take(), ration.EventCeilingAdapted)); n != 0 {
			t.Errorf("told %d times of a ceiling that does not bind", n)
		}
	})
}

// The measured base replaces the transient one, once it is warm.
func TestMeasuredBase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard recorder
		p := ration.Policy{
			Backoff: ration.Backoff{Jitter: ration.NoJitter, Measured: &ration.MeasuredBase{Multiple: 2}},
			OnEvent: heard.hear,
		}
		e := ration.MustNew(p)
		waits := func(errs ...error) (delays []time.Duration) {
			for _, a := range ration.Try(t.Context(), e, failing(errs...)).Attempts[1:] {
				delays = append(delays, a.Delay)
			}
			return delays
		}
		if got := waits(errDown); !slices.Equal(got, []time.Duration{100 * ms}) {
			t.Errorf("cold: %v", got)
		}
		// 40.96 ms is a bound of the histogram, which it reports exactly.
		warm(t, e, 30, 40960*time.Microsecond)
		heard.take()
		base := 2 * 40960 * time.Microsecond
		got := waits(errDown, errDown)
		if want := []time.Duration{base, 2 * base}; !slices.Equal(got, want) {
			t.Errorf("warm: %v, want %v", got, want)
		}
		if got := waits(errSlow); !slices.Equal(got, []time.Duration{time.Second}) {
			t.Errorf("throttled: %v", got)
		}
		told := only(heard.take(), ration.EventBackoffBaseAdapted)
		if len(told) != 1 || told[0].Delay != base {
			t.Errorf("told %v: want the change once", told)
		}
	})
}

// Running a policy changes nothing that can be reached from its value.
func TestPolicyIsUnchanged(t *testing.T) {
	policy := func() ration.Policy {
		return ration.Policy{
			Name:    "p",
			Ceiling: &ration.Ceiling{Multiple: 4},
			Backoff: ration.Backoff{Measured: &ration.MeasuredBase{}},
			Breaker: &ration.BreakerSettings{ConsecutiveFailures: 2},
		}
	}
	synctest.Test(t, func(t *testing.T) {
		p := policy()
		e, again := ration.MustNew(p), ration.MustNew(p)
		warm(t, e, 30, ms)
		attempts := 0
		for range 5 {
			e.Run(t.Context(), always(errDown, &attempts))
			e.For("key").Run(t.Context(), always(errSlow, &attempts))
		}
		if want := policy(); !reflect.DeepEqual(p, want) {
			t.Errorf("policy %+v, want %+v", p, want)
		}
		// Nor do two executors of one policy share anything.
		if e.Budget() == again.Budget() || again.Budget().Utilization() != 0 {
			t.Error("two executors share an automatic budget")
		}
		if s := again.Breaker(time.Now()).State; s != ration.BreakerClosed {
			t.Errorf("the other executor's breaker is %v", s)
		}
	})
}

// Package-level executors serve users' bubbles and the world outside, in turns:
// nothing that belongs to one bubble is kept for the next.
var packageLevel = ration.MustNew(ration.Policy{
	AttemptTimeout: time.Second,
	Backoff:        ration.Backoff{Measured: &ration.MeasuredBase{}},
	Breaker:        &ration.BreakerSettings{FailureRatio: 0.9, MinimumCalls: 1000},
})

func TestPackageLevelExecutor(t *testing.T) {
	use := func(t *testing.T) {
		for _, e := range []*ration.Executor{
			packageLevel, packageLevel.For("key"), packageLevel.Once(),
		} {
			for i := range 50 {
				ctx, cancel := context.WithCancel(t.Context())
				err := e.Run(ctx, func(ctx context.Context) error {
					child, stop := context.WithTimeout(ctx, time.Minute)
					defer stop()
					select {
					case <-child.Done():
						t.Error("ended too soon")
					default:
					}
					if i%10 == 9 {
						cancel()
						<-child.Done()
						return child.Err()
					}
					return nil
				})
				if (err != nil) != (i%10 == 9) {
					t.Errorf("call %d: %v", i, err)
				}
				cancel()
			}
			// One that waits, and one that leaves its timer running.
			e.Run(t.Context(), once(ration.Throttled(errBackend, time.Nanosecond)))
			e.Run(t.Context(), func(ctx context.Context) error { ctx.Done(); return nil })
		}
	}
	for range 3 {
		use(t)
		synctest.Test(t, use)
	}
}

// The drivers obey decisions and make none. What a call costs is decided in one
// place; a driver that withdrew or deposited by itself would be a second.
func TestDriversDecideNothing(t *testing.T) {
	forbidden := map[string][]string{
		"do.go": {
			"Withdraw", "Deposit", "withdraw", "deposit", "refund", "admit", "succeeded", "failed",
			"returned", "refuses", "delay", "backoff",
		},
	}
	simulator, err := filepath.Glob("rationsim/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range simulator {
		// From another package there is no more than these to touch.
		if !strings.HasSuffix(file, "_test.go") {
			forbidden[file] = []string{"Withdraw", "Deposit"}
		}
	}
	for file, names := range forbidden {
		for _, fault := range calls(t, file, names) {
			t.Error(fault)
		}
	}
	// A rule that cannot fail guards nothing.
	if found := calls(t, "call.go", forbidden["do.go"]); len(found) == 0 {
		t.Error("found no decision in call.go either")
	}
}

// calls returns the places where a file calls a method of one of the names.
func calls(t *testing.T, file string, names []string) (found []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains(names, sel.Sel.Name) {
			found = append(found, fmt.Sprintf("%s touches %s", fset.Position(sel.Sel.Pos()), sel.Sel.Name))
		}
		return true
	})
	return found
}

// A failure that comes once the timer has fired is the timer's doing, whoever
// classified it and whatever the function made of the end of its context.
func TestFailureOnceTheTimerHasFired(t *testing.T) {
	hint := ration.Verdict{Kind: ration.VerdictTransient, RetryAfter: 5 * time.Second}
	for _, tc := range []struct {
		name     string
		classify ration.Classifier
		err      error
		timeout  bool
		attempts int
	}{
		{"nobody knows it", nil, errBackend, true, 2},
		{"marked transient", nil, errDown, true, 2},
		{"a hint stays", nil, ration.Mark(errBackend, hint), true, 2},
		{"a socket with the same deadline", nil, os.ErrDeadlineExceeded, true, 2},
		{"classified as transient", ration.RetryAny, errBackend, true, 2},
		{"an answer to slow down", nil, errSlow, false, 2},
		{"a permanent answer", nil, ration.Permanent(errBackend), false, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := ration.MustNew(ration.Policy{
					Attempts:       2,
					AttemptTimeout: time.Second,
					Classify:       tc.classify,
				})
				r := ration.Try(t.Context(), e, func(ctx context.Context) (int, error) {
					<-ctx.Done()
					return 0, tc.err
				})
				if !errors.Is(r.Err, tc.err) || errors.Is(r.Err, ration.ErrAttemptTimeout) != tc.timeout {
					t.Errorf("%v, want a timeout: %t", r.Err, tc.timeout)
				}
				if len(r.Attempts) != tc.attempts {
					t.Fatalf("%d attempts, want %d", len(r.Attempts), tc.attempts)
				}
				if tc.name == "a hint stays" && r.Attempts[1].Delay != hint.RetryAfter {
					t.Errorf("a wait of %v, want the hint", r.Attempts[1].Delay)
				}
			})
		})
	}
}

// A probe that meets its timeout reopens the breaker, though its lease ends at
// that very moment, and though the policy's classifier has the word.
func TestProbeThatTimesOutReopens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := ration.MustNew(ration.Policy{
			Attempts:       1,
			AttemptTimeout: time.Second,
			Classify:       ration.RetryAny,
			Breaker:        &ration.BreakerSettings{ConsecutiveFailures: 1},
		})
		e.Run(t.Context(), func(context.Context) error { return errBackend })
		time.Sleep(15 * time.Second)
		e.Run(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return errBackend })
		if s := e.Breaker(time.Now()).State; s != ration.BreakerOpen {
			t.Errorf("%v after a probe that timed out, want open", s)
		}
	})
}

// An attempt without any bound has not timed out because the one before it did.
func TestUnboundAttemptAfterTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := func(ration.Next) time.Duration { return 10 * time.Minute } // the ceiling is cold again
		e := ration.MustNew(ration.Policy{
			Deadline:       ration.NoLimit,
			AttemptTimeout: ration.NoLimit,
			Ceiling:        &ration.Ceiling{},
			Backoff:        ration.Backoff{Custom: long},
		})
		for range 20 {
			e.Run(t.Context(), func(context.Context) error { return nil })
		}
		attempts := 0
		err := e.Run(context.Background(), func(ctx context.Context) error {
			if attempts++; attempts == 1 {
				<-ctx.Done()
			}
			return errBackend
		})
		if attempts != 2 || err != errBackend {
			t.Errorf("%d attempts and %v, want the second to be the last", attempts, err)
		}
	})
}

// A hook that outlasts its probe's lease has lost the slot to whoever took it
// meanwhile, and must not become a second probe beside that one.
func TestHookOutlastsItsLease(t *testing.T) {
	for name, tc := range map[string]struct {
		taken bool
		want  error // of the call with the hook
	}{
		"the slot is taken":      {true, ration.ErrUnavailable},
		"nobody asked meanwhile": {false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var hook atomic.Int64 // how long the next one takes
				e := ration.MustNew(ration.Policy{
					Attempts:       1,
					AttemptTimeout: time.Second,
					Breaker:        &ration.BreakerSettings{ConsecutiveFailures: 1, ProbeSuccesses: 1},
					BeforeAttempt: func(context.Context, int) error {
						time.Sleep(time.Duration(hook.Swap(0)))
						return nil
					},
				})
				e.Run(t.Context(), func(context.Context) error { return errDown })
				time.Sleep(15 * time.Second)
				hook.Store(int64(1500 * ms))
				done := make(chan error)
				go func() { done <- e.Run(t.Context(), func(context.Context) error { return nil }) }()
				time.Sleep(1100 * ms)
				if tc.taken {
					go e.Run(t.Context(), func(context.Context) error {
						time.Sleep(900 * ms)
						return nil
					})
				}
				if err := <-done; !errors.Is(err, tc.want) {
					t.Errorf("%v, want %v", err, tc.want)
				}
				time.Sleep(time.Second)
				if s := e.Breaker(time.Now()).State; s != ration.BreakerClosed {
					t.Errorf("%v, want the one probe to have closed it", s)
				}
			})
		})
	}
}

// Nor does an attempt go out to a breaker that opened while its hook ran.
func TestBreakerOpensDuringAHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e *ration.Executor
		outer := true
		e = ration.MustNew(ration.Policy{
			Attempts: 1,
			Breaker:  &ration.BreakerSettings{ConsecutiveFailures: 1},
			BeforeAttempt: func(ctx context.Context, _ int) error {
				if outer {
					outer = false
					e.Run(ctx, func(context.Context) error { return errDown })
				}
				return nil
			},
		})
		err := e.Run(t.Context(), func(context.Context) error {
			t.Error("an attempt went out to an open breaker")
			return nil
		})
		checkIs(t, err, []error{ration.ErrUnavailable}, nil)
	})
}
