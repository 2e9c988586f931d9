package ration

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Sentinels for errors.Is. The errors that a call returns match them beside
// the last failure; see [Error].
var (
	// ErrBudgetExhausted: the retry budget could not fund a retry.
	ErrBudgetExhausted = errors.New("ration: retry budget exhausted")

	// ErrUnavailable: the breaker refused an attempt.
	ErrUnavailable = errors.New("ration: breaker open")

	// ErrDeadlineExceeded: the deadline of the policy or of the caller's context
	// passed, or would have passed before the next attempt. It also matches
	// context.DeadlineExceeded.
	ErrDeadlineExceeded error = &timeoutError{"ration: deadline exceeded"}

	// ErrAttemptTimeout: an attempt took longer than its bound. It is the cause
	// of that attempt's context, is part of the error when the last attempt
	// ended so, and also matches context.DeadlineExceeded.
	ErrAttemptTimeout error = &timeoutError{"ration: attempt timed out"}
)

// A timeoutError is a deadline of ours. It matches the standard one, so that
// code which knows only the context package reads it correctly, and says
// Timeout as a net.Error does.
type timeoutError struct{ text string }

func (e *timeoutError) Error() string        { return e.text }
func (e *timeoutError) Timeout() bool        { return true }
func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// StopReason says why a call ended. The zero value is [StopSucceeded].
type StopReason int

// The reasons. StopPermanent and StopAttemptsExhausted leave the function's own
// error as it is; the later ones come as an [*Error].
const (
	StopSucceeded         StopReason = iota
	StopPermanent                    // a failure that no retry mends, or a hook's error
	StopAttemptsExhausted            // the last attempt allowed has failed
	StopDeadlineExceeded             // no time is left for another attempt
	StopBudgetExhausted              // the retry budget refused
	StopUnavailable                  // the breaker refused
	StopCanceled                     // the caller cancelled
	StopAbandoned                    // a panic or runtime.Goexit, or Call.Abandon; never returned
)

var stopNames = [...]string{
	StopSucceeded:         "succeeded",
	StopPermanent:         "permanent",
	StopAttemptsExhausted: "attempts_exhausted",
	StopDeadlineExceeded:  "deadline_exceeded",
	StopBudgetExhausted:   "budget_exhausted",
	StopUnavailable:       "unavailable",
	StopCanceled:          "canceled",
	StopAbandoned:         "abandoned",
}

// String returns the reason in the form used by metrics and reports.
func (r StopReason) String() string {
	if r >= 0 && int(r) < len(stopNames) {
		return stopNames[r]
	}
	return "StopReason(" + strconv.Itoa(int(r)) + ")"
}

// An Error is a stop that the library decided: the budget, the breaker or the
// deadline ended the call, or the caller's cancellation did. It matches, through
// errors.Is and errors.As, the sentinel of its reason, the last failure of the
// function, and for a cancellation the context's error and cause.
//
// An Error that reaches an outer [Executor] is permanent there: what an inner
// layer refused must not be retried by the layer above.
//
// An Error is not modified after it is returned, and is safe for concurrent use.
type Error struct {
	Reason   StopReason
	Last     error // the last attempt's failure; nil when there was none
	Attempts int   // attempts made

	policy     string
	cause      error // of a cancelled or expired context
	ctxErr     error
	retryAfter time.Duration
	hinted     bool
}

// Error returns the reason, the number of attempts and the last failure.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("ration: ")
	if e.policy != "" {
		b.WriteString(e.policy)
		b.WriteString(": ")
	}
	if sentinel := e.sentinel(); sentinel != nil {
		b.WriteString(strings.TrimPrefix(sentinel.Error(), "ration: "))
	} else {
		b.WriteString(e.Reason.String())
	}
	switch e.Attempts {
	case 0:
		b.WriteString(" before the first attempt")
	case 1:
		b.WriteString(" after 1 attempt")
	default:
		fmt.Fprintf(&b, " after %d attempts", e.Attempts)
	}
	if e.cause != nil && !errors.Is(e.ctxErr, e.cause) {
		fmt.Fprintf(&b, " (%v)", e.cause)
	}
	if e.Last != nil {
		b.WriteString(": ")
		b.WriteString(e.Last.Error())
	}
	return b.String()
}

