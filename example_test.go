package ration_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ration-go/ration"
)

// One executor for each dependency, for as long as the process lives.
var payments = ration.MustNew(ration.Policy{
	Name:    "payments",
	Backoff: ration.Backoff{Transient: time.Millisecond}, // so that the examples are quick
})

// charge stands for a client whose first answer gets lost.
func charge() func(context.Context) (string, error) {
	n := 0
	return func(context.Context) (string, error) {
		if n++; n == 1 {
			return "", io.ErrUnexpectedEOF
		}
		return "receipt 17", nil
	}
}

func ExampleDo() {
	receipt, err := ration.Do(context.Background(), payments, charge())
	fmt.Println(receipt, err)
	// Output: receipt 17 <nil>
}

func ExampleExecutor_Run() {
	err := payments.Run(context.Background(), func(context.Context) error {
		return errors.New("no such account")
	})
	fmt.Println(err)
	// Output: no such account
}

func ExampleTry() {
	r := ration.Try(context.Background(), payments, charge())
	fmt.Println(r.Value, r.Stop)
	for _, a := range r.Attempts {
		fmt.Println(a.Number, a.Verdict, a.Err)
	}
	// Output:
	// receipt 17 succeeded
	// 1 transient unexpected EOF
	// 2 ok <nil>
}

// A policy is a value: derive one from another by copying it.
func ExampleExecutor() {
	strict := payments.Policy()
	strict.Name, strict.Attempts = "refunds", 1
	refunds, err := ration.New(strict)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = ration.Do(context.Background(), refunds, charge())
	fmt.Println(err)
	// Output: unexpected EOF
}

// The error tells why the call ended, what failed last, and when to come back.
func ExampleError() {
	budget, err := ration.NewBudget(0.1, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	// The bucket holds ten seconds of the floor. A bad minute has spent it.
	for range 20 {
		budget.Withdraw(time.Now(), ration.Critical)
	}
	e := ration.MustNew(ration.Policy{Name: "search", Budget: budget})
	err = e.Run(context.Background(), func(context.Context) error { return io.ErrUnexpectedEOF })
	fmt.Println(err)
	fmt.Println(errors.Is(err, ration.ErrBudgetExhausted), errors.Is(err, io.ErrUnexpectedEOF))
	var refused *ration.Error
	if errors.As(err, &refused) {
		wait, ok := refused.RetryAfter()
		fmt.Println(refused.Reason, refused.Attempts, wait <= 400*time.Millisecond, ok)
	}
	// Output:
	// ration: search: retry budget exhausted after 1 attempt: unexpected EOF
	// true true
	// budget_exhausted 1 true true
}

// With a floor of zero nobody knows when the next success pays for a retry.
func ExampleError_RetryAfter() {
	budget, err := ration.NewBudget(0.1, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	budget.Withdraw(time.Now(), ration.Critical)
	e := ration.MustNew(ration.Policy{Budget: budget})
	err = e.Run(context.Background(), func(context.Context) error { return io.EOF })
	var refused *ration.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.RetryAfter())
	}
	// Output: 0s false
}

// A queue worker has no goroutine to block. It keeps the call beside the job, and
// puts the job back with the time at which it is due.
func ExampleCall() {
	e := ration.MustNew(ration.Policy{Backoff: ration.Backoff{Jitter: ration.NoJitter}})
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	outcomes := []error{io.EOF, ration.Throttled(errors.New("429"), 5*time.Second), nil}

	call := e.Begin(context.Background(), now)
	for d := call.Decision(); ; {
		switch d.Action {
		case ration.ActAttempt:
			err := outcomes[d.Attempt-1] // until d.Until at the latest
			d = call.Next(now, ration.Outcome{Err: err, Verdict: e.Classify(nil, err)}, 0.5)
			continue
		case ration.ActWait, ration.ActPause:
			fmt.Println(now.Format("15:04:05.000"), "again at", d.At.UTC().Format("15:04:05.000"))
			now = d.At
			d = call.Next(now, ration.Outcome{}, 0.5)
			continue
		}
		fmt.Println(now.UTC().Format("15:04:05.000"), "stop:", d.Reason)
		break
	}
	// Output:
	// 09:00:00.000 again at 09:00:00.100
	// 09:00:00.100 again at 09:00:05.100
	// 09:00:05.100 stop: succeeded
}

