package rationhttp

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/ration-go/ration"
)

// ErrCallerDeadline is the cause of a request's context that ended because the
// time was up which the caller had given in [DeadlineHeader].
var ErrCallerDeadline = errors.New("rationhttp: the caller's deadline has passed")

// A MiddlewareOption changes [Middleware]. A nil one is ignored.
type MiddlewareOption interface{ applyMiddleware(*inbound) }

type middlewareOption func(*inbound)

func (o middlewareOption) applyMiddleware(in *inbound) { o(in) }

// MaximumDeadline is the longest deadline that is believed; a longer one is
// ignored, since whoever sends it is confused. The default is
// [DefaultMaximumDeadline]. A maximum of zero or less believes no deadline at
// all.
func MaximumDeadline(d time.Duration) MiddlewareOption {
	return middlewareOption(func(in *inbound) { in.maximum = d })
}

// DefaultMaximumDeadline is what 31 bits of milliseconds hold, some 24 days.
const DefaultMaximumDeadline = math.MaxInt32 * time.Millisecond

// ReserveDeadline keeps that much of the caller's time for this service, to
// write its answer with: the request's context ends so much earlier. The
// default is 0.
func ReserveDeadline(d time.Duration) MiddlewareOption {
	return middlewareOption(func(in *inbound) { in.reserve = max(d, 0) })
}

// IgnoreCriticality does not believe callers about how critical their calls
// are.
func IgnoreCriticality() MiddlewareOption {
	return middlewareOption(func(in *inbound) { in.ignoreCriticality = true })
}

// BreakLoops tells callers that retry not to, when a call of this service ended
// because its own retries were spent or refused: a failing response to a
// request with the retry marker then carries [RetryHeader]. Callers with
// [ObeyBrokenLoops] pass it through. Without it, a chain in which every hop
// retries sends up to about 1 + depth × fraction to its bottom; with it, about
// 1 + fraction at any depth.
func BreakLoops() MiddlewareOption {
	return middlewareOption(func(in *inbound) { in.breakLoops = true })
}

type inbound struct {
	maximum           time.Duration
	reserve           time.Duration
	ignoreCriticality bool
	breakLoops        bool
}

// Middleware publishes in the context of each request what its caller says:
// that it will retry, how long it waits, how critical the call is. Calls made
// under that context then report nested retries, end in time and run at that
// level. It goes before anything that calls out:
//
//	http.ListenAndServe(addr, rationhttp.Middleware()(mux))
//
// What cannot be read counts as not said: a marker other than "1", a deadline
// that is no positive whole number, an unknown level. CriticalPlus becomes
// Critical, so that nobody outside promotes itself past what waits here.
//
// A deadline that has passed does not fail the request by itself. Its context
// is over, and with it every call out.
func Middleware(opts ...MiddlewareOption) func(next http.Handler) http.Handler {
	in := &inbound{maximum: DefaultMaximumDeadline}
	for _, o := range opts {
		if o != nil {
			o.applyMiddleware(in)
		}
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			in.serve(w, r, next)
		})
	}
}

func (in *inbound) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	ctx := r.Context()
	if left, ok := in.deadline(r.Header); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, left, ErrCallerDeadline)
		defer cancel()
	}
	if level, ok := in.criticality(r.Header); ok {
		ctx = ration.WithCriticality(ctx, level)
	}
	if marked(r.Header) {
		ctx = nested(ctx, r, next)
		if in.breakLoops {
			gaveUp := &ration.GiveUp{}
			ctx = ration.WithGiveUp(ctx, gaveUp)
			w = watch(w, gaveUp)
		}
	}
	if ctx != r.Context() {
		r = r.WithContext(ctx)
	}
	next.ServeHTTP(w, r)
}

// deadline returns what is left for this service.
func (in *inbound) deadline(h http.Header) (left time.Duration, ok bool) {
	values := h[deadlineKey]
	if len(values) != 1 {
		return 0, false
	}
	ms, ok := decimal(values[0])
	if !ok || ms == 0 || ms > math.MaxInt32 {
		return 0, false
	}
	left = time.Duration(ms) * time.Millisecond
	return left - in.reserve, left <= in.maximum
}

func (in *inbound) criticality(h http.Header) (level ration.Criticality, ok bool) {
	values := h[CriticalityHeader]
	if len(values) != 1 || in.ignoreCriticality {
		return 0, false
	}
	level, ok = ration.ParseCriticality(values[0])
	return min(level, ration.Critical), ok
}
