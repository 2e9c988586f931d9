package ration

import (
	"context"
	"sync/atomic"
)

// nestedKey marks a context that is inside an attempt of a policy that retries.
// Its value is a func() RetryingCaller if it is known who that is, and else true.
type nestedKey struct{}

// A RetryingCaller is who retries around a request that is being served: what is
// safe to show of it. The zero value is somebody unknown. It is a value.
type RetryingCaller struct {
	Peer  string // its address, without the port
	Route string // what it asked for: the pattern or method that serves it
	Agent string // what it calls itself
}

// WithNestedRetry returns a context that says: whoever started this work will
// retry it. Server middleware calls it when a request carries the marker; an
// executor with retries of its own that is given such a context reports
// [EventNestedRetry], once per call, and changes nothing else.
//
// Attempts bounded by a timeout or a deadline carry the mark already, so that
// an executor inside an executor is seen within one process too. An attempt
// without any bound receives the caller's own context, unmarked: marking it
// would cost an allocation on a path that has none.
func WithNestedRetry(ctx context.Context) context.Context {
	return context.WithValue(ctx, nestedKey{}, true)
}

// WithNestedRetryFrom is [WithNestedRetry] for middleware that can say who will
// retry. from is called when somebody asks, during the request, and must be safe
// for concurrent use.
func WithNestedRetryFrom(ctx context.Context, from func() RetryingCaller) context.Context {
	return context.WithValue(ctx, nestedKey{}, from)
}

// RetryingCallerOf returns who will retry the work that ctx is for, and false if
// nobody will or it is not known who. The innermost loop counts: inside an attempt
// of an executor it is that, in this process, which has no name.
func RetryingCallerOf(ctx context.Context) (RetryingCaller, bool) {
	from, ok := ctx.Value(nestedKey{}).(func() RetryingCaller)
	if !ok {
		return RetryingCaller{}, false
	}
	return from(), true
}

// IsNestedRetry reports whether ctx is inside an attempt that something above
// will retry.
func IsNestedRetry(ctx context.Context) bool {
	return ctx.Value(nestedKey{}) != nil
}

// A GiveUp notes that work done for a request has used up its own chance of
// being retried. It is how a layer tells the one above that another try would
// only repeat tries already made: a server puts a GiveUp in the request's
// context, every call that fails under that context because its retries were
// spent or refused marks it, and if the response is a failure as well, the
// server says "do not retry" in it.
//
// The zero value is unmarked. It is safe for concurrent use; a nil GiveUp takes
// no mark.
type GiveUp struct{ marked atomic.Bool }

// Mark notes it. Adapters call it when a dependency has said the same of itself,
// so that the word travels up a chain of any depth.
func (g *GiveUp) Mark() {
	if g != nil {
		g.marked.Store(true)
	}
}

// Marked reports whether it was noted.
func (g *GiveUp) Marked() bool { return g != nil && g.marked.Load() }

type giveUpKey struct{}

// WithGiveUp returns a context under which calls note in g that they gave up.
func WithGiveUp(ctx context.Context, g *GiveUp) context.Context {
	return context.WithValue(ctx, giveUpKey{}, g)
}

// GiveUpOf returns the GiveUp that ctx carries, nil if none.
func GiveUpOf(ctx context.Context) *GiveUp {
	g, _ := ctx.Value(giveUpKey{}).(*GiveUp)
	return g
}
