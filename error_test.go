package ration_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
)

var (
	errShutdown = errors.New("the process shuts down")

	// sentinels are all that an error of a call may be asked for.
	sentinels = map[string]error{
		"budget":          ration.ErrBudgetExhausted,
		"unavailable":     ration.ErrUnavailable,
		"deadline":        ration.ErrDeadlineExceeded,
		"attempt timeout": ration.ErrAttemptTimeout,
		"ctx deadline":    context.DeadlineExceeded,
		"ctx canceled":    context.Canceled,
		"last":            errBackend,
		"cause":           errShutdown,
	}
)

// What the error of each reason matches, and nothing else; how it reads; and
// what it says about itself.
func TestErrorMatrix(t *testing.T) {
	for _, tc := range []struct {
		name  string
		p     ration.Policy
		drain bool
		ctx   func(context.Context) (context.Context, func())
		fn    func(context.Context) error
		is    []string
		isErr bool // a *ration.Error
		want  ration.Error
		text  string
	}{{
		name: "permanent", fn: fails(errBackend),
		is: []string{"last"}, text: "backend said no",
	}, {
		name: "attempts exhausted", fn: fails(errDown), p: ration.Policy{Backoff: ration.NoBackoff},
		is: []string{"last"}, text: "backend said no",
	}, {
		name: "attempts exhausted by timeouts",
		p:    ration.Policy{AttemptTimeout: time.Second, Backoff: ration.NoBackoff},
		fn: func(ctx context.Context) error {
			<-ctx.Done()
			return fmt.Errorf("%w: %w", errBackend, ctx.Err())
		},
		is:   []string{"attempt timeout", "ctx deadline", "last"},
		text: "ration: attempt timed out: backend said no: context deadline exceeded",
	}, {
		name: "not repeatable", fn: fails(ration.Unrepeatable(errDown)),
		is: []string{"last"}, text: "ration: not repeatable: backend said no",
	}, {
		name: "budget", drain: true, fn: fails(errDown),
		is: []string{"budget", "last"}, isErr: true,
		want: ration.Error{Reason: ration.StopBudgetExhausted, Last: errDown, Attempts: 1},
		text: "ration: retry budget exhausted after 1 attempt: backend said no",
	}, {
		name: "breaker, opened by this call", fn: fails(errDown),
		p: ration.Policy{
			Breaker: &ration.BreakerSettings{ConsecutiveFailures: 2}, Backoff: ration.NoBackoff,
		},
		is: []string{"unavailable", "last"}, isErr: true,
		want: ration.Error{Reason: ration.StopUnavailable, Last: errDown, Attempts: 2},
		text: "ration: breaker open after 2 attempts: backend said no",
	}, {
		name: "policy's deadline", fn: func(ctx context.Context) error { return hang(ctx, nil, 0) },
		p:  ration.Policy{Deadline: time.Second, Name: "payments"},
		is: []string{"deadline", "ctx deadline"}, isErr: true,
		want: ration.Error{
			Reason: ration.StopDeadlineExceeded, Last: context.DeadlineExceeded, Attempts: 1,
		},
		text: "ration: payments: deadline exceeded after 1 attempt: context deadline exceeded",
	}, {
		name: "policy's deadline, no time for the wait", fn: fails(errDown),
		p:  ration.Policy{Deadline: 50 * ms, Backoff: exact},
		is: []string{"deadline", "ctx deadline", "last"}, isErr: true,
		want: ration.Error{Reason: ration.StopDeadlineExceeded, Last: errDown, Attempts: 1},
		text: "ration: deadline exceeded after 1 attempt: backend said no",
	}, {
		name: "caller's deadline with a cause",
		ctx: func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeoutCause(ctx, time.Second, errShutdown)
			return ctx, cancel
		},
		fn: func(ctx context.Context) error { <-ctx.Done(); return errDown },
		is: []string{"deadline", "ctx deadline", "cause", "last"}, isErr: true,
		want: ration.Error{Reason: ration.StopDeadlineExceeded, Last: errDown, Attempts: 1},
		text: "ration: deadline exceeded after 1 attempt (the process shuts down): backend said no",
	}, {
		name: "caller's cancellation", ctx: canceledWith(nil), fn: fails(nil),
		is: []string{"ctx canceled"}, isErr: true,
		want: ration.Error{Reason: ration.StopCanceled},
		text: "ration: canceled before the first attempt",
	}, {
		name: "caller's cancellation with a cause", ctx: canceledWith(errShutdown), fn: fails(nil),
		is: []string{"ctx canceled", "cause"}, isErr: true,
		want: ration.Error{Reason: ration.StopCanceled},
		text: "ration: canceled before the first attempt (the process shuts down)",
	}, {
		name: "caller's cancellation in the wait",
		ctx: func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(10*ms, func() { cancel(errShutdown) })
			return ctx, func() { cancel(nil) }
		},
		p: ration.Policy{Backoff: exact}, fn: fails(errDown),
		is: []string{"ctx canceled", "cause", "last"}, isErr: true,
		want: ration.Error{Reason: ration.StopCanceled, Last: errDown, Attempts: 1},
		text: "ration: canceled after 1 attempt (the process shuts down): backend said no",
	}} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.p.Budget = bucketOf(t, 20)
				if tc.drain {
					tc.p.Budget = bucketOf(t, 1)
					tc.p.Budget.Withdraw(time.Now(), ration.Critical)
				}
				ctx := t.Context()
				if tc.ctx != nil {
					var end func()
					ctx, end = tc.ctx(ctx)
					defer end()
				}
				err := ration.MustNew(tc.p).Run(ctx, tc.fn)
				checkMatches(t, err, tc.is)
				if got := err.Error(); got != tc.text {
					t.Errorf("text %q\nwant %q", got, tc.text)
				}
				var e *ration.Error
				if errors.As(err, &e) != tc.isErr {
					t.Fatalf("%T: errors.As(*ration.Error) = %v", err, !tc.isErr)
				}
				if !tc.isErr {
					return
				}
				if e.Reason != tc.want.Reason || e.Last != tc.want.Last || e.Attempts != tc.want.Attempts {
					t.Errorf("error %+v, want %+v", e, tc.want)
				}
				if e.Timeout() != (e.Reason == ration.StopDeadlineExceeded) {
					t.Errorf("Timeout = %v", e.Timeout())
				}
			})
		})
	}
}

