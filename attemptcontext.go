package ration

import (
	"context"
	"sync/atomic"
	"time"
)

// An attemptContext is the context of one attempt: the caller's, bounded by the
// attempt's own deadline. It is armed lazily. Most callbacks that take a context
// never wait on it, and [context.WithTimeout] with its cancel costs about 400 ns
// and 4 allocations whether anybody waits or not; this one costs one allocation
// of 32 bytes and about a tenth of the time until a channel is asked for. Then
// it makes a standard context and hands everything over to it, so that whatever
// is derived from it behaves as the standard library has it, without a goroutine
// for each child.
//
// All that changes is one pointer, which is set at most once:
//
//   - nil: nobody has waited, and no end has been seen. Err looks at the parent
//     and at the clock.
//   - attemptTimedOut, attemptParentDone or attemptFinished: it ended before
//     anybody waited. These values are shared by all attempts: what they hold
//     ended long ago, and the closed channel, being the standard library's own,
//     belongs to no synctest bubble.
//   - anything else: armed. The context inside is the one truth from here on.
//
// A non-nil Err is reported only after the pointer is set, and Done sets it too,
// so that no two answers can contradict each other, whichever goroutines ask, and
// however long after the attempt. Nothing is locked: code of the parent, which
// may be the caller's own type, runs between the load and the swap, and whoever
// loses the swap throws away what it made and reads what the winner set.
//
// Nothing is pooled. A context outlives its attempt whenever a callback keeps it,
// and a timer or channel made in one synctest bubble panics in another.
//
// It answers for nestedKey: what runs inside it will be retried.
type attemptContext struct {
	parent context.Context
	until  instant // never = the parent's deadline is the earlier one
	state  atomic.Pointer[attemptState]
}

// A singleAttempt is the context of an attempt that will not be retried. That it
// is another type, and no flag, keeps both in 32 bytes: what a call allocates is
// most of what it costs the collector.
type singleAttempt struct{ attemptContext }

// An attemptState is what an [attemptContext] has become; cancel is nil unless it
// is armed. Of attemptParentDone only the closed channel is used: the parent
// itself says why.
type attemptState struct {
	context.Context
	cancel context.CancelFunc
}

var (
	attemptTimedOut   = &attemptState{Context: expiredContext()}
	attemptFinished   = &attemptState{Context: canceledContext()}
	attemptParentDone = &attemptState{Context: canceledContext()}
)

// newAttemptContext returns a context that ends when parent does, at until with
// [ErrAttemptTimeout] as its cause, or with finish, whichever comes first, and the
// handle by which the executor ends it. Of two equal deadlines the parent's counts:
// the caller's time is up, and another attempt would be of no use to anyone.
//
// The parent's deadline is asked for here, to see which is the earlier. If it is
// the parent's, the parent is asked again whenever the deadline is.
func newAttemptContext(
	parent context.Context, until instant, nested bool,
) (context.Context, *attemptContext) {
	if d, ok := parent.Deadline(); ok && until >= instantOf(d) {
		until = never
	}
	if nested {
		c := &attemptContext{parent: parent, until: until}
		return c, c
	}
	c := &singleAttempt{attemptContext{parent: parent, until: until}}
	return c, &c.attemptContext
}

func (c *attemptContext) bounded() bool { return c.until != never }

func (c *attemptContext) Deadline() (time.Time, bool) {
	if !c.bounded() {
		return c.parent.Deadline()
	}
	return c.until.time(), true
}

func (c *attemptContext) Done() <-chan struct{} {
	s := c.state.Load()
	if s == nil {
		s = c.arm()
	}
	return s.Done()
}

func (c *attemptContext) Err() error {
	s := c.state.Load()
	if s == nil {
		s = c.look()
	}
	switch s {
	case nil:
		return nil
	case attemptParentDone:
		return c.parent.Err()
	}
	return s.Err()
}

func (c *attemptContext) Value(key any) any {
	if _, ok := key.(nestedKey); ok {
		return true
	}
	return c.value(key)
}

func (c *singleAttempt) Value(key any) any { return c.value(key) }