// A limiter of this process goes into Admit. What it refuses is tried again
// without touching the retry budget: the dependency was never asked.
func ExamplePolicy_admit() {
	budget, err := ration.NewBudget(0.1, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	permits := 0
	e := ration.MustNew(ration.Policy{
		Budget: budget,
		Admit: func(context.Context) error {
			if permits++; permits < 3 {
				return ration.Refused(errors.New("no permit"), time.Millisecond)
			}
			return nil
		},
	})
	r := ration.Try(context.Background(), e, func(context.Context) (string, error) {
		return "sent", nil
	})
	fmt.Println(r.Value, "after", len(r.Attempts), "attempts, budget spent:", budget.Utilization())
	// Output: sent after 3 attempts, budget spent: 0
}

func ExampleEvent() {
	e := ration.MustNew(ration.Policy{
		Name:    "search",
		Backoff: ration.NoBackoff,
		OnEvent: func(ev ration.Event) {
			if ev.Terminal() {
				fmt.Println(ev.Policy, ev.Kind, "in attempt", ev.Attempt)
				return
			}
			fmt.Println(ev.Policy, ev.Kind, ev.Attempt, ev.Verdict)
		},
	})
	if _, err := ration.Do(context.Background(), e, charge()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// search attempt 1 transient
	// search retrying 2 transient
	// search attempt 2 ok
	// search succeeded in attempt 2
}

func ExampleExecutor_Explain() {
	e := ration.MustNew(ration.Policy{
		Name:           "search",
		Deadline:       5 * time.Second,
		AttemptTimeout: 2 * time.Second,
		Ceiling:        ration.NoCeiling,
	})
	fmt.Print(e.Explain())
	// Output:
	// policy search
	//   attempts         3 in all
	//   deadline         5s for the whole call
	//   attempt timeout  2s
	//   backoff          from 100ms (throttled: 1s), factor 2, at most 30s, full jitter
	//   budget           0.1 per success, 3 per second, at most 30; 0% spent
	//   breaker          none
	// worst case: each attempt hangs, each wait is as long as it can be
	//   attempt 1        0s to 2s
	//   wait             2s to 2.1s
	//   attempt 2        2.1s to 4.1s
	//   wait             4.1s to 4.3s
	//   attempt 3        4.3s to 5s, cut short by the deadline
	//   binds first      the deadline
	// amplification
	//   one call         at most 3 attempts
	//   all calls        in any t seconds, retries <= 30 + 3 x t + 0.1 x successes
	//   through a chain  about 1 + depth x 0.1 at the bottom, if every layer retries
	// limits
	//   little traffic   below about 1.5 calls a second the budget never binds; only attempts protects
	//   many processes   the floor is per process: n of them may send n x 3 retries a second
	//   long failures    while far more than 10% of attempts fail, callers see those failures
}

// Calls that must not be repeated go through the same executor, so that they
// feed its budget, and obey and inform its breaker.
func ExampleExecutor_Once() {
	_, err := ration.Do(context.Background(), payments.Once(), charge())
	fmt.Println(err)
	// Output: unexpected EOF
}

// An upload whose reader is drained cannot be sent again, though the failure
// itself would heal.
func ExampleUnrepeatable() {
	body := strings.NewReader("the only copy")
	r := ration.Try(context.Background(), payments, func(context.Context) (int64, error) {
		n, err := io.Copy(io.Discard, body)
		if err == nil {
			err = ration.Unrepeatable(io.ErrUnexpectedEOF) // the answer got lost
		}
		return n, err
	})
	fmt.Println(len(r.Attempts), r.Stop, r.Attempts[0].Verdict)
	fmt.Println(r.Err)
	// Output:
	// 1 permanent transient
	// ration: not repeatable: unexpected EOF
}

// A server whose own retries are spent says so to its caller, who then does not
// multiply them.
func ExampleGiveUp() {
	var spent ration.GiveUp
	ctx := ration.WithGiveUp(context.Background(), &spent)
	err := payments.Run(ctx, func(context.Context) error { return io.ErrUnexpectedEOF })
	fmt.Println(err, "do not retry:", spent.Marked())
	// Output: unexpected EOF do not retry: true
}

// Middleware marks the work of requests that their sender will retry.
func ExampleWithNestedRetry() {
	e := ration.MustNew(ration.Policy{OnEvent: func(ev ration.Event) {
		if ev.Kind == ration.EventNestedRetry {
			fmt.Println("this retries inside something that retries")
		}
	}})
	ctx := ration.WithNestedRetry(context.Background())
	if err := e.Run(ctx, func(context.Context) error { return nil }); err != nil {
		fmt.Println(err)
	}
	// Output: this retries inside something that retries
}

// A fallback is an if at the call site: the last value is there, and the reason.
func ExampleResult() {
	e := ration.MustNew(ration.Policy{Attempts: 2, Backoff: ration.NoBackoff})
	r := ration.Try(context.Background(), e, func(context.Context) (string, error) {
		return "stale", io.ErrUnexpectedEOF
	})
	if !r.OK() {
		fmt.Println("serve", r.Value, "since", r.Stop)
	}
	// Output: serve stale since attempts_exhausted
}
