package rationsim

import (
	"time"

	"github.com/ration-go/ration"
)

// A Limiter bounds the retries of one client of one dependency by a rule other
// than Ration's budget. It stands beside a policy with [ration.NoBudget]: the
// policy decides what it always does, attempts and deadline and back-off and
// breaker, and the limiter has the last word on a retry that the policy would
// make. What it refuses ends the call with [ration.StopBudgetExhausted] at once;
// the pause before a refusal is Ration's, and its rivals have none.
//
// Whoever runs the calls tells the limiter of each, in the order of the methods.
// A call that ends in its wait, by its deadline or the breaker, has no Resume, and
// one that is cancelled during an attempt has no Done for it: End takes back what
// it held. An attempt that the breaker refuses never started and has no Done
// either. Work that goes on after the caller gave it up is not
// reported: Done came when it was given up, and no client knows more.
//
// A process has a limiter of its own for each edge, as a budget has: replicas
// share nothing. now is the time since the run began and never goes back. A
// Limiter belongs to one goroutine.
type Limiter interface {
	// Begin is told once, before the first attempt starts.
	Begin(now time.Duration, h *Held)

	// Done is told once for each attempt that started, when the caller has its
	// result.
	Done(now time.Duration, h *Held, end AttemptEnd)

	// Retry is asked once after each Done that the policy would retry, and told
	// the same end. False ends the call.
	Retry(now time.Duration, h *Held, end AttemptEnd) bool

	// Resume is asked once after each Retry that was granted, when the wait is
	// over and the next attempt would start. False ends the call.
	Resume(now time.Duration, h *Held) bool

	// End is told once, last, whatever ended the call.
	End(now time.Duration, h *Held, ok bool)
}

// Held is what one call holds of its limiter. Whoever runs the call keeps the
// zero value with it, hands it over each time and reads nothing in it: what the
// fields mean is the limiter's business.
type Held struct {
	Retries int     // granted so far
	Allowed int     // of them, by a rule that settles this at the start
	Cost    float64 // of the retry that is under way
	Retry   bool    // a retry is counted as in flight
	Attempt bool    // an attempt is counted as in flight
}

// AttemptEnd is how an attempt ended, as far as any rule asks.
type AttemptEnd struct {
	Verdict  ration.VerdictKind // VerdictOK if it succeeded
	TimedOut bool               // given up because its time was over; the verdict is then transient
}

// ok reports whether the attempt succeeded.
func (e AttemptEnd) ok() bool { return e.Verdict == ration.VerdictOK }

// retryable reports whether the attempt failed in a way that a retry may mend.
func (e AttemptEnd) retryable() bool {
	return e.Verdict == ration.VerdictTransient || e.Verdict == ration.VerdictThrottled
}

// unlimited grants everything. The other limiters embed it for the calls that
// their rules do not ask about.
type unlimited struct{}

func (unlimited) Begin(time.Duration, *Held)                  {}
func (unlimited) Done(time.Duration, *Held, AttemptEnd)       {}
func (unlimited) Retry(time.Duration, *Held, AttemptEnd) bool { return true }
func (unlimited) Resume(time.Duration, *Held) bool            { return true }
func (unlimited) End(time.Duration, *Held, bool)              {}
