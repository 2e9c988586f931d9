package ration

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/ration-go/ration/internal/window"
)

// Do calls fn under the policy of e until it succeeds, fails for good, or must
// not be tried again, and returns what fn returned last.
//
// The error tells why the call ended. After a permanent failure, or when all
// attempts are spent, it is the last error of fn, unchanged; if that attempt
// failed because its timer fired, it matches [ErrAttemptTimeout] as well. When the
// budget, the breaker, the deadline or the caller ended the call, it is an
// [*Error], which matches the reason's sentinel and the last error of fn.
//
// Each attempt receives a context that is bounded by the policy and ends when
// the attempt returns; fn must pass it on to whatever it waits for. A panic in
// fn passes through to the caller.
//
// A failure that holds something, such as a connection, can have a method
// Superseded(): it is called when a retry is decided, before the wait, and when the
// budget or the breaker refuses, before the pause. When attempts end on the failure,
// whoever gets it decides.
func Do[T any](ctx context.Context, e *Executor, fn func(context.Context) (T, error)) (T, error) {
	value, _, err := run(ctx, e, fn, nil)
	return value, err
}

// Try is [Do] for callers who want to see how the call went: it returns the
// reason it stopped and a log of its attempts beside the value and the error.
func Try[T any](
	ctx context.Context, e *Executor, fn func(context.Context) (T, error),
) Result[T] {
	var r Result[T]
	begin := clock()
	r.Value, r.Stop, r.Err = run(ctx, e, fn, &r.Attempts)
	r.Elapsed = clock().since(begin)
	return r
}

// run obeys the decisions of a [Call] with a goroutine, timers and contexts. It
// holds no rule of its own: when to stop, how long to wait and what to charge
// are decided in one place, for it, for the simulator and for those who drive a
// call by hand.
func run[T any](
	ctx context.Context, e *Executor, fn func(context.Context) (T, error), log *[]Attempt,
) (value T, stop StopReason, err error) {
	var c Call
	// Open-coded, this costs a nanosecond, and is what a panic or Goexit in
	// the user's code runs into.
	defer func() {
		if c.action != ActStop {
			c.bounded.finish()
			c.abandon(clock())
		}
	}()
	c.hooks = true
	c.stripe = window.Stripe()
	c.log = log
	c.begin(ctx, e, clock())
	var o Outcome
	for {
		switch c.action {
		case actPrepare:
			err = c.s.BeforeAttempt(ctx, c.attempt+1)
			c.advance(clock(), &Outcome{Err: err}, 0)
		case ActAttempt:
			value = attempt(&c, fn, &o)
			c.advance(clock(), &o, random(&o))
		case ActWait, ActPause:
			supersede(c.last)
			wait(ctx, c.due)
			c.advance(clock(), nil, 0)
		case ActStop:
			return value, c.reason, c.result
		}
	}
}

// attempt makes one attempt, after the local admission, and says in o what became
// of it.
func attempt[T any](c *Call, fn func(context.Context) (T, error), o *Outcome) (value T) {
	*o = Outcome{}
	c.bounded = nil // an earlier attempt's must not speak for one without a bound
	ctx := c.ctx
	if c.until != never { // else the caller's own, which costs no allocation
		ctx, c.bounded = newAttemptContext(c.ctx, c.until, c.retries)
	}
	if c.s.Admit != nil {
		o.Err = c.s.Admit(ctx)
	}
	if o.Err == nil {
		value, o.Err = fn(ctx)
	}
	if o.Err != nil || c.s.Classify != nil {
		classifyAttempt(c, value, o)
	}
	if c.bounded != nil {
		c.bounded.finish()
	}
	return value
}

// classifyAttempt says what an attempt counts as, while its context still tells
// whether its own timer has fired.
func classifyAttempt[T any](c *Call, value T, o *Outcome) {
	if o.Err != nil && isContextError(o.Err) && !isStop(o.Err) && c.bounded.timedOut() {
		o.TimedOut = true // which no classifier is asked about
	} else {
		// A failure that is transient or that nobody knows, once the timer has
		// fired, is the timer's doing; any other is an answer that was late.
		o.Verdict, o.unknown = verdictOn(c.s, value, o.Err)
		suspect := o.unknown || o.Err != nil && o.Verdict.Kind == VerdictTransient
		o.TimedOut = suspect && c.bounded.timedOut()
	}
	o.Unrepeatable = o.Err != nil && isUnrepeatable(o.Err)
}

// verdictOn classifies what an attempt returned. An error that carries its own
// verdict is not shown to the policy's classifier. unknown means that no rule
// matched the error, and that permanent is only the fallback.
func verdictOn[T any](s *settings, value T, err error) (v Verdict, unknown bool) {
	if err == nil {
		if s.Classify == nil {
			return Verdict{}, false
		}
		return s.Classify(value, nil), false
	}
	if v, ok := wrapped(err); ok {
		return v, false
	}
	if s.Classify != nil {
		return s.Classify(value, err), false
	}
	v, known := classifyKnown(err)
	return v, !known
}

// isContextError reports whether err is how code says that its context ended.
func isContextError(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// isStop reports whether an executor inside the attempt stopped its call. That
// is no timeout of ours, even if our timer was what the inner call ran into: the
// layer that is closer to the failure has had its tries.
func isStop(err error) bool {
	var e *Error
	return errors.As(err, &e)
}

func isUnrepeatable(err error) bool {
	_, ok := find[*unrepeatable](err)
	return ok
}

// random draws the number that a decision on o needs; a success needs none.
func random(o *Outcome) float64 {
	if o.ok() {
		return 0
	}
	return rand.Float64()
}

// wait returns at the given time, or when the caller cancels.
func wait(ctx context.Context, until instant) {
	d := until.since(clock())
	if d <= 0 || ctx.Err() != nil {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