// fails returns a function that fails with err at each attempt.
func fails(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

func canceledWith(cause error) func(context.Context) (context.Context, func()) {
	return func(ctx context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(cause)
		return ctx, func() {}
	}
}

func checkMatches(t *testing.T, err error, names []string) {
	t.Helper()
	want := make(map[string]bool)
	for _, name := range names {
		want[name] = true
	}
	for name, target := range sentinels {
		if got := errors.Is(err, target); got != want[name] {
			t.Errorf("%v matches %s = %v, want %v", err, name, got, want[name])
		}
	}
}

// The type of the last failure is found through ours.
func TestErrorAs(t *testing.T) {
	last := &net.OpError{Op: "read", Err: io.EOF}
	err := error(&ration.Error{Reason: ration.StopBudgetExhausted, Last: fmt.Errorf("get: %w", last)})
	var op *net.OpError
	if !errors.As(err, &op) || op != last {
		t.Errorf("errors.As found %v", op)
	}
	if !errors.Is(err, io.EOF) {
		t.Error("io.EOF is not found")
	}
}

// Code that knows only net.Error reads our timeouts as timeouts.
func TestTimeoutErrors(t *testing.T) {
	for _, err := range []error{ration.ErrDeadlineExceeded, ration.ErrAttemptTimeout} {
		timeout, ok := err.(interface{ Timeout() bool })
		if !ok || !timeout.Timeout() || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v is no timeout", err)
		}
	}
	if errors.Is(ration.ErrDeadlineExceeded, ration.ErrAttemptTimeout) ||
		errors.Is(ration.ErrAttemptTimeout, ration.ErrDeadlineExceeded) {
		t.Error("the two timeouts match each other")
	}
	synctest.Test(t, func(t *testing.T) {
		e := ration.MustNew(ration.Policy{Attempts: 1, AttemptTimeout: ms})
		err := e.Run(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return errBackend })
		timeout, ok := err.(interface{ Timeout() bool })
		if !ok || !timeout.Timeout() {
			t.Errorf("%v is no timeout", err)
		}
	})
}

// The reason is also in an error that a caller makes, for tests of their own.
func TestErrorZeroValues(t *testing.T) {
	e := &ration.Error{Reason: ration.StopUnavailable}
	if got, want := e.Error(), "ration: breaker open before the first attempt"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	if d, ok := e.RetryAfter(); d != 0 || ok {
		t.Errorf("RetryAfter = %v, %v", d, ok)
	}
	if !errors.Is(e, ration.ErrUnavailable) {
		t.Error("does not match its sentinel")
	}
}

func TestNilIsNotWrapped(t *testing.T) {
	if err := ration.Unrepeatable(nil); err != nil {
		t.Errorf("Unrepeatable(nil) = %v", err)
	}
}

func TestStopReasonString(t *testing.T) {
	want := []string{
		"succeeded", "permanent", "attempts_exhausted", "deadline_exceeded", "budget_exhausted",
		"unavailable", "canceled", "abandoned", "StopReason(8)",
	}
	for i, name := range want {
		if got := ration.StopReason(i).String(); got != name {
			t.Errorf("StopReason(%d) = %q, want %q", i, got, name)
		}
	}
	if got := ration.StopReason(-1).String(); got != "StopReason(-1)" {
		t.Errorf("StopReason(-1) = %q", got)
	}
}

func TestConfigErrorText(t *testing.T) {
	err := &ration.ConfigError{Policy: "payments", Problems: []string{"a is bad", "b is worse"}}
	want := `ration: invalid policy "payments": a is bad; b is worse`
	if got := err.Error(); got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	err.Policy = ""
	if got, want := err.Error(), "ration: invalid policy: a is bad; b is worse"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

// An Error can be made by anybody, as a test double's answer for one, and then
// need not have a reason that the library gives.
func TestErrorOfAnyReason(t *testing.T) {
	for _, tc := range []struct {
		err  ration.Error
		want string
	}{
		{ration.Error{}, "ration: succeeded before the first attempt"},
		{
			ration.Error{Reason: ration.StopPermanent, Attempts: 1, Last: errBackend},
			"ration: permanent after 1 attempt: backend said no",
		},
		{ration.Error{Reason: 99}, "ration: StopReason(99) before the first attempt"},
	} {
		if got := tc.err.Error(); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
