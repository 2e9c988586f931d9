package rationhttp

import (
	"context"
	"net/http"
	"time"

	"github.com/ration-go/ration"
)

// An exchange is one call of RoundTrip, from the caller's request to the
// response or error that the caller gets. It belongs to the goroutine of the
// call. What outlives the call is in its attempts.
type exchange struct {
	t        *Transport
	req      *http.Request   // the caller's, which is not touched
	ctx      context.Context // the caller's
	executor *ration.Executor
	classify ration.Classifier // of the policy; nil = none
	stall    time.Duration     // how long a body may keep a read waiting

	retrying bool      // the request may be retried
	tooLarge bool      // but for its body, which is declared to be over the limit
	kept     *keptBody // of a body without GetBody; nil otherwise
	handed   bool      // the base was given the caller's own body

	attempt *attempt       // the latest
	held    *http.Response // its response, while it is ours to close
	last    *failure       // its failure, if this package made one
	before  error          // the failure of the attempt before it

	marker [1]string // the value of the retry marker, for all attempts
	first  attempt
}

// An attempt is what one attempt leaves behind for its response body and for
// what the base may still be doing. It is one allocation, the first one's
// together with the exchange.
type attempt struct {
	request http.Request // as it was sent
	ctx     requestContext
	body    responseBody
	until   time.Time // zero = no bound
}

// begin decides everything that holds for all attempts of a request.
func (t *Transport) begin(req *http.Request) *exchange {
	p := t.executor.Policy()
	x := &exchange{
		t:        t,
		req:      req,
		ctx:      req.Context(),
		executor: t.executor.For(t.keys.of(req.URL)),
		classify: p.Classify,
		stall:    p.AttemptTimeout,
		marker:   [1]string{"1"},
	}
	if t.stall != 0 {
		x.stall = t.stall
	}
	x.retrying = p.Attempts > 1 && repeatable(req)
	if x.retrying && hasBody(req) && req.GetBody == nil {
		if req.ContentLength > t.bodyLimit {
			x.retrying, x.tooLarge = false, true
		} else {
			x.kept = newKeptBody(req, t.bodyLimit)
		}
	}
	if !x.retrying {
		x.executor = x.executor.Once()
	}
	if marked(req.Header) && !ration.IsNestedRetry(x.ctx) {
		x.ctx = ration.WithNestedRetry(x.ctx) // a proxy hands on what it was sent
	}
	return x
}

// send makes one attempt. Its own context is used for its deadline only: it
// ends when send returns, and the body is read after that.
func (x *exchange) send(bounds context.Context) (resp *http.Response, err error) {
	defer func() { x.before = err }()
	until, _ := bounds.Deadline()
	x.discard(until) // what nobody let go of before the wait
	x.last = nil
	if err := x.admit(); err != nil {
		return nil, err
	}
	a := x.newAttempt(until)
	req := &a.request
	*req = *x.req.WithContext(&a.ctx)
	if err := x.nextBody(req); err != nil {
		a.ctx.end()
		return nil, ration.Permanent(err)
	}
	req.Header = x.header(a.until)
	resp, err = x.t.base.RoundTrip(req)
	expired := a.ctx.done()
	if err == nil && resp == nil {
		err = ration.Transient(errNoResponse(x.t.base))
	}
	if err == nil && expired { // the body would be of no use
		err = ration.ErrAttemptTimeout
	}
	if err == nil {
		a.adopt(x, resp)
		return x.answered(resp)
	}
	if resp != nil && resp.Body != nil {
		resp.Body.Close()
	}
	a.ctx.end()
	return nil, x.failed(err, expired)
}

// newAttempt returns an attempt that is bounded by the given time, zero for
// none.
func (x *exchange) newAttempt(until time.Time) *attempt {
	a := &x.first
	if x.attempt != nil { // the first one's goroutines may still be there
		a = new(attempt)
	}
	x.attempt = a
	a.ctx.Context, a.ctx.nested = x.ctx, x.retrying
	a.until = until
	if d, ok := x.ctx.Deadline(); !ok || until.Before(d) { // else the caller's binds
		a.ctx.wait(until, ration.ErrAttemptTimeout)
	}
	return a
}

// result returns what the caller gets.
func (x *exchange) result(resp *http.Response, err error) (*http.Response, error) {
	if err == nil || x.handsOver(err) {
		if err != nil {
			resp = x.held
		}
		x.held = nil
		x.releaseBody(true)
		return resp, nil
	}
	if x.held != nil {
		x.discard(x.attempt.until)
	}
	x.releaseBody(false)
	return nil, x.original(err)
}

// handsOver reports whether the caller gets the response that is held instead
// of err: always when attempts ended on it, and by option when the library
// stopped the call, unless the caller's context is over and with it the body.
func (x *exchange) handsOver(err error) bool {
	if x.held == nil {
		return false
	}
	if isStop(err) {
		return x.t.handOver && x.ctx.Err() == nil
	}
	return x.isLast(err)
}

// original takes off an error what was put around it on its way.
func (x *exchange) original(err error) error {
	if !isStop(err) && x.isLast(err) {
		return x.last.err
	}
	return err
}

// isLast reports whether err is the last failure that this package made, marked
// as it may be. A chain may hold failures of other calls, further in.
func (x *exchange) isLast(err error) bool {
	for ; err != nil; err = unwrap(err) {
		if f, ok := err.(*failure); ok { //nolint:errorlint // link by link
			return f == x.last
		}
	}
	return false
}

func unwrap(err error) error {
	switch e := err.(type) { //nolint:errorlint // link by link
	case *causedBy:
		return e.failure
	case interface{ Unwrap() error }:
		return e.Unwrap()
	}
	return nil
}

// isStop reports whether the executor stopped the call. It does not look into
// err: a base may have returned the stop of a call of its own.
func isStop(err error) bool {
	_, ok := err.(*ration.Error) //nolint:errorlint // see above
	return ok
}

// abandon cleans up after a panic of the base, or of the policy's hooks.
func (x *exchange) abandon() {
	if a := x.attempt; a != nil {
		a.ctx.end()
	}
	x.discard(time.Now()) // closes it
	x.releaseBody(false)
}
