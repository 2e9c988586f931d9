package ration_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
)

// A call that retries inside something that retries says so once, whatever it
// does then, and does nothing else differently. A call that makes one attempt
// multiplies nothing.
func TestNestedRetryIsReported(t *testing.T) {
	mark := ration.WithNestedRetry
	for _, tc := range []struct {
		name string
		mark func(context.Context) context.Context
		p    ration.Policy
		once bool
		fn   func(context.Context) error
		want string
	}{
		{"success", mark, ration.Policy{}, false, succeed, "nested_retry attempt succeeded"},
		{"with retries", mark, ration.Policy{}, false, fails(errDown),
			"nested_retry attempt retrying attempt retrying attempt exhausted"},
		{"one attempt", mark, ration.Policy{Attempts: 1}, false, succeed, "attempt succeeded"},
		{"asked for one attempt", mark, ration.Policy{}, true, succeed, "attempt succeeded"},
		{"not nested", context.WithoutCancel, ration.Policy{}, false, succeed, "attempt succeeded"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var heard recorder
			tc.p.OnEvent, tc.p.Backoff = heard.hear, ration.NoBackoff
			e := ration.MustNew(tc.p)
			if tc.once {
				e = e.Once()
			}
			e.Run(tc.mark(t.Context()), tc.fn)
			if got := kinds(heard.take()); got != tc.want {
				t.Errorf("events %q, want %q", got, tc.want)
			}
		})
	}
}

// Who retries is known as far as somebody said, and inside an attempt that is
// retried it is the attempt.
func TestRetryingCallerOf(t *testing.T) {
	shop := ration.RetryingCaller{Peer: "10.0.0.7", Route: "GET /cart", Agent: "shop/2"}
	from := ration.WithNestedRetryFrom(t.Context(), func() ration.RetryingCaller { return shop })
	check := func(ctx context.Context, want ration.RetryingCaller, nested bool) {
		t.Helper()
		got, known := ration.RetryingCallerOf(ctx)
		if got != want || known != (want != ration.RetryingCaller{}) || ration.IsNestedRetry(ctx) != nested {
			t.Errorf("got %+v, %t, nested %t", got, known, ration.IsNestedRetry(ctx))
		}
	}
	var nobody ration.RetryingCaller
	check(t.Context(), nobody, false)
	check(ration.WithNestedRetry(t.Context()), nobody, true)
	check(from, shop, true)
	for attempts, want := range map[int]ration.RetryingCaller{1: shop, 3: nobody} {
		_ = ration.MustNew(ration.Policy{Attempts: attempts}).Run(from, func(ctx context.Context) error {
			check(ctx, want, true)
			return nil
		})
	}
}

// Within a process the mark rides on the attempt's own context.
func TestNestedRetryWithinAProcess(t *testing.T) {
	for _, tc := range []struct {
		name  string
		outer ration.Policy
		want  bool
	}{
		{"bounded attempts that are retried", ration.Policy{}, true},
		{"bounded by the deadline alone", ration.Policy{AttemptTimeout: ration.NoLimit}, true},
		{"a single attempt", ration.Policy{Attempts: 1}, false},
		// It is given the caller's own context, which costs nothing.
		{"no bounds", ration.Policy{
			AttemptTimeout: ration.NoLimit, Deadline: ration.NoLimit,
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var heard recorder
			inner := ration.MustNew(ration.Policy{OnEvent: heard.hear, Backoff: ration.NoBackoff})
			tc.outer.Backoff = ration.NoBackoff
			ration.MustNew(tc.outer).Run(t.Context(), func(ctx context.Context) error {
				if got := ration.IsNestedRetry(ctx); got != tc.want {
					t.Errorf("IsNestedRetry = %v", got)
				}
				return inner.Run(ctx, once(errDown))
			})
			got := len(only(heard.take(), ration.EventNestedRetry))
			if got != map[bool]int{true: 1}[tc.want] {
				t.Errorf("told %d times", got)
			}
		})
	}
}

// What an inner layer was refused, the outer one does not try again, however
// the refusal is wrapped and whatever the policy's classifier thinks of it.
func TestNestedRefusalIsPermanent(t *testing.T) {
	for _, tc := range []struct {
		name  string
		wrap  func(error) error
		outer ration.Policy
	}{
		{"plain", func(err error) error { return err }, ration.Policy{}},
		{"wrapped", func(err error) error { return fmt.Errorf("inner: %w", err) }, ration.Policy{}},
		{"joined with a failure that heals",
			func(err error) error { return errors.Join(errDown, err) }, ration.Policy{}},
		{"RetryAny", func(err error) error { return err }, ration.Policy{Classify: ration.RetryAny}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := bucketOf(t, 1)
				b.Withdraw(time.Now(), ration.Critical)
				inner := ration.MustNew(ration.Policy{Budget: b})
				tc.outer.Backoff = ration.NoBackoff
				r := ration.Try(t.Context(), ration.MustNew(tc.outer),
					func(ctx context.Context) (int, error) {
						return 0, tc.wrap(inner.Run(ctx, fails(errDown)))
					})
				if r.Stop != ration.StopPermanent || len(r.Attempts) != 1 {
					t.Errorf("%v after %d attempts", r.Stop, len(r.Attempts))
				}
				checkIs(t, r.Err, []error{ration.ErrBudgetExhausted, errBackend}, nil)
			})
		})
	}
}

