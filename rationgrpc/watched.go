package rationgrpc

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/ration-go/ration"
)

// A watchedStream is a client or bidirectional stream. It is never made again,
// because what was sent is gone; but the breaker admits it, and its first answer
// is the outcome that breaker and budget hear of. No timer bounds it, and how
// long it took is its own affair.
//
// The call is driven by hand: the attempt begins in one method and ends in
// another, on whichever goroutine is the first to learn of the outcome. That one
// sets told and has the call to itself, so that the policy's hooks run under no
// lock.
type watchedStream struct {
	grpc.ClientStream
	call
	decision ration.Call
	told     atomic.Bool
	forget   func() bool
}

// watch opens such a stream, if the breaker and the policy's hooks let it.
func watch(
	c call, open func(context.Context) (grpc.ClientStream, error),
) (grpc.ClientStream, error) {
	w := &watchedStream{call: c, decision: c.executor.Begin(c.ctx, time.Now())}
	defer func() {
		if w.ClientStream == nil && !w.told.Swap(true) { // a hook failed, or panicked
			w.decision.Abandon(time.Now())
		}
	}()
	if d := w.decision.Decision(); d.Action != ration.ActAttempt {
		w.told.Store(true)
		return nil, final(w.refused(d))
	}
	p := w.i.executor.Policy()
	if p.BeforeAttempt != nil {
		if err := p.BeforeAttempt(w.ctx, 1); err != nil {
			return nil, err
		}
	}
	if p.Admit != nil {
		if err := p.Admit(w.ctx); err != nil {
			w.tell(nil, err, nil)
			return nil, err
		}
	}
	stream, err := open(w.next(w.ctx))
	if err != nil {
		w.tell(nil, err, nil)
		return nil, err
	}
	w.ClientStream = stream
	// The stream may be given up without another word. Its own context ends at
	// the same time, but to ask for that would keep gRPC from sending the call
	// again when it has not reached the server.
	w.forget = context.AfterFunc(w.ctx, func() {
		w.report(nil, status.FromContextError(w.ctx.Err()).Err(), nil)
	})
	return w, nil
}

// refused serves the pause of a refusal and returns its error.
func (w *watchedStream) refused(d ration.Decision) error {
	for d.Action != ration.ActStop {
		timer := time.NewTimer(time.Until(d.At))
		select {
		case <-timer.C:
		case <-w.ctx.Done():
			timer.Stop()
		}
		d = w.decision.Next(time.Now(), ration.Outcome{}, 0)
	}
	return d.Err
}

// SendMsg tells of a message that cannot be sent. That a stream has ended is
// said by RecvMsg.
func (w *watchedStream) SendMsg(m any) error {
	err := w.ClientStream.SendMsg(m)
	if err != nil && !errors.Is(err, io.EOF) {
		w.tell(nil, err, nil)
	}
	return err
}

// RecvMsg tells the outcome of the first receive.
func (w *watchedStream) RecvMsg(m any) error {
	err := w.ClientStream.RecvMsg(m)
	switch {
	case w.told.Load():
	case err == nil, errors.Is(err, io.EOF):
		w.tell(m, nil, nil)
	default:
		w.tell(nil, err, w.Trailer())
	}
	return err
}

// tell reports the outcome, and that nobody needs to look out for the caller's
// going away.
func (w *watchedStream) tell(value any, err error, trailer metadata.MD) {
	if w.forget != nil {
		w.forget()
	}
	w.report(value, err, trailer)
}

// report ends the call with an outcome. After the first time it changes nothing.
func (w *watchedStream) report(value any, err error, trailer metadata.MD) {
	if w.told.Swap(true) {
		return
	}
	o := ration.Outcome{Err: w.i.judge(w.ctx, value, err, trailer), Untimed: true}
	o.Verdict = w.executor.Classify(value, o.Err)
	w.decision.Next(time.Now(), o, rand.Float64())
}
