package rationhttp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/ration-go/ration"
)

// ErrBodyStalled is what reading a response body fails with when nothing
// arrived for the attempt timeout. It also matches [ration.ErrAttemptTimeout]
// and context.DeadlineExceeded.
var ErrBodyStalled error = &stalledError{}

type stalledError struct{}

func (*stalledError) Error() string { return "rationhttp: response body stalled" }
func (*stalledError) Timeout() bool { return true }
func (*stalledError) Is(target error) bool {
	return target == ration.ErrAttemptTimeout || target == context.DeadlineExceeded
}

// What is drained of a superseded response: enough for an error page, and for
// as long as a refusal pauses. Past that, closing the connection costs less
// than reading on would, and a server that drips its answer holds nobody up.
const (
	drainLimit = 64 << 10
	drainTime  = 100 * time.Millisecond
)

// A responseBody ends the attempt's context when it is closed or read to its
// end, and bounds the time that each read may take.
type responseBody struct {
	base  io.ReadCloser
	ctx   *requestContext
	stall time.Duration // 0 or less = none
}

func (b *responseBody) Read(p []byte) (int, error) {
	if b.stall > 0 {
		b.ctx.wait(time.Now().Add(b.stall), ErrBodyStalled)
	}
	n, err := b.base.Read(p)
	stalled := b.ctx.done()
	if err == nil {
		return n, nil
	}
	b.ctx.end()
	if stalled && err != io.EOF {
		err = ErrBodyStalled
	}
	return n, err
}

func (b *responseBody) Close() error {
	err := b.base.Close()
	b.ctx.end()
	return err
}

// An upgradedBody is that of 101 Switching Protocols: a connection that its
// owner may write to as well, and that may be silent for as long as it likes.
type upgradedBody struct {
	responseBody
	io.Writer
}

// adopt makes the body of a response the attempt's, and the request that it
// names the caller's: the one that was sent has a context that ends with the
// body.
func (a *attempt) adopt(x *exchange, resp *http.Response) {
	resp.Request = x.req
	if resp.Body == nil || resp.Body == http.NoBody {
		a.ctx.end()
		return
	}
	a.body = responseBody{base: resp.Body, ctx: &a.ctx, stall: x.stall}
	resp.Body = &a.body
	if w, ok := a.body.base.(io.Writer); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		a.body.stall = 0
		resp.Body = &upgradedBody{responseBody: a.body, Writer: w}
	}
}

// discard drains and closes the response that is held, so that its connection
// can be used again. It may take until the given time, zero for no bound, and
// what it takes overlaps the wait before the retry.
func (x *exchange) discard(bound time.Time) {
	resp, a := x.held, x.attempt
	if resp == nil {
		return
	}
	x.held = nil
	if resp.Body == nil || resp.Body == http.NoBody {
		return
	}
	defer resp.Body.Close()
	until := time.Now().Add(drainTime)
	if !bound.IsZero() && bound.Before(until) {
		until = bound
	}
	if resp.ContentLength > drainLimit || time.Until(until) <= 0 {
		return
	}
	a.ctx.wait(until, ErrBodyStalled)
	// An error only means that the connection is of no use.
	_, _ = io.CopyN(io.Discard, a.body.base, drainLimit)
}

// errNoResponse is what a base that returns nothing is given for an error.
func errNoResponse(base http.RoundTripper) error {
	return fmt.Errorf("rationhttp: %T returned neither a response nor an error", base)
}
