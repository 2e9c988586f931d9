package ration_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/ration-go/ration"
)

// FuzzCall drives calls by hand as no sane driver would: with any outcome at any
// phase, times that step back, and any number for u. Whatever it does, a call
// makes no more attempts than it may, ends with one terminal event, keeps nothing
// once it is over, and never holds a half-open breaker's slot for good.
func FuzzCall(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, int64(time.Second), 0.5)
	f.Add([]byte{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, int64(-time.Hour), math.NaN())
	f.Add([]byte{7, 0, 7, 1, 7, 2, 9, 9, 9}, int64(20*time.Second), -1.0)
	f.Fuzz(func(t *testing.T, script []byte, step int64, u float64) {
		var heard recorder
		b, err := ration.NewBudget(0.1, 0.2) // two tokens
		if err != nil {
			t.Fatal(err)
		}
		e := ration.MustNew(ration.Policy{
			Budget:  b,
			Breaker: &ration.BreakerSettings{ConsecutiveFailures: 2},
			OnEvent: heard.hear,
		})
		now := epoch
		c := e.Begin(context.Background(), now)
		for _, op := range script {
			now = now.Add(time.Duration(step % int64(time.Minute) * int64(op%4)))
			d := c.Next(now, fuzzedOutcome(op), u)
			if d.Attempt > 3 {
				t.Fatalf("attempt %d of 3", d.Attempt)
			}
		}
		c.Abandon(now)
		events := len(heard.take())
		if c.Decision().Action != ration.ActStop {
			t.Fatalf("abandoned, and decides to %v", c.Decision().Action)
		}
		c.Next(now, ration.Outcome{Err: errors.New("late")}, u)
		c.Abandon(now)
		if more := heard.take(); len(more) != 0 {
			t.Fatalf("%d events, and after the end %v", events, more)
		}
		// Long after whatever it did to the breaker, the next call gets through. The
		// breaker must first see that time has stepped back, if it has.
		e.Breaker(now)
		now = now.Add(time.Hour)
		next := e.Begin(context.Background(), now)
		if d := next.Decision(); d.Action != ration.ActAttempt {
			t.Fatalf("the next call is not let through but decides to %v", d.Action)
		}
		next.Next(now, ration.Outcome{}, u)
		terminals := 0
		for _, ev := range heard.take() {
			if ev.Terminal() {
				terminals++
			}
		}
		if terminals != 1 {
			t.Fatalf("%d terminal events of one call", terminals)
		}
	})
}

// fuzzedOutcome reads an outcome from a byte.
func fuzzedOutcome(op byte) ration.Outcome {
	err := errors.New("fuzzed")
	switch op % 10 {
	case 0:
		return ration.Outcome{}
	case 1, 2:
		return ration.Outcome{Verdict: ration.Verdict{Kind: ration.VerdictTransient}, Err: err}
	case 3:
		return ration.Outcome{
			Verdict: ration.Verdict{Kind: ration.VerdictThrottled, RetryAfter: math.MaxInt64},
			Err:     err,
		}
	case 4:
		return ration.Outcome{
			Verdict: ration.Verdict{Kind: ration.VerdictThrottled, SelfImposed: true, RetryAfter: 1},
			Err:     err,
		}
	case 5:
		return ration.Outcome{Verdict: ration.Verdict{Kind: ration.VerdictPermanent}, Err: err}
	case 6:
		return ration.Outcome{TimedOut: true}
	case 7:
		return ration.Outcome{Verdict: ration.Verdict{Kind: ration.VerdictTransient}}
	case 8:
		return ration.Outcome{Verdict: ration.Verdict{Kind: ration.VerdictKind(op)}, Err: err}
	}
	return ration.Outcome{
		Verdict:      ration.Verdict{Kind: ration.VerdictTransient},
		Err:          err,
		Unrepeatable: true,
	}
}