// value answers as the parent does, with one exception that it cannot name: the
// key under which package context looks for the standard context behind c. That
// must be found in what c has become, or [context.Cause] would report the parent's
// cause, and a derived context would find a channel that is not ours and start a
// goroutine to watch it.
func (c *attemptContext) value(key any) any {
	switch s := c.state.Load(); s {
	case nil, attemptParentDone:
	case attemptTimedOut, attemptFinished:
		// They hang on the background context and know that key alone.
		if v := s.Value(key); v != nil {
			return v
		}
	default:
		return s.Value(key)
	}
	return c.parent.Value(key)
}

// String keeps fmt from walking the fields, which would race with the goroutine
// that sets state: mocks print the contexts they are called with.
func (c *attemptContext) String() string {
	d, _ := c.Deadline()
	// wall: for people.
	return "ration.attempt(until " + d.UTC().Format(time.RFC3339Nano) + ")"
}

// finish ends the context once the attempt has returned. It stops the timer and
// cancels what was derived. It may be called more than once.
//
// It reads no clock. A deadline that has passed while nobody waited, asked for
// Err or called timedOut leaves [context.Canceled] behind and not the deadline's
// error: telling them apart would cost every attempt 30 ns, for the sake of
// whoever first looks at a context after its attempt succeeded.
//
// On a nil context, that of an attempt without bounds, it does nothing.
func (c *attemptContext) finish() {
	if c == nil {
		return
	}
	s := c.state.Load()
	if s == nil {
		s = attemptFinished
		if c.parent.Err() != nil {
			s = attemptParentDone
		}
		s = c.settle(s)
	}
	if s.cancel != nil {
		s.cancel()
	}
}

// timedOut reports whether the attempt's own deadline has ended it, and not the
// parent. It is meant for the executor, between the attempt's return and finish;
// what it says is what Err has said to the callback or will say from now on.
func (c *attemptContext) timedOut() bool {
	if c == nil {
		return false
	}
	s := c.state.Load()
	if s == nil {
		s = c.look()
	}
	switch s {
	case nil, attemptParentDone, attemptFinished:
		return false
	case attemptTimedOut:
		return true
	}
	// The cause alone does not tell: a parent that hides its deadline may hand on
	// the timeout of an outer attempt. Only a deadline that has passed can be ours.
	if !c.bounded() || clock() < c.until {
		return false
	}
	// The deadline has passed, so the timer is due, but it may not have run yet: a
	// socket that was given the deadline fails at the same moment, and the
	// callback returns with that error. Waiting takes microseconds and saves the
	// same timeout from being reported now as one thing and now as another.
	<-s.Done()
	//nolint:errorlint // the cause of a parent may wrap the timeout of an outer attempt
	return context.Cause(s) == ErrAttemptTimeout
}

// arm makes the standard context. If the end came between the caller's load and
// the swap, or another goroutine was faster, that one counts.
func (c *attemptContext) arm() *attemptState {
	s := new(attemptState)
	if c.bounded() {
		until := c.until.time()
		s.Context, s.cancel = context.WithDeadlineCause(c.parent, until, ErrAttemptTimeout)
	} else {
		s.Context, s.cancel = context.WithCancel(c.parent)
	}
	kept := c.settle(s)
	if kept != s {
		s.cancel()
	}
	return kept
}

// look reports the end of a context that is not armed, or nil when it has not
// ended. The parent comes first, as in a standard context that is derived late.
func (c *attemptContext) look() *attemptState {
	if c.parent.Err() != nil {
		return c.settle(attemptParentDone)
	}
	if c.bounded() && clock() >= c.until {
		return c.settle(attemptTimedOut)
	}
	return c.state.Load()
}

// settle makes s the state unless there is one already, and returns the state.
func (c *attemptContext) settle(s *attemptState) *attemptState {
	if c.state.CompareAndSwap(nil, s) {
		return s
	}
	return c.state.Load()
}

func expiredContext() context.Context {
	ctx, cancel := context.WithDeadlineCause(context.Background(), time.Time{}, ErrAttemptTimeout)
	cancel() // already over
	return ctx
}

func canceledContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
