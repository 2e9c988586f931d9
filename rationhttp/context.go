package rationhttp

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ration-go/ration"
)

// A requestContext is the context of one attempt's request. It lives longer
// than the attempt: a response body is read through it, so that it ends when
// the body is closed or read to its end, or when the caller's context does.
// Until then it bounds one wait after the other, first for the headers, then
// for each read of the body, and never the time in between: a slow reader is
// not blamed.
//
// It is armed when somebody asks for Done. Until then it costs no allocation
// beside the call that holds it: a standard context and a timer for each
// attempt would be half of what a call through this package costs, and a base
// that answers from a cache never waits. From then on a standard context is the
// one truth, which whatever derives from it finds behind Value.
//
// Protocol. mu guards what is below it. cause is set once; whoever sets it
// cancels the armed context, if there is one, after unlocking, and whoever arms
// looks at cause under the lock, so that neither can miss the other. The
// caller's context, which may be of any type, is never called under the lock.
type requestContext struct {
	context.Context      // the caller's
	nested          bool // the call may be retried: see [ration.WithNestedRetry]

	armed atomic.Pointer[armedContext]

	mu      sync.Mutex
	cause   error       // why it ended; nil while it has not
	expired bool        // because a wait took too long
	until   time.Time   // when the wait under way must be over; zero = no bound
	late    error       // the cause if it is not
	timer   *time.Timer // nil until an armed context had to wait
}

type armedContext struct {
	context.Context
	cancel context.CancelCauseFunc
}

// nestedMark knows one key, that of the nesting flag. Asking it costs a
// comparison where deriving a context for each attempt would allocate.
var nestedMark = ration.WithNestedRetry(context.Background())

// Done arms the context.
func (c *requestContext) Done() <-chan struct{} {
	if a := c.armed.Load(); a != nil {
		return a.Done()
	}
	return c.arm().Done()
}

// Err never contradicts itself: what was seen unarmed is kept as the cause. A
// wait that took too long is [context.DeadlineExceeded] here and, since the
// timer can be stopped, a cancellation with that cause in derived contexts.
func (c *requestContext) Err() error {
	if a := c.armed.Load(); a != nil {
		if a.Err() == nil {
			return nil
		}
		return kind(context.Cause(a), a.Err())
	}
	c.expire()
	c.mu.Lock()
	cause := c.cause
	c.mu.Unlock()
	if cause != nil {
		return kind(cause, context.Canceled)
	}
	return c.Context.Err()
}

func kind(cause, other error) error {
	if errors.Is(cause, context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return other
}

// Value answers for the nesting flag, and else as the standard context does
// once there is one.
func (c *requestContext) Value(key any) any {
	if c.nested {
		if v := nestedMark.Value(key); v != nil {
			return v
		}
	}
	if a := c.armed.Load(); a != nil {
		return a.Value(key)
	}
	return c.Context.Value(key)
}

// String keeps fmt from walking the fields, which would race with whoever arms.
func (c *requestContext) String() string { return "rationhttp.request" }

// arm makes the standard context.
func (c *requestContext) arm() *armedContext {
	a := &armedContext{}
	a.Context, a.cancel = context.WithCancelCause(c.Context)
	c.mu.Lock()
	cause := c.cause
	if cause == nil && c.armed.CompareAndSwap(nil, a) {
		c.start()
		c.mu.Unlock()
		return a
	}
	c.mu.Unlock()
	a.cancel(cause) // ended before anybody waited, or somebody else was first
	c.armed.CompareAndSwap(nil, a)
	return c.armed.Load()
}

// wait bounds what is waited for from now on; late is the cause if it does not
// come. A zero time is no bound.
func (c *requestContext) wait(until time.Time, late error) {
	if until.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return
	}
	c.until, c.late = until, late
	if c.armed.Load() != nil {
		c.start()
	}
}

// start runs the timer of the wait under way. Callers hold mu.
func (c *requestContext) start() {
	switch {
	case c.until.IsZero():
	case c.timer == nil:
		c.timer = time.AfterFunc(time.Until(c.until), c.expire)
	default:
		c.timer.Reset(time.Until(c.until))
	}
}

// done ends a wait, and reports whether one has taken too long.
func (c *requestContext) done() (expired bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Time{}
	if c.timer != nil {
		c.timer.Stop()
	}
	return c.expired
}

// expire ends the context if the wait under way has taken too long. The timer
// may fire for a wait that is over while the next one has begun, hence the look
// at the time.
func (c *requestContext) expire() {
	c.mu.Lock()
	if c.cause != nil || c.until.IsZero() || time.Until(c.until) > 0 {
		c.mu.Unlock()
		return
	}
	c.cause, c.expired = c.late, true
	c.cancelAndUnlock()
}

// end ends the context: nobody needs it any more.
func (c *requestContext) end() {
	cause := context.Canceled
	if c.Context.Err() != nil {
		cause = context.Cause(c.Context)
	}
	c.mu.Lock()
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.cause != nil {
		c.mu.Unlock()
		return
	}
	c.cause = cause
	c.cancelAndUnlock()
}

func (c *requestContext) cancelAndUnlock() {
	cause, a := c.cause, c.armed.Load()
	c.mu.Unlock()
	if a != nil {
		a.cancel(cause)
	}
}
