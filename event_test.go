package ration_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
)

// The order of events, and what each carries.
func TestEventOrder(t *testing.T) {
	for _, tc := range []struct {
		name  string
		adapt func(*ration.Policy)
		fn    func() func(context.Context) error
		calls int
		want  string
	}{{
		name: "success",
		fn:   func() func(context.Context) error { return succeed },
		want: "attempt succeeded",
	}, {
		name: "success at the second attempt",
		fn:   func() func(context.Context) error { return once(errDown) },
		want: "attempt retrying attempt succeeded",
	}, {
		name: "exhausted",
		fn:   func() func(context.Context) error { return fails(errDown) },
		want: "attempt retrying attempt retrying attempt exhausted",
	}, {
		name: "an attempt comes before the transition that it causes, the transition before the end",
		adapt: func(p *ration.Policy) {
			p.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 2}
		},
		fn:   func() func(context.Context) error { return fails(errDown) },
		want: "attempt retrying attempt breaker_opened rejected_by_breaker",
	}, {
		name: "a probe, and what it brings about",
		adapt: func(p *ration.Policy) {
			p.Breaker = &ration.BreakerSettings{
				ConsecutiveFailures: 1, Break: 100 * ms, ProbeSuccesses: 1,
			}
		},
		fn:    func() func(context.Context) error { return once(errDown) },
		calls: 2, // the pause of the first outlasts the break
		want: "attempt breaker_opened rejected_by_breaker " +
			"breaker_half_opened attempt breaker_closed succeeded",
	}, {
		name:  "a measured ceiling is told of before its attempt",
		fn:    func() func(context.Context) error { return succeed },
		calls: 21,
		want:  strings.Repeat("attempt succeeded ", 20) + "ceiling_adapted attempt succeeded",
	}, {
		name: "work that ignores its context",
		adapt: func(p *ration.Policy) {
			p.AttemptTimeout = time.Second
			p.Attempts = 2
			p.Backoff = ration.NoBackoff
		},
		fn: func() func(context.Context) error {
			return func(ctx context.Context) error { <-time.After(2 * time.Second); return ctx.Err() }
		},
		want: "attempt orphaned_work retrying attempt orphaned_work exhausted",
	}, {
		name:  "a little late is no orphan",
		adapt: func(p *ration.Policy) { p.AttemptTimeout = time.Second; p.Attempts = 1 },
		fn: func() func(context.Context) error {
			return func(ctx context.Context) error { <-time.After(2*time.Second - 1); return ctx.Err() }
		},
		want: "attempt exhausted",
	}} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var heard recorder
				p := ration.Policy{Name: "p", OnEvent: heard.hear, Backoff: exact}
				if tc.adapt != nil {
					tc.adapt(&p)
				}
				e := ration.MustNew(p)
				fn := tc.fn()
				for range max(tc.calls, 1) {
					e.Run(t.Context(), fn)
				}
				events := heard.take()
				if got := kinds(events); got != tc.want {
					t.Errorf("events %q\n  want %q", got, tc.want)
				}
				for _, ev := range events {
					if ev.Policy != "p" || ev.Key != "" {
						t.Errorf("%v of policy %q, key %q", ev.Kind, ev.Policy, ev.Key)
					}
				}
			})
		})
	}
}

func TestEventFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard recorder
		e := ration.MustNew(ration.Policy{Name: "p", OnEvent: heard.hear, Backoff: exact})
		fn := once(errDown)
		e.For("k").Run(t.Context(), func(ctx context.Context) error { time.Sleep(7 * ms); return fn(ctx) })
		down := ration.Verdict{Kind: ration.VerdictTransient}
		want := []ration.Event{
			{Kind: ration.EventAttempt, Attempt: 1, Verdict: down, Duration: 7 * ms, Err: errDown},
			{Kind: ration.EventRetrying, Attempt: 2, Verdict: down, Duration: 7 * ms, Err: errDown,
				Delay: 100 * ms},
			{Kind: ration.EventAttempt, Attempt: 2, Duration: 7 * ms},
			{Kind: ration.EventSucceeded, Attempt: 2, Duration: 114 * ms},
		}
		got := heard.take()
		if len(got) != len(want) {
			t.Fatalf("events %q", kinds(got))
		}
		for i := range want {
			want[i].Policy, want[i].Key = "p", "k"
			if got[i] != want[i] {
				t.Errorf("event %d is %+v\nwant %+v", i, got[i], want[i])
			}
		}
	})
}

func TestEventOfRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard recorder
		b := bucketOf(t, 1)
		b.Withdraw(time.Now(), ration.Critical)
		e := ration.MustNew(ration.Policy{OnEvent: heard.hear, Budget: b})
		e.Run(t.Context(), fails(errSlow))
		ev := terminal(t, heard.take())
		want := ration.Event{
			Kind:    ration.EventRejectedByBudget,
			Attempt: 1,
			Verdict: ration.Verdict{Kind: ration.VerdictThrottled},
			Delay:   100 * ms,
			Err:     errSlow,
			Reason:  ration.StopBudgetExhausted,
		}
		if ev != want {
			t.Errorf("event %+v\n want %+v", ev, want)
		}
	})
}

