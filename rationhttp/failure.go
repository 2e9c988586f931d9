package rationhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/ration-go/ration"
)

// A failure is a failed attempt on its way through the executor. It keeps what
// the caller gets: the response, or the error as the base returned it.
type failure struct {
	err error     // a [StatusError], or what the base or the limiter returned
	x   *exchange // holds the response; nil without one
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// Superseded lets the response go before the wait or the pause, when the
// executor calls it.
func (f *failure) Superseded() {
	if f.x != nil && !f.x.t.handOver {
		f.x.discard(f.x.attempt.until)
	}
}

// answered judges a response. One that asks for another try becomes an error
// that carries its verdict; all others, as values, are left to the policy's own
// classifier, if it has one. A classifier sees the status's own verdict as a
// mark on the error, so that one which handles a few cases can end with
// [ration.DefaultClassifier].
func (x *exchange) answered(resp *http.Response) (*http.Response, error) {
	x.held = resp
	if !failing(resp.StatusCode) {
		return resp, nil
	}
	verdict := statusVerdict(resp, time.Now())
	x.last = &failure{err: newStatusError(x.req, resp), x: x}
	if x.classify != nil {
		verdict = x.classify(resp, ration.Mark(x.last, verdict))
		if verdict.Kind == ration.VerdictOK {
			return resp, nil
		}
	}
	if x.t.obeyBrokenLoops && forbidsRetry(resp.Header) {
		// Whoever retries us would only make us ask the same server again.
		ration.GiveUpOf(x.ctx).Mark()
		return resp, ration.Unrepeatable(ration.Mark(x.last, verdict))
	}
	return resp, x.repeatable(x.last, verdict)
}

// repeatable marks a failure, also as one that cannot be repeated where the
// body is gone that another attempt would need.
func (x *exchange) repeatable(f *failure, v ration.Verdict) error {
	retried := v.Kind == ration.VerdictTransient || v.Kind == ration.VerdictThrottled
	if why := x.unrepeatable(); why != nil && retried {
		return ration.Unrepeatable(ration.Mark(&causedBy{f, why}, v))
	}
	return ration.Mark(f, v)
}

// causedBy says why a failure was not retried.
type causedBy struct {
	*failure
	why error
}

func (c *causedBy) Error() string   { return c.why.Error() + ": " + c.failure.Error() }
func (c *causedBy) Unwrap() []error { return []error{c.failure, c.why} }

// failed judges an error of the base. Errors are passed on as they are, marked
// only where this package knows more than the executor's own rules.
func (x *exchange) failed(err error, expired bool) error {
	if expired {
		return x.timedOut(err)
	}
	verdict, known := transportVerdict(err)
	if known && x.classify != nil {
		verdict = x.classify((*http.Response)(nil), ration.Mark(err, verdict))
	}
	if !known {
		// Asking costs a second run of the policy's classifier; the body is lost
		// rarely.
		if x.unrepeatable() == nil {
			return err
		}
		verdict = x.executor.Classify((*http.Response)(nil), err)
	}
	x.last = &failure{err: err}
	return x.repeatable(x.last, verdict)
}

// timedOut returns the error of an attempt whose timer fired. The base may well
// report a cancellation, which is how its context ended; to the caller that
// would read as one of its own.
func (x *exchange) timedOut(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		err = ration.ErrAttemptTimeout
	case !errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("%w: %w", ration.ErrAttemptTimeout, err)
	}
	if x.unrepeatable() == nil {
		return err
	}
	x.last = &failure{err: err}
	return x.repeatable(x.last, ration.Verdict{Kind: ration.VerdictTransient})
}

// transportVerdict knows what net/http returns beyond the errors that the
// core's rules know. It goes by type and identity. What net/http makes with
// errors.New for one occasion, such as a lost HTTP/2 connection that failed a
// ping or a proxy that refused to connect, cannot be told from a mistake and is
// permanent.
func transportVerdict(err error) (v ration.Verdict, known bool) {
	transient := ration.Verdict{Kind: ration.VerdictTransient}
	if v := ration.RetryAny(nil, err); v != transient {
		return v, false // it carries a mark, or is a refusal of an inner executor
	}
	if code, ok := http2Code(err); ok {
		return http2Verdict(code)
	}
	if errors.Is(err, ErrBodyNotKept) {
		// net/http has tried to send the request again by itself, for which it
		// needs the body: the connection was lost.
		return transient, true
	}
	return transient, isIdleClosed(err)
}

// The HTTP/2 error codes that say something about another try.
const (
	http2NoError         = 0x0
	http2InternalError   = 0x2
	http2RefusedStream   = 0x7
	http2Cancel          = 0x8
	http2EnhanceYourCalm = 0xb
)

// http2Verdict reads the code with which a server ended a stream or a
// connection. A handler that panics, and a proxy that loses its backend, end a
// stream where over HTTP/1 they would end the connection. The other codes are
// about a protocol that one side does not speak.
func http2Verdict(code uint32) (v ration.Verdict, known bool) {
	switch code {
	case http2NoError, http2InternalError, http2RefusedStream, http2Cancel:
		return ration.Verdict{Kind: ration.VerdictTransient}, true
	case http2EnhanceYourCalm:
		return ration.Verdict{Kind: ration.VerdictThrottled}, true
	}
	return ration.Verdict{}, false
}

// A streamError receives the stream errors of net/http and golang.org/x/net,
// which let errors.As fill any struct of this shape so that nobody has to
// import them.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (streamError) Error() string { return "" }

// http2Code returns the code of a stream or connection that the server ended.
func http2Code(err error) (code uint32, ok bool) {
	var s streamError
	if errors.As(err, &s) {
		return s.Code, true
	}
	for ; err != nil; err = errors.Unwrap(err) {
		if code, ok := goAwayCode(err); ok {
			return code, true
		}
	}
	return 0, false
}

// goAwayCode reads the error for a connection that a server closed after a
// GOAWAY frame. It has no As method, so that its shape is looked for.
func goAwayCode(err error) (code uint32, ok bool) {
	v := reflect.ValueOf(err)
	if v.Kind() != reflect.Struct || v.NumField() != 3 {
		return 0, false
	}
	last, errCode, debug := v.Field(0), v.Field(1), v.Field(2)
	t := v.Type()
	if t.Field(0).Name != "LastStreamID" || t.Field(1).Name != "ErrCode" ||
		t.Field(2).Name != "DebugData" || last.Kind() != reflect.Uint32 ||
		errCode.Kind() != reflect.Uint32 || debug.Kind() != reflect.String {
		return 0, false
	}
	return uint32(errCode.Uint()), true
}