// An inner refusal stays one although the outer attempt timed out over it.
func TestNestedRefusalAtTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bucketOf(t, 1)
		b.Withdraw(time.Now(), ration.Critical)
		// A wait that the outer timeout leaves no time for would be no refusal.
		inner := ration.MustNew(ration.Policy{Budget: b, Backoff: ration.NoBackoff})
		outer := ration.MustNew(ration.Policy{AttemptTimeout: 50 * ms, Backoff: ration.NoBackoff})
		r := ration.Try(t.Context(), outer, func(ctx context.Context) (int, error) {
			return 0, inner.Run(ctx, fails(context.DeadlineExceeded))
		})
		if r.Elapsed != 50*ms {
			t.Errorf("the inner pause ended after %v", r.Elapsed)
		}
		if r.Stop != ration.StopPermanent || len(r.Attempts) != 1 {
			t.Errorf("%v after %d attempts", r.Stop, len(r.Attempts))
		}
	})
	// So does the stop of an inner call that hung until our timer fired: whether
	// it is retried must not depend on which of the two timers is heard first.
	synctest.Test(t, func(t *testing.T) {
		inner := ration.MustNew(ration.Policy{})
		outer := ration.MustNew(ration.Policy{AttemptTimeout: 50 * ms, Backoff: ration.NoBackoff})
		r := ration.Try(t.Context(), outer, func(ctx context.Context) (int, error) {
			return 0, inner.Run(ctx, func(ctx context.Context) error { return hang(ctx, nil, 0) })
		})
		if r.Stop != ration.StopPermanent || len(r.Attempts) != 1 {
			t.Errorf("%v after %d attempts", r.Stop, len(r.Attempts))
		}
		checkIs(t, r.Err, []error{ration.ErrDeadlineExceeded}, nil)
	})
}

// A call notes that it gave up when its retries were spent or refused, and not
// when it had none or something else ended it.
func TestGiveUp(t *testing.T) {
	for _, tc := range []struct {
		name  string
		p     ration.Policy
		once  bool
		drain bool
		fn    func(context.Context) error
		want  bool
	}{
		{name: "success", fn: succeed},
		{name: "success after a retry", fn: once(errDown)},
		{name: "permanent", fn: fails(errBackend)},
		{name: "attempts spent", fn: fails(errDown), want: true},
		{name: "single attempt", p: ration.Policy{Attempts: 1}, fn: fails(errDown)},
		{name: "asked for one attempt", once: true, fn: fails(errDown)},
		{name: "budget", drain: true, fn: fails(errDown), want: true},
		{name: "breaker", fn: fails(errDown), want: true,
			p: ration.Policy{Breaker: &ration.BreakerSettings{ConsecutiveFailures: 1}}},
		{name: "deadline", p: ration.Policy{Deadline: time.Second},
			fn: fails(ration.Throttled(errBackend, time.Minute))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.p.Backoff = ration.NoBackoff
				tc.p.Budget = bucketOf(t, 20)
				if tc.drain {
					tc.p.Budget = bucketOf(t, 1)
					tc.p.Budget.Withdraw(time.Now(), ration.Critical)
				}
				e := ration.MustNew(tc.p)
				if tc.once {
					e = e.Once()
				}
				var g ration.GiveUp
				e.Run(ration.WithGiveUp(t.Context(), &g), tc.fn)
				if g.Marked() != tc.want {
					t.Errorf("Marked = %v", g.Marked())
				}
			})
		})
	}
}

func TestGiveUpTravels(t *testing.T) {
	if g := ration.GiveUpOf(t.Context()); g != nil || g.Marked() {
		t.Errorf("GiveUpOf a bare context = %v", g)
	}
	ration.GiveUpOf(t.Context()).Mark() // a nil one takes no mark, and no offence

	// The inner call finds the mark of the outer call's context through the
	// context of its attempt.
	var g ration.GiveUp
	outer := ration.MustNew(ration.Policy{})
	inner := ration.MustNew(ration.Policy{Backoff: ration.NoBackoff})
	outer.Run(ration.WithGiveUp(t.Context(), &g), func(ctx context.Context) error {
		if got := ration.GiveUpOf(ctx); got != &g {
			t.Errorf("GiveUpOf = %p, want %p", got, &g)
		}
		inner.Run(ctx, fails(errDown))
		return nil // served from a cache, say
	})
	if !g.Marked() {
		t.Error("not marked")
	}

	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { g.Mark(); g.Marked() })
	}
	wg.Wait()
}