// Every kind has a name and is either terminal or not; the refusals are the two.
func TestEventKinds(t *testing.T) {
	terminals, rejections, n := "", "", 0
	for k := ration.EventAttempt; !strings.HasPrefix(k.String(), "EventKind("); k++ {
		ev := ration.Event{Kind: k}
		if ev.Terminal() {
			terminals += k.String() + " "
		}
		if ev.Rejection() {
			rejections += k.String() + " "
		}
		n++
	}
	if n != 17 {
		t.Errorf("%d kinds have names", n)
	}
	if want := "succeeded not_retried exhausted deadline_exceeded rejected_by_breaker " +
		"rejected_by_budget canceled abandoned "; terminals != want {
		t.Errorf("terminal: %s", terminals)
	}
	if want := "rejected_by_breaker rejected_by_budget "; rejections != want {
		t.Errorf("rejections: %s", rejections)
	}
	if !strings.Contains(ration.EventNestedRetry.String(), "nested") {
		t.Errorf("EventNestedRetry = %q", ration.EventNestedRetry)
	}
	for _, k := range []ration.EventKind{-1, 0, 18} {
		if got, want := k.String(), fmt.Sprintf("EventKind(%d)", int(k)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if (ration.Event{}).Terminal() {
		t.Error("the zero event is terminal")
	}
}

// A listener's panic is isolated, whatever event it comes at, and logged once
// for each executor, however many follow and of however many keys.
func TestListenerPanics(t *testing.T) {
	log := captureLog(t)
	synctest.Test(t, func(t *testing.T) {
		n := 0
		e := ration.MustNew(ration.Policy{
			Name:    "payments",
			Backoff: ration.NoBackoff,
			OnEvent: func(ration.Event) { n++; panic("telemetry is down") },
		})
		if err := e.Run(t.Context(), once(errDown)); err != nil {
			t.Errorf("the call failed: %v", err)
		}
		err := e.For("k").Run(t.Context(), fails(errBackend))
		if err != errBackend {
			t.Errorf("the call failed with %v", err)
		}
		if n != 6 {
			t.Errorf("the listener heard %d events", n)
		}
		other := ration.MustNew(ration.Policy{Name: "search", OnEvent: func(ration.Event) { panic("too") }})
		other.Run(t.Context(), succeed)
	})
	lines := strings.Split(strings.TrimSpace(log()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "policy=payments") ||
		!strings.Contains(lines[0], `panic="telemetry is down"`) ||
		!strings.Contains(lines[1], "policy=search") {
		t.Errorf("log:\n%s", strings.Join(lines, "\n"))
	}
}

// captureLog takes the default logger for the time of a test.
func captureLog(t *testing.T) (written func() string) {
	t.Helper()
	var mu sync.Mutex
	var buf bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return buf.Write(p)
	}), nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return buf.String()
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A listener that does not come back takes its goroutine with it and nothing
// else, also from a call that is over.
func TestListenerExits(t *testing.T) {
	for _, at := range []ration.EventKind{
		ration.EventAttempt, ration.EventRetrying, ration.EventSucceeded,
	} {
		var heard recorder
		b := bucketOf(t, 1)
		e := ration.MustNew(ration.Policy{Budget: b, Backoff: ration.NoBackoff,
			OnEvent: func(ev ration.Event) {
				heard.hear(ev)
				if ev.Kind == at {
					runtime.Goexit()
				}
			}})
		var wg sync.WaitGroup
		wg.Go(func() { e.Run(t.Context(), once(errDown)) })
		wg.Wait()
		terminal(t, heard.take())
		want := 1.0
		if at == ration.EventSucceeded {
			want = 0.1
		}
		checkTokens(t, b, time.Now(), want)
	}
}

// What no rule knows is reported by type, the first time that a policy ends a
// call for it.
func TestUnclassified(t *testing.T) {
	var heard recorder
	e := ration.MustNew(ration.Policy{OnEvent: heard.hear, Backoff: ration.NoBackoff})
	named := func(e *ration.Executor, err error) string {
		e.Run(t.Context(), fails(err))
		return terminal(t, heard.take()).Unclassified
	}
	for i, tc := range []struct {
		e    *ration.Executor
		err  error
		want string
	}{
		{e, errBackend, "*errors.errorString"},
		{e, errors.New("another of that type"), ""},
		{e, oddError{}, "ration_test.oddError"},
		{e.For("k"), oddError{}, ""},
		{e.Once(), oddError{}, ""},
		{e, ration.Permanent(otherError{}), ""}, // it says what it is
		{e, context.Canceled, ""},               // a rule knows it
		{e, fmt.Errorf("while charging: %w", otherError{}), "ration_test.otherError"},
		{e, otherError{}, ""},
		{ration.MustNew(ration.Policy{OnEvent: heard.hear}), oddError{}, "ration_test.oddError"},
		{ration.MustNew(ration.Policy{OnEvent: heard.hear, Classify: ration.DefaultClassifier}),
			oddError{}, ""}, // the policy's own classifier answers for itself
	} {
		if got := named(tc.e, tc.err); got != tc.want {
			t.Errorf("call %d: %v reported as %q, want %q", i, tc.err, got, tc.want)
		}
	}
	e.Run(t.Context(), fails(errDown))
	if got := terminal(t, heard.take()).Unclassified; got != "" {
		t.Errorf("a transient failure was reported as %q", got)
	}
}

type oddError struct{}

func (oddError) Error() string { return "odd" }

type otherError struct{}

func (otherError) Error() string { return "other" }

// An adapted bound is told of once for each change, by all calls together.
func TestCeilingAdaptedOncePerChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard recorder
		e := ration.MustNew(ration.Policy{OnEvent: heard.hear})
		warm(t, e, 30, 40*ms)
		warm(t, e, 300, 400*ms) // an estimate serves for a second
		told := only(heard.take(), ration.EventCeilingAdapted)
		if len(told) != 2 {
			t.Fatalf("told %d times: %v", len(told), told)
		}
		first, second := told[0].Delay, told[1].Delay
		if first < 120*ms || first > 135*ms || second < 1200*ms || second > 1350*ms {
			t.Errorf("told %v, then %v", first, second)
		}
	})
}