// RetryAfter returns how long to wait before trying again. After a budget
// refusal it is the time in which the floor accrues the next token, after a
// breaker refusal the rest of the break, both as they stood after the refusal's
// pause; after a deadline it is what the dependency itself asked for. ok is
// false when nobody can say.
func (e *Error) RetryAfter() (d time.Duration, ok bool) { return e.retryAfter, e.hinted }

// Timeout reports whether a deadline ended the call, as a net.Error does.
func (e *Error) Timeout() bool { return e.Reason == StopDeadlineExceeded }

// Unwrap returns the errors that e matches.
func (e *Error) Unwrap() []error {
	errs := make([]error, 0, 4)
	for _, err := range [...]error{e.sentinel(), e.ctxErr, e.cause, e.Last} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func (e *Error) sentinel() error {
	switch e.Reason {
	case StopBudgetExhausted:
		return ErrBudgetExhausted
	case StopUnavailable:
		return ErrUnavailable
	case StopDeadlineExceeded:
		return ErrDeadlineExceeded
	}
	return nil
}

// ended reports whether the caller's context is over, and as what.
func (c *Call) ended() (StopReason, bool) {
	err := c.ctx.Err()
	if err == nil {
		return 0, false
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return StopDeadlineExceeded, true
	}
	return StopCanceled, true
}

func (c *Call) error() *Error {
	e := &Error{Reason: c.reason, Last: c.last, Attempts: c.attempt, policy: c.s.Name}
	if c.ctx.Err() != nil && (c.reason == StopCanceled || c.reason == StopDeadlineExceeded) {
		e.ctxErr, e.cause = c.ctx.Err(), context.Cause(c.ctx)
	}
	return e
}

// An attemptTimeout is the failure of an attempt whose timer fired: it matches
// [ErrAttemptTimeout] and what the function returned.
type attemptTimeout struct{ err error }

// withAttemptTimeout returns the failure of an attempt that was given up. A
// driver that has no more to say of it than that gives no error.
func withAttemptTimeout(err error) error {
	switch {
	case err == nil:
		return ErrAttemptTimeout
	case errors.Is(err, ErrAttemptTimeout):
		return err
	}
	return &attemptTimeout{err}
}

func (e *attemptTimeout) Error() string {
	return ErrAttemptTimeout.Error() + ": " + e.err.Error()
}

func (e *attemptTimeout) Timeout() bool   { return true }
func (e *attemptTimeout) Unwrap() []error { return []error{ErrAttemptTimeout, e.err} }

// Unrepeatable wraps the failure of an attempt that cannot be made again: its
// input is consumed, or whoever refused said not to come back. The failure keeps
// its verdict, so that the breaker sees it for what it is, but the call ends with
// [StopPermanent] however many attempts are left, and returns the error as it is.
// A nil error stays nil.
func Unrepeatable(err error) error {
	if err == nil {
		return nil
	}
	return &unrepeatable{err}
}

type unrepeatable struct{ err error }

func (e *unrepeatable) Error() string { return "ration: not repeatable: " + e.err.Error() }
func (e *unrepeatable) Unwrap() error { return e.err }

// A ConfigError lists everything that is wrong with a [Policy], each problem
// naming the field, its value and what is allowed. It is not modified after it is
// returned, and is safe for concurrent use.
type ConfigError struct {
	Policy   string // the policy's name
	Problems []string
}

// Error returns all problems on one line.
func (e *ConfigError) Error() string {
	name := "policy"
	if e.Policy != "" {
		name = "policy " + strconv.Quote(e.Policy)
	}
	return "ration: invalid " + name + ": " + strings.Join(e.Problems, "; ")
}
